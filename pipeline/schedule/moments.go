package schedule

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // for container images without a time zone database

	"github.com/robfig/cron/v3"
)

// A Moments is an endless series of points in time.
type Moments interface {
	// Next returns the first moment after t.
	Next(t time.Time) time.Time
}

// An Interval is the time between two moments.
type Interval time.Duration

// Next returns t plus the interval.
func (i Interval) Next(t time.Time) time.Time { return t.Add(time.Duration(i)) }

// A crontab is a cron expression of five fields in a time zone. A time of day that clocks skip becomes the first instant
// after the gap, and one that they repeat counts once.
type crontab struct {
	walls cron.Schedule // of wall clocks, computed in UTC, which has no gaps
	zone  *time.Location
}

// Cron returns the moments of a cron expression of five fields in a time zone such as Europe/Berlin.
func Cron(text, zone string) (Moments, error) {
	const want = "want five fields: minute, hour, day of the month, month, day of the week"
	fields := strings.Fields(text)
	if len(fields) != 5 {
		return nil, fmt.Errorf("%q: %s", text, want)
	}
	for i, f := range fields {
		if i == 4 { // Sunday may be 0 or 7, and the parser only knows 0
			f = strings.ReplaceAll(","+f+",", "-7,", "-6,0,")
			f = strings.Trim(strings.ReplaceAll(f, ",7,", ",0,"), ",")
		}
		alone := []string{"*", "*", "*", "*", "*"}
		alone[i], fields[i] = f, f
		if _, err := cron.ParseStandard(strings.Join(alone, " ")); err != nil || strings.Contains(f, "*-") { // which it takes for *
			return nil, fmt.Errorf("%q: want %s, not %q", text, cronFields[i], f)
		}
	}
	walls, err := cron.ParseStandard("CRON_TZ=UTC " + strings.Join(fields, " "))
	if err != nil || walls.Next(someDay).IsZero() {
		return nil, fmt.Errorf("%q: no year has such a day", text)
	}
	at, err := time.LoadLocation(zone)
	if err != nil || zone == "Local" {
		return nil, fmt.Errorf("%q is no time zone: want a name as in Europe/Berlin, or UTC", zone)
	}
	return crontab{walls, at}, nil
}

// cronFields describes the fields of a crontab.
var cronFields = [...]string{"minute, 0 to 59", "hour, 0 to 23", "day of the month, 1 to 31", "month, 1 to 12 or jan to dec", "day of the week, 0 to 7 or sun to sat"}

// someDay is a day after which every crontab that ever has a moment has one within the parser's search.
var someDay = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Next returns the first moment after t. It goes through times of wall clocks instead of instants, because the parser's
// own search does not end in zones that skip midnight.
func (c crontab) Next(t time.Time) time.Time {
	t = t.In(c.zone).Truncate(time.Second)
	wall := c.walls.Next(onWall(t))
	for !c.instant(wall).After(t) { // in an hour that clocks repeat
		wall = c.walls.Next(wall)
	}
	return c.instant(wall)
}

// instant returns the first time at which the clock of the zone shows wall, or has skipped it.
func (c crontab) instant(wall time.Time) time.Time {
	at := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, c.zone)
	_, offset := at.Add(-6 * time.Hour).Zone() // before clocks change, if they do
	early := wall.Add(-time.Duration(offset) * time.Second).In(c.zone)
	switch {
	case onWall(early).Equal(wall):
		return early
	case onWall(at).Equal(wall):
		return at
	default:
		gap, _ := early.ZoneBounds()
		return gap
	}
}

// onWall returns the wall clock time of t, as a time in UTC.
func onWall(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// mostMoments is the largest number of missed moments that are computed. If there are more, the latest is taken as now.
const mostMoments = 100_000

// dueSince returns the latest moment after last and not after now, or the zero time if there is none.
func dueSince(m Moments, last, now time.Time) (moment time.Time) {
	n := 0
	for at := m.Next(last); !at.IsZero() && !at.After(now); at = m.Next(at) {
		moment = at
		if n++; n == mostMoments {
			return now
		}
	}
	return moment
}
