package pipeline_test

import (
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

var (
	alone = []certify.MethodID{certify.MethodPACBayes}
	both  = []certify.MethodID{certify.MethodPACBayes, certify.MethodHoldout}
)

// A job that names no method has those that its number of rows bears, and stays the job
// that was declared.
func TestDefaultMethods(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*job.Job)
		rows   int64
		want   []certify.MethodID
		share  float64
	}{
		"few rows":        {nil, 299, alone, 0},
		"300":             {nil, 300, both, 0.3},
		"999":             {nil, 999, both, 0.3},
		"1,000":           {nil, 1000, both, 0.2},
		"4,999":           {nil, 4999, both, 0.2},
		"many rows":       {nil, 5000, both, 0.1},
		"PAC-Bayes alone": {func(j *job.Job) { j.Guarantees = alone }, 9000, alone, 0},
		"a share":         {func(j *job.Job) { j.Split.Holdout = 0.3 }, 100, both, 0.3},
		"named":           {func(j *job.Job) { j.Guarantees = both }, 100, both, 0.3},
	} {
		j := testJob(t, func(j *job.Job) {
			j.Guarantees = nil
			if c.change != nil {
				c.change(j)
			}
		})
		got := j.ForRows(c.rows)
		if !slices.Equal(got.Guarantees, c.want) || got.Split.Holdout != c.share || !slices.Equal(got.Spends().Methods, c.want) {
			t.Errorf("%s: %v and a share of %v, want %v and %v", name, got.Guarantees, got.Split.Holdout, c.want, c.share)
		}
		before, err := j.Digest()
		fatal.If(t, err)
		if after, err := got.Digest(); err != nil || after != before {
			t.Errorf("%s: the job has another identity on rows (%v)", name, err)
		}
	}
}

// The step of a grid that names none goes by the number of rows; that of one that does
// is its own.
func TestStepByRows(t *testing.T) {
	for _, c := range []struct {
		declared float64
		rows     int64
		want     float64
	}{{0, 29_999, 0.25}, {0, 30_000, 0.05}, {0.25, 1e6, 0.25}, {0.01, 10, 0.01}} {
		declared := testJob(t, func(j *job.Job) {
			if c.declared != 0 {
				j.Grid = job.GridDecl{Min: -6, Max: 6, Step: c.declared}
			}
		})
		got := declared.ForRows(c.rows)
		before, err := declared.Digest()
		fatal.If(t, err)
		after, err := got.Digest()
		fatal.If(t, err)
		if got.Grid.Step != c.want || before != after {
			t.Errorf("a step of %v is %v for %d rows, want %v; the identity has changed: %v", c.declared, got.Grid.Step, c.rows, c.want, before != after)
		}
	}
}
