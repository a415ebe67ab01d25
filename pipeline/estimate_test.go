package pipeline

import (
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/model"
)

// A limit cuts the longest training, and leaves it the shortest at the lowest speed.
func TestEstimateOfLimitedTraining(t *testing.T) {
	for limit, want := range map[time.Duration]float64{0: 15, time.Second: 4, time.Minute: 15} {
		var e Estimate
		if e.time(cost{20, 80, 100}, []float64{10, 10, 10, 10, 10}, limit); e.Least != 2 || e.Most != want {
			t.Errorf("limit %v: %v to %v s, want 2 to %v", limit, e.Least, e.Most, want)
		}
	}
}

// The work of start values was measured with 26 features: seconds of one processor times the speed of
// the last pass, and between 2,000 and 20,000 rows interpolated.
func TestOperationsFollowMeasurements(t *testing.T) {
	for _, c := range []struct {
		n, m     int
		measured float64
	}{{300, 30, 4.1e9}, {2000, 120, 7.4e10}, {8000, 500, 9.3e10}} {
		config := model.Config{N: int64(c.n), Dim: 26, Inducing: c.m, Plan: model.Plan{Joint: -1}}.Scheduled()
		got := operations(config, []int{c.m}, 1).least
		if !(got > c.measured/2 && got < 2*c.measured) {
			t.Errorf("%d rows, M = %d: %.2g operations, want about %.2g", c.n, c.m, got, c.measured)
		}
	}
	config := model.Config{N: 9000, Dim: 4, Goal: model.GoalELBO}.Scheduled()
	given := operations(config, []int{config.Inducing}, 2)
	grown := operations(config, model.Doublings(config.Inducing), 2)
	if !(grown.least < given.least/10 && grown.usual > given.usual && given.least < given.usual && given.usual < given.most) {
		t.Errorf("operations of a given M: %+v, of one that start values choose: %+v", given, grown)
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
		p := model.Config{N: n, Dim: d, Inducing: m, Goal: job.goal(), Plan: job.plan(n, d, m)}.Scheduled().Plan
		if read := float64(p.Joint*p.Batch) / n; !(read > 9.8 && read < 10.2) {
			t.Errorf("%s: %d steps of %d rows are %.1f passes over %d, want 10", objective, p.Joint, p.Batch, read, n)
		}
	}
}
