package schedule

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

func instants(t *testing.T, text, zone, from string, n int) []string {
	t.Helper()
	c, err := Cron(text, zone)
	fatal.If(t, err)
	at, err := time.Parse(time.RFC3339, from)
	fatal.If(t, err)
	var all []string
	for range n {
		at = c.Next(at)
		all = append(all, at.In(c.(crontab).zone).Format(time.RFC3339))
	}
	return all
}

// Berlin put its clocks forward on 29 March 2026 at 02:00 and puts them back on 25
// October at 03:00.
func TestCronWhereClocksChange(t *testing.T) {
	for _, c := range []struct {
		text, from string
		want       []string
	}{
		{"30 2 * * *", "2026-03-27T12:00:00Z", []string{"2026-03-28T02:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"}},
		{"0,30 2 * * *", "2026-03-28T12:00:00Z", []string{"2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00"}},
		{"30 2 * * *", "2026-10-24T12:00:00Z", []string{"2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"}},
		{"0 3 * * *", "2026-03-28T12:00:00Z", []string{"2026-03-29T03:00:00+02:00", "2026-03-30T03:00:00+02:00"}},
		{"30 * * * *", "2026-03-29T00:00:00Z", []string{"2026-03-29T01:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-29T03:30:00+02:00"}},
		{"30 * * * *", "2026-10-25T00:00:00Z", []string{"2026-10-25T02:30:00+02:00", "2026-10-25T03:30:00+01:00"}},
		{"0 12 * * 7", "2026-10-24T12:00:00Z", []string{"2026-10-25T12:00:00+01:00", "2026-11-01T12:00:00+01:00"}},
		{"0 12 * * 6-7", "2026-10-23T12:00:00Z", []string{"2026-10-24T12:00:00+02:00", "2026-10-25T12:00:00+01:00", "2026-10-31T12:00:00+01:00"}},
		{"0 12 * * 1", "2026-10-24T12:00:00Z", []string{"2026-10-26T12:00:00+01:00", "2026-11-02T12:00:00+01:00"}},
	} {
		got := instants(t, c.text, "Europe/Berlin", c.from, len(c.want))
		for i := range c.want {
			if got[i] != c.want[i] {
				t.Errorf("%s after %s: %v, want %v", c.text, c.from, got, c.want)
				break
			}
		}
	}
	// The parser's own walk never ends where midnight is left out.
	if got := instants(t, "0 0 * * *", "America/Havana", "2026-03-07T12:00:00Z", 2); !slices.Equal(got, []string{"2026-03-08T01:00:00-04:00", "2026-03-09T00:00:00-04:00"}) {
		t.Errorf("midnight in Havana: %v", got)
	}
	for _, bad := range [][3]string{
		{"30 2 * *", "UTC", "five fields"},
		{"60 2 * * *", "UTC", "minute, 0 to 59"},
		{"0 24 * * *", "UTC", "hour, 0 to 23"},
		{"*/0 2 * * *", "UTC", "minute"},
		{"0 0 L * *", "UTC", "day of the month"},
		{"0 0 5-1 * *", "UTC", "day of the month"},
		{"0 0 * * 8", "UTC", "day of the week, 0 to 7"},
		{"0 0 * * *-5", "UTC", "day of the week, 0 to 7"},
		{"0 0 30 2 *", "UTC", "no year has such a day"},
		{"0 0 * * *", "Mars/Base", "time zone"},
		{"TZ=UTC 0 0 * *", "UTC", "minute"},
	} {
		if _, err := Cron(bad[0], bad[1]); err == nil || !strings.Contains(err.Error(), bad[2]) {
			t.Errorf("%q in %q: %v", bad[0], bad[1], err)
		}
	}
}

// A day of an hourly trigger has 24 moments, none of them twice where the clock jumps.
func TestMomentsAreCountedOnce(t *testing.T) {
	start := time.Date(2026, 5, 1, 0, 0, 30, 0, time.UTC)
	c, err := Cron("0 * * * *", "UTC")
	fatal.If(t, err)
	for name, polls := range map[string][]time.Duration{
		"each minute": {time.Minute}, "with jumps": {90 * time.Minute, -80 * time.Minute, time.Second},
	} {
		last, now, seen := start, start, 0
		for i := 0; now.Sub(start) < 24*time.Hour; i++ {
			now = now.Add(polls[i%len(polls)])
			if moment := dueSince(c, last, now); moment.After(last) {
				last, seen = moment, seen+1
			}
		}
		if seen < 17 || seen > 25 { // a jump may pass over one
			t.Errorf("%s: %d moments", name, seen)
		}
	}
	if end := start.Add(1000 * time.Hour); !dueSince(Interval(time.Millisecond), start, end).Equal(end) {
		t.Error("so many moments have another last one than now")
	}
}
