package program

import (
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/pipeline"
)

// Pages that need more memory than the budget are refused; the message says how much.
func TestPagesThatDoNotFit(t *testing.T) {
	m := Machine{func() int64 { return 0 }, func(string) (int64, bool) { return 0, false }}
	if err := (Needs{Reading: (pipeline.Resources{}).PageMemory()}).Met(m, 64<<20, Less); err != nil {
		t.Error(err)
	}
	err := Needs{Reading: 4080 << 20}.Met(m, 64<<20, Less)
	if err == nil || !strings.Contains(err.Error(), "takes 4081 MiB") || !strings.Contains(err.Error(), "raise memory to 4081 MiB") || strings.Contains(err.Error(), "%!") {
		t.Errorf("4080 MiB of 64: %v", err)
	}
	if err := (Needs{Reading: 4080 << 20}).Met(m, 5<<30, Less); err != nil {
		t.Error(err)
	}
}

// The disk has to hold the records of the rows of one part, or of all where copies are dropped.
func TestNeedsOfAPart(t *testing.T) {
	const rows = 10_000_000
	shards := make([]pipeline.Shard, 1000)
	for i := range shards {
		shards[i].Rows = rows / 1000
	}
	sample := pipeline.Sample{Rows: rows, Features: 2, Shards: 1000, Batch: 4096}
	task := config.Task{Job: pipeline.Job{Inducing: []int{10}}, Resources: pipeline.Resources{Memory: 16 << 20, Workers: 1}}
	for _, c := range []struct {
		parts  int
		policy certify.CopiesPolicy
		want   int64
	}{
		{1, "", 16 * rows},
		{4, "", 16 * (rows/4 + rows/1000)},
		{1000, "", 0},
		{1000, pipeline.CopiesDropped, 16 * rows}, // all rows are read to find those to leave out
	} {
		task.Job.Copies.Policy = c.policy
		task.Job.BadRows.Tolerance = map[bool]float64{true: 0.1}[c.policy != ""]
		if got := passNeeds(task, sample, shards, c.parts); got.Disk != c.want || got.Memory < 36<<20 {
			t.Errorf("passNeeds(%d parts, %q) = %+v, want %d bytes of disk", c.parts, c.policy, got, c.want)
		}
	}
}
