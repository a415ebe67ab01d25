package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/pacsgp/pacsgp/bench/measured"
)

// A trainingCase is a job with a bound to reach.
type trainingCase struct {
	set, target string
	inducing    int
	goal        float64
}

func trainingCases() []trainingCase {
	return []trainingCase{
		{"kin40k", "y", 500, 0.125},
		{"kin40k", "y", 1000, 0.106},
		{"kin40k", "y", 1500, 0.100},
		{"pol", "y", 500, 0.082},
	}
}

const (
	trainingLimit  = 2 * time.Minute // of one run
	trainingRounds = 3               // at most
	refinements    = 2               // of the budget, once it is known within a factor of two
)

// A fit is the end of one run with one budget.
type fit struct {
	Budget  int
	Bound   float64 `json:"bound"`
	Seconds float64 `json:"seconds"` // from rows in memory to the exact bound
	Process float64 // of the whole process
}

// A trainee is a program that fits its schedule to a budget of steps.
type trainee struct {
	name  string
	first int                                                                // budget
	fit   func(ctx context.Context, c trainingCase, budget int) (fit, error) // Bound and Seconds
}

// training compares the time to the same bound.
func training(ctx context.Context, b *bench) (string, error) {
	if b.python == "" {
		return "Left out: it is Python that splits the rows.\n", nil
	}
	binary, err := measured.Build(ctx, b.work, b.log)
	if err != nil {
		return "", err
	}
	trainees := []trainee{
		{"ours", 40, b.ourTraining(binary)},
		{"closed forms", 40, b.peerTraining("closedform.py")},
		{"autograd", 100, b.peerTraining("autograd.py")},
	}
	t := newTable("set", "M", "bound to reach", "ours, s (whole process)", "closed forms, s", "ratio", "autograd, s", "ratio")
	for _, c := range trainingCases() {
		if err := command(ctx, b.log, b.python, filepath.Join(peersFolder, "rows.py"), filepath.Join(b.data, c.set), c.target, "0", b.folder(c)); err != nil {
			return "", fmt.Errorf("%s: %w", c.set, err)
		}
		if err := b.trainingRow(ctx, t, c, trainees); err != nil {
			return "", err
		}
	}
	return "Seconds from rows in memory to a model and its exact bound, full pass over all certified rows included, on two cores: the shortest run whose bound is at most the one to reach, among budgets of steps that fit each program's own schedule. " +
		"Wanted: half the time of autograd, and no more than that of the closed forms. Split 0, N = 30,400 (kin40k) and 11,400 (pol), flat grids of 1,201 values.\n\n" + t.String(), nil
}

func (b *bench) folder(c trainingCase) string { return filepath.Join(b.work, c.set+"-0") }

// trainingRow finds each program's budget and then lets them take turns.
func (b *bench) trainingRow(ctx context.Context, t *table, c trainingCase, trainees []trainee) error {
	best := map[string]fit{}
	process := map[float64]float64{} // seconds of ours to those of its whole process
	var turns []turn
	for _, p := range trainees {
		found, err := b.search(ctx, p, c)
		if err != nil {
			return err
		}
		best[p.name] = found
		if found.Bound <= c.goal {
			turns = append(turns, turn{p.name, func() (float64, error) {
				f, err := p.run(ctx, c, found.Budget)
				if p.name == "ours" {
					process[f.Seconds] = f.Process
				}
				return f.Seconds, err
			}})
		}
	}
	limited := *b
	limited.rounds = min(b.rounds, trainingRounds)
	m, err := limited.interleave(ctx, turns)
	if err != nil {
		return err
	}
	cell := func(name string) string {
		if s := m.median(name); s != 0 {
			return fmt.Sprintf("%.1f", s)
		}
		return fmt.Sprintf("%.4f in %.0f", best[name].Bound, best[name].Seconds)
	}
	ratio := func(name string, target float64) string {
		r := m.medianOf(func(x round) float64 { return over(x[name], x["ours"]) })
		what := fmt.Sprintf("%s M=%d, beside %s", c.set, c.inducing, name)
		switch ours := m.median("ours"); {
		case ours == 0 && m.median(name) != 0:
			t.missed = append(t.missed, what+": the bound is not reached")
		case ours != 0 && m.median(name) == 0: // a bound that was not reached takes longer than what was tried
			return fmt.Sprintf("> %.1f", best[name].Seconds/ours)
		}
		return t.ratio(what, r, target)
	}
	t.row(c.set, strconv.Itoa(c.inducing), fmt.Sprintf("%.3f", c.goal), fmt.Sprintf("%s (%s)", cell("ours"), number(m.medianOf(func(x round) float64 { return process[x["ours"]] }), "%.1f")),
		cell("closed forms"), ratio("closed forms", 1), cell("autograd"), ratio("autograd", 2))
	return nil
}

