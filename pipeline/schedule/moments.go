package schedule

import (
	"fmt"
	"hash/fnv"
	"strings"
	"time"
	_ "time/tzdata" // images without a time zone database have the zones all the same

	"github.com/robfig/cron/v3"
)

// A Moments is an endless series of points in time. It has no clock: what is due follows
// from the record and from the time that it is.
type Moments interface {
	// Next is the first moment after t.
	Next(t time.Time) time.Time
}

// An Interval is every so long after the moment before.
type Interval time.Duration

// Next is so long after t.
func (i Interval) Next(t time.Time) time.Time { return t.Add(time.Duration(i)) }

// A crontab is five fields, in a time zone.
//
// Where clocks are put forward, a time of day that is left out is the first instant
// after the gap; where they are put back, one that comes twice counts once. Expressions
// whose hours are a star or steps of it go by the hours that pass.
type crontab struct {
	zoned, naive cron.Schedule // in the zone, and in one without changes
	zone         *time.Location
	byHour       bool
}

// Cron reads a crontab of five fields, of a time zone as in Europe/Berlin.
func Cron(text, zone string) (Moments, error) { return newCrontab(text, zone) }

func newCrontab(text, zone string) (crontab, error) {
	at, err := time.LoadLocation(zone)
	if err != nil || zone == "Local" {
		return crontab{}, fmt.Errorf("%q is no time zone: want a name as in Europe/Berlin, or UTC", zone)
	}
	fields := strings.Fields(text)
	if len(fields) != 5 {
		return crontab{}, fmt.Errorf("%q: want five fields: minute, hour, day of the month, month, day of the week", text)
	}
	c := crontab{zone: at, byHour: strings.HasPrefix(fields[1], "*")}
	for of, in := range map[*cron.Schedule]string{&c.zoned: zone, &c.naive: "UTC"} {
		parsed, err := cron.ParseStandard("CRON_TZ=" + in + " " + strings.Join(fields, " "))
		if err != nil || parsed.Next(someDay).IsZero() {
			return c, fmt.Errorf("%q: want five fields: minute, hour, day of the month, month, day of the week, of days that there are", text)
		}
		*of = parsed
	}
	return c, nil
}

// someDay is one from which a crontab has a next moment, if it ever has one.
var someDay = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func (c crontab) Next(t time.Time) time.Time {
	at := c.zoned.Next(t)
	if c.byHour || at.IsZero() {
		return at
	}
	if sameWall(at.In(c.zone), t.In(c.zone)) { // the hour that comes twice
		at = c.zoned.Next(at)
	}
	// What is left out has a wall clock that no instant has.
	wall := c.naive.Next(onWall(t.In(c.zone)))
	if there := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), 0, 0, c.zone); !sameWall(wall, there) {
		begin, end := there.ZoneBounds()
		gap := end
		if begin.After(t) && wall.Sub(onWall(begin)) < 0 {
			gap = begin
		}
		if gap.After(t) && gap.Before(at) {
			return gap
		}
	}
	return at
}

// onWall is what the clock on the wall shows, as a time in UTC.
func onWall(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

func sameWall(a, b time.Time) bool { return onWall(a).Equal(onWall(b)) }

// mostMoments bounds how many moments are counted after a long absence.
const mostMoments = 100_000

// dueSince is the latest moment after last of which the time has come, delayed by jitter, and
// how many such moments there are.
func dueSince(m Moments, last, now time.Time, jitter func(time.Time) time.Duration) (moment time.Time, n int) {
	for at := m.Next(last); !at.IsZero() && !at.Add(jitter(at)).After(now); at = m.Next(at) {
		moment = at
		if n++; n == mostMoments {
			return now, n
		}
	}
	return moment, n
}

// jitterOf spreads moments of a job over a span, each by the same amount whenever it is
// asked for.
func jitterOf(name string, most time.Duration) func(time.Time) time.Duration {
	return func(at time.Time) time.Duration {
		if most <= 0 {
			return 0
		}
		h := fnv.New32a()
		_, _ = fmt.Fprintf(h, "%s\x00%d", name, at.Unix())
		return time.Duration(float64(h.Sum32()) / (1 << 32) * float64(most))
	}
}
