package main

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// claimed reports whether the window of a job was frozen, and whether its run is dealt with.
func claimed(t *testing.T, dir string) (frozen, done bool) {
	t.Helper()
	at, err := sinklake.NewOutput(filepath.Join(dir, "out"), nil).Sequence("waves")
	fatal.If(t, err)
	record, err := sinklake.OpenRecord(filepath.Join(dir, "schedule.db"), nil)
	fatal.If(t, err)
	known, err := record.Job("waves")
	fatal.If(t, errors.Join(err, record.Close()))
	return at.Taken > 0, at.Taken > 0 && known.Open == "" && known.Done != ""
}

// A scheduler that is killed in the middle of a run, wherever that is, and started again when
// more rows have come, gives the window that was frozen the same number and the same bytes; and
// the next window has the number 2 and what came later.
func TestScheduleOfATopicKilledThenRunAgain(t *testing.T) {
	t.Parallel()
	repeats(t)
	one := func(o order) (survived bool, first map[string]string) {
		address, dir := smallTopic(t).ListenAddrs()[0], t.TempDir()
		path := writeSchedule(t, dir, jobOnTopic(t, dir, address, "", jobFile{"checkpoint": "1ms"}), "triggers: [{lag: 150}]")
		out := filepath.Join(dir, "out")
		o.Args = []string{"schedule", "-c", path, "--once"}
		survived, _ = dies(t, o)
		frozen, done := claimed(t, dir)
		if !frozen {
			succeed(t, "schedule", "-c", path, "--once")
		}
		sendRows(t, address, 180, 150)
		if frozen && !done {
			succeed(t, "schedule", "-c", path, "--once")
		}
		before := published(t, out)
		succeed(t, "schedule", "-c", path, "--once")
		all := sequenceOf(t, out)
		first = map[string]string{}
		for name, digest := range before {
			if strings.Contains(name, all[1].ID) || strings.Contains(name, all[1].Model) { // a round that closes a run goes on with what is due
				first[name] = digest
			}
		}
		if ends := follow(t, all); len(all) != 2 || ends[0]+ends[1]+ends[2] != 330 || all[1].certificate.Sample.Rows != 180 {
			t.Errorf("operation %d, %s: %d certificates, the first of %d rows, up to %v", o.At, o.How, len(all), all[1].certificate.Sample.Rows, ends)
		}
		return survived, first
	}
	_, want := one(order{})
	stride := 23
	if *soak {
		stride = 1
	}
	for _, how := range []string{howBefore, howAfter, howHalf} {
		for at, survived := 1, false; !survived && at < 1000; at += stride {
			var got map[string]string
			if survived, got = one(order{At: at, How: how}); !maps.Equal(got, want) {
				t.Errorf("operation %d, %s: other artifacts than those of an uninterrupted run: %q", at, how, slices.Sorted(maps.Keys(got)))
			}
		}
	}
}