// search returns the fit with the smallest budget that reaches the goal: doubled until one does,
// then bisected. If none does in time, it returns the best.
func (b *bench) search(ctx context.Context, p trainee, c trainingCase) (fit, error) {
	var tried []fit
	try := func(budget int) (fit, error) {
		f, err := p.run(ctx, c, budget)
		if err == nil {
			b.logf("%s M=%d, %s, %d steps: %.4f in %.1f s", c.set, c.inducing, p.name, budget, f.Bound, f.Seconds)
			tried = append(tried, f)
		}
		return f, err
	}
	below, above := 0, p.first
	for {
		f, err := try(above)
		if err != nil {
			return f, err
		}
		if f.Bound > c.goal && 2*f.Seconds > trainingLimit.Seconds() {
			return slices.MinFunc(tried, func(x, y fit) int { return cmp.Compare(x.Bound, y.Bound) }), nil
		}
		if f.Bound <= c.goal {
			break
		}
		below, above = above, 2*above
	}
	for range refinements {
		middle := (below + above) / 2
		f, err := try(middle)
		if err != nil {
			return f, err
		}
		if f.Bound <= c.goal {
			above = middle
		} else {
			below = middle
		}
	}
	return tried[slices.IndexFunc(tried, func(f fit) bool { return f.Budget == above })], nil
}

// run trains within the limit. A run that was cut off has no bound.
func (p trainee) run(ctx context.Context, c trainingCase, steps int) (fit, error) {
	limited, cancel := context.WithTimeout(ctx, trainingLimit)
	defer cancel()
	began := time.Now()
	f, err := p.fit(limited, c, steps)
	f.Budget, f.Process = steps, time.Since(began).Seconds()
	if limited.Err() != nil && ctx.Err() == nil {
		f.Bound, f.Seconds, err = math.Inf(1), f.Process, nil
	}
	return f, err
}

// ourTraining returns a run of the command, with as many passes as make the steps of its default
// batch of a fifth of the rows.
func (b *bench) ourTraining(binary string) func(context.Context, trainingCase, int) (fit, error) {
	return func(ctx context.Context, c trainingCase, steps int) (fit, error) {
		const stepsOfPass = 5
		r, err := measured.Train(ctx, binary, b.folder(c), fmt.Sprintf(
			"source: {paths: [train]}\ntarget: %s\nloss: {epsilon: {std: 0.6}}\ndelta: 0.01\ngrid: paper\nguarantees: pac-bayes\nrequire: draw\ninducing: %d\ntrain: {passes: %g}\noutput: artifact\n",
			c.target, c.inducing, float64(steps)/stepsOfPass))
		return fit{Bound: r.Bound, Seconds: r.Diagnostics.Train + r.Diagnostics.LastPass}, err
	}
}

// peerTraining returns a run of a peer's script. Threads that wait give up
// their core soon: spinning ones ruin a team of two where anything else runs.
func (b *bench) peerTraining(script string) func(context.Context, trainingCase, int) (fit, error) {
	return func(ctx context.Context, c trainingCase, steps int) (f fit, err error) {
		cmd := exec.CommandContext(ctx, b.python, "-W", "ignore", filepath.Join(peersFolder, script),
			filepath.Join(b.folder(c), "rows.npz"), "--inducing", strconv.Itoa(c.inducing), "--steps", strconv.Itoa(steps))
		cmd.Env = slices.Concat(os.Environ(), []string{"PYTHONDONTWRITEBYTECODE=1", "GOMP_SPINCOUNT=2000"}, libraryEnvironment(instructionSets()[0], 2))
		cmd.Stderr = b.log
		out, err := cmd.Output()
		if err == nil {
			err = json.Unmarshal(out, &f)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", script, err)
		}
		return f, err
	}
}
