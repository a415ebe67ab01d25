package pipeline

import (
	"testing"

	"github.com/pacsgp/pacsgp/model"
)

// The work of start values was measured with 26 features: seconds of one processor times the speed of
// the last pass, and between 2,000 and 20,000 rows interpolated.
func TestOperationsFollowMeasurements(t *testing.T) {
	for _, c := range []struct {
		n, m     int
		measured float64
	}{{300, 30, 4.1e9}, {2000, 120, 7.4e10}, {8000, 500, 9.3e10}} {
		config := model.Config{N: int64(c.n), Dim: 26, Inducing: c.m, Plan: model.Plan{Joint: -1}}.Scheduled()
		got := work(config, false, 1)
		if !(got > c.measured/2 && got < 2*c.measured) {
			t.Errorf("%d rows, M = %d: %.2g operations, want about %.2g", c.n, c.m, got, c.measured)
		}
	}
	config := model.Config{N: 9000, Dim: 4, ELBO: true}.Scheduled()
	if given, grown := work(config, false, 2), work(config, true, 2); !(given < grown && grown < 2*given) {
		t.Errorf("operations of a given M: %.2g, of one that start values choose: %.2g", given, grown)
	}
}

// The records of all rows stand on the disk where they do not fit into memory, those of
// two billion rows of an honest file of 280 bytes too.
func TestSpillBytes(t *testing.T) {
	dropped := Job{Copies: CopiesDecl{Policy: CopiesDropped}}
	for _, c := range []struct {
		job    Job
		rows   int64
		memory int64
		want   int64
	}{
		{Job{}, 1 << 20, 16 << 20, 0},
		{Job{}, 1<<20 + 1, 16 << 20, 16<<20 + 16},
		{dropped, 1 << 20, 16 << 20, 24 << 20},
		{Job{}, 2_000_000_000, 0, 32_000_000_000},
	} {
		if got := SpillBytes(c.job, c.rows, Resources{Memory: c.memory}); got != c.want {
			t.Errorf("SpillBytes(%d rows, %d bytes) = %d, want %d", c.rows, c.memory, got, c.want)
		}
	}
}

// Passes are passes over the rows, whatever the batch of the objective.
func TestPassesOfEachObjective(t *testing.T) {
	const n, d, m = 12_000, 5, 200
	for _, objective := range Objectives() {
		job := Job{Train: TrainDecl{Objective: objective, Passes: 10}}
		p := model.Config{N: n, Dim: d, Inducing: m, ELBO: job.elbo(), Plan: job.plan(n, d, m)}.Scheduled().Plan
		if read := float64(p.Joint*p.Batch) / n; !(read > 9.8 && read < 10.2) {
			t.Errorf("%s: %d steps of %d rows are %.1f passes over %d, want 10", objective, p.Joint, p.Batch, read, n)
		}
	}
}
