package pipeline_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// variety declares alternatives of every kind.
func variety(j *pipeline.Job) {
	tiny(j)
	j.Loss = pipeline.LossDecl{Unit: "m"} // each alternative says its tolerance
	j.Delta = 0.05
	isotropic := pipeline.KernelChange{Family: []string{certify.KernelMatern52}, Isotropic: new(true)}
	rough := pipeline.KernelChange{Family: []string{certify.KernelMatern32, certify.KernelMatern52}}
	j.Sweep = []pipeline.Alternative{
		{Loss: pipeline.Tolerance{Epsilon: 0.5}},
		{Loss: pipeline.Tolerance{EpsilonStd: 0.9}, Features: []string{"a"}},
		{Loss: pipeline.Tolerance{Epsilon: 0.5}, Exclude: []string{"a"}},
		{Loss: pipeline.Tolerance{Epsilon: 0.5}, Exclude: []string{}, Kernel: isotropic},
		{Loss: pipeline.Tolerance{Epsilon: 0.7}, Kernel: rough},
	}
}

// openFor opens the lake for a job, as the command does.
func (l *lake) openFor(job pipeline.Job) func(context.Context, []string) (pipeline.Source, error) {
	return func(ctx context.Context, features []string) (pipeline.Source, error) {
		if features == nil {
			features = job.Features
		}
		if features == nil {
			features = slices.DeleteFunc(slices.Clone(l.names[:len(l.names)-1]), func(name string) bool { return slices.Contains(job.Exclude, name) })
		}
		return l.open(ctx, features)
	}
}

// swept is a sweep's outcome: a store for each alternative, which share the
// log of the first.
type swept struct {
	stores  []*pipelinetest.Store
	results []*pipeline.Result
}

func (s *swept) run(ctx context.Context, l *lake, j pipeline.Job, change func(*pipeline.Environment)) error {
	for len(s.stores) < len(j.Alternatives()) {
		s.stores = append(s.stores, &pipelinetest.Store{})
	}
	s.results = nil
	return pipeline.Sweep(ctx, j, func(job pipeline.Job) (pipeline.Environment, error) {
		env := environment(nil, s.stores[max(1, job.Number)-1])
		env.Attempts, env.Open = s.stores[0], l.openFor(job)
		if change != nil {
			change(&env)
		}
		return env, nil
	}, func(_ pipeline.Job, r *pipeline.Result) error {
		s.results = append(s.results, r)
		return nil
	})
}

// Each alternative is the job that it describes with δ/K in place of δ, its
// certificate verifies, and the whole is one attempt.
func TestSweepIsItsAlternativesAtTheirShare(t *testing.T) {
	l := newLake(waves(300, 0.1, 7), 120, 180)
	j := job(t, variety)
	var s swept
	fatal.If(t, s.run(t.Context(), l, j, nil))
	if len(s.results) != 5 || len(s.stores[0].Log) != 1 {
		t.Fatalf("%d results, %d attempts, want 5 and 1", len(s.results), len(s.stores[0].Log))
	}
	alone := []func(j *pipeline.Job){
		func(j *pipeline.Job) { j.Loss.Epsilon = 0.5 },
		func(j *pipeline.Job) { j.Loss.EpsilonStd, j.Features = 0.9, []string{"a"} },
		func(j *pipeline.Job) { j.Loss.Epsilon, j.Exclude = 0.5, []string{"a"} },
		func(j *pipeline.Job) {
			j.Loss.Epsilon, j.Kernel = 0.5, pipeline.KernelDecl{Family: []string{certify.KernelMatern52}, Isotropic: true}
		},
		func(j *pipeline.Job) {
			j.Loss.Epsilon, j.Kernel.Family = 0.7, []string{certify.KernelMatern32, certify.KernelMatern52}
		},
	}
	for i, r := range s.results {
		c := r.Certificate
		if want := (certify.Delta{Declared: 0.05, Alternatives: 5, Alternative: int64(i + 1), Methods: r.Certificate.Delta.Methods}); !reflect.DeepEqual(c.Delta, want) {
			t.Errorf("alternative %d: delta %+v, want %+v", i+1, c.Delta, want)
		}
		own := job(t, func(j *pipeline.Job) {
			tiny(j)
			j.Loss, j.Delta = pipeline.LossDecl{Unit: "m"}, 0.01
			alone[i](j)
		})
		var store pipelinetest.Store
		env := environment(nil, &store)
		env.Open = l.openFor(own)
		single := run(t, own, env)
		got, _ := c.Guarantee(certify.GuaranteeDraw)
		want, _ := single.Certificate.Guarantee(certify.GuaranteeDraw)
		if r.ModelDigest != single.ModelDigest || got.Bound != want.Bound || got.LnInverseDelta != want.LnInverseDelta {
			t.Errorf("alternative %d: model %.8s, bound %v; alone with a fifth of delta %.8s, %v", i+1, r.ModelDigest, got.Bound, single.ModelDigest, want.Bound)
		}
		open := func(ctx context.Context, want pipeline.Choice) (pipeline.Source, error) {
			return l.openFor(pipeline.Job{Exclude: want.Exclude})(ctx, want.Features)
		}
		if _, err := pipeline.Verify(t.Context(), c, r.Model, r.ModelDigest, open, pipeline.Resources{}); err != nil {
			t.Errorf("alternative %d: %v", i+1, err)
		}
	}
}

// A sweep that is stopped at any moment and run again gives the same bytes,
// trains nothing twice and is the same attempt.
func TestSweepResumesWhereItWas(t *testing.T) {
	l := newLake(waves(200, 0.1, 8), 120, 80)
	j := job(t, func(j *pipeline.Job) {
		variety(j)
		j.Train.Mode, j.Train.Batch = pipeline.TrainMiniBatch, 60
	})
	var whole swept
	steps := 0
	if err := whole.run(t.Context(), l, j, func(env *pipeline.Environment) {
		env.Observer.Progress = func(pipeline.Progress) { steps++ }
	}); err != nil {
		t.Fatal(err)
	}
	var s swept
	for stop := 3; ; stop += 11 {
		ctx, cancel := context.WithCancel(t.Context())
		seen := 0
		err := s.run(ctx, l, j, func(env *pipeline.Environment) {
			env.Resources.Checkpoint = 1
			env.Observer.Progress = func(pipeline.Progress) {
				if seen++; seen == stop {
					cancel()
				}
			}
		})
		cancel()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if stop > 3*steps {
			t.Fatal("no sweep came to its end")
		}
	}
	for i, store := range s.stores {
		if last := len(store.Certificates) - 1; !bytes.Equal(store.Certificates[last], whole.stores[i].Certificates[0]) {
			t.Errorf("alternative %d: another certificate than without interruptions", i+1)
		}
		if n := len(s.results[i].Training.Trace); n != len(whole.results[i].Training.Trace) {
			t.Errorf("alternative %d: %d steps, want %d", i+1, n, len(whole.results[i].Training.Trace))
		}
	}
	if diff := cmp.Diff(whole.stores[0].Log, s.stores[0].Log); diff != "" {
		t.Errorf("the log of attempts: %s", diff)
	}
}

// What an alternative declares cannot be changed afterwards: not how many there
// were, nor which one this is, nor what the others were.
func TestForgedSweepIsRefused(t *testing.T) {
	l := newLake(waves(200, 0.1, 9), 120, 80)
	var s swept
	fatal.If(t, s.run(t.Context(), l, job(t, variety), nil))
	of := s.results[0]
	for name, change := range map[string]func(ev *certify.Evidence, j *pipeline.Job){
		"all of delta":          func(ev *certify.Evidence, _ *pipeline.Job) { ev.Delta.Alternatives = 1 },
		"half of delta":         func(ev *certify.Evidence, _ *pipeline.Job) { ev.Delta.Alternatives = 2 },
		"another number":        func(ev *certify.Evidence, _ *pipeline.Job) { ev.Delta.Alternative = 2 },
		"another one's number":  func(ev *certify.Evidence, j *pipeline.Job) { ev.Delta.Alternative, j.Number = 5, 5 },
		"no sweep":              func(ev *certify.Evidence, j *pipeline.Job) { ev.Delta.Alternatives, j.Sweep, j.Number = 1, nil, 0 },
		"one alternative alone": func(ev *certify.Evidence, j *pipeline.Job) { ev.Delta.Alternatives, j.Sweep = 1, j.Sweep[:1:1] },
		"no number":             func(_ *certify.Evidence, j *pipeline.Job) { j.Number = 0 },
		"a number too many": func(ev *certify.Evidence, j *pipeline.Job) {
			ev.Delta.Alternatives, ev.Delta.Alternative, j.Number = 6, 6, 6
		},
		"the same one many times": func(_ *certify.Evidence, j *pipeline.Job) { j.Sweep[1] = j.Sweep[0] },
		"a wider tolerance":       func(ev *certify.Evidence, j *pipeline.Job) { ev.Loss.Epsilon, j.Sweep[0].Loss.Epsilon = 5, 5 },
	} {
		t.Run(name, func(t *testing.T) {
			var stated pipeline.Job
			fatal.If(t, json.Unmarshal(of.Certificate.Configuration.Values, &stated))
			stated.Sweep = slices.Clone(stated.Sweep)
			f := forge(t, of.Certificate, func(ev *certify.Evidence) {
				change(ev, &stated)
				doc, err := json.Marshal(stated)
				fatal.If(t, err)
				ev.Configuration = doc
			})
			open := func(ctx context.Context, want pipeline.Choice) (pipeline.Source, error) {
				return l.openFor(pipeline.Job{Exclude: want.Exclude})(ctx, want.Features)
			}
			if _, err := pipeline.Verify(t.Context(), f, of.Model, of.ModelDigest, open, pipeline.Resources{}); !errors.Is(err, pipeline.ErrRefused) {
				t.Errorf("Verify = %v, want a refusal", err)
			}
		})
	}
}

// A fault of an alternative names it; one that all share is the job's. All are
// told at once, and no row is read.
func TestSweepFaults(t *testing.T) {
	eps := func(e float64) pipeline.Alternative {
		return pipeline.Alternative{Loss: pipeline.Tolerance{Epsilon: e}}
	}
	base := pipeline.Job{Target: "y", Delta: 0.1}
	for name, c := range map[string]struct {
		change func(*pipeline.Job)
		want   []string // each once, and no more faults than these
	}{
		"fine":           {func(j *pipeline.Job) { j.Sweep = []pipeline.Alternative{eps(1), eps(2)} }, nil},
		"the job itself": {func(j *pipeline.Job) { j.Loss.Epsilon = 3; j.Sweep = []pipeline.Alternative{{}, eps(2)} }, nil},
		"one":            {func(j *pipeline.Job) { j.Sweep = []pipeline.Alternative{eps(1)} }, []string{"sweep: 1 alternatives"}},
		"too many":       {func(j *pipeline.Job) { j.Sweep = make([]pipeline.Alternative, 101) }, []string{"sweep: 101 alternatives"}},
		"no tolerance":   {func(j *pipeline.Job) { j.Sweep = []pipeline.Alternative{{}, eps(2)} }, []string{": loss.epsilon: say the tolerance"}},
		"bad tolerance":  {func(j *pipeline.Job) { j.Sweep = []pipeline.Alternative{eps(1), eps(-2)} }, []string{"sweep[1].loss.epsilon: -2"}},
		"NaN":            {func(j *pipeline.Job) { j.Sweep = []pipeline.Alternative{eps(1), eps(math.NaN())} }, []string{"sweep[1].loss.epsilon: NaN"}},
		"band's tolerance": {func(j *pipeline.Job) {
			j.Sweep = []pipeline.Alternative{eps(1), {Loss: pipeline.Tolerance{Epsilon: 1, Below: 2}}}
		}, []string{"sweep[1].loss: below and above"}},
		"target": {func(j *pipeline.Job) {
			j.Sweep = []pipeline.Alternative{eps(1), {Loss: pipeline.Tolerance{Epsilon: 1}, Features: []string{"y"}}}
		}, []string{`sweep[1].features: "y" is the target`}},
		"no feature": {func(j *pipeline.Job) {
			j.Sweep = []pipeline.Alternative{eps(1), {Loss: pipeline.Tolerance{Epsilon: 1}, Features: []string{}}}
		}, []string{"sweep[1].features: name a feature"}},
		"exclude of named": {func(j *pipeline.Job) {
			j.Features = []string{"a", "b"}
			j.Sweep = []pipeline.Alternative{eps(1), {Loss: pipeline.Tolerance{Epsilon: 1}, Exclude: []string{"b"}}}
		}, []string{"sweep[1].exclude: the job names its features"}},
		"twice":            {func(j *pipeline.Job) { j.Loss.Epsilon = 1; j.Sweep = []pipeline.Alternative{{}, eps(2), eps(1)} }, []string{"sweep[2]: alternative 3 is the same job as alternative 1"}},
		"delta and others": {func(j *pipeline.Job) { j.Delta = 2; j.Sweep = []pipeline.Alternative{eps(0.5), eps(-1)} }, []string{": delta: 2", "sweep[1].loss.epsilon"}},
		"number":           {func(j *pipeline.Job) { j.Number = 3; j.Sweep = []pipeline.Alternative{eps(1), eps(2)} }, []string{"alternative: 3 of 2"}},
		"without a sweep":  {func(j *pipeline.Job) { j.Loss.Epsilon, j.Number = 1, 1 }, []string{"alternative: 1 without a sweep"}},
	} {
		t.Run(name, func(t *testing.T) {
			j := base
			c.change(&j)
			filled, err := j.WithDefaults()
			if c.want == nil {
				fatal.If(t, err)
				again, err := filled.WithDefaults()
				one, _ := filled.Digest()
				if two, _ := again.Digest(); err != nil || one != two {
					t.Errorf("defaults filled in twice: %v, another digest", err)
				}
				return
			}
			if !errors.Is(err, pipeline.ErrConfig) {
				t.Fatalf("WithDefaults = %v, want ErrConfig", err)
			}
			for _, words := range c.want {
				if strings.Count(err.Error(), words) != 1 {
					t.Errorf("%q does not hold %q once", err, words)
				}
			}
			if n := strings.Count(err.Error(), pipeline.ErrConfig.Error()); n != len(c.want) {
				t.Errorf("%d faults, want %d: %v", n, len(c.want), err)
			}
		})
	}
}

// Alternatives have identities and checkpoints of their own, and one identity as
// an attempt; an alternative more is another attempt.
func TestIdentityOfASweep(t *testing.T) {
	j := job(t, variety)
	seen := map[string]bool{}
	var identity pipeline.Digest
	for i, a := range j.Alternatives() {
		own, err := a.Digest()
		fatal.If(t, err)
		seen[own.String()] = true
		declared, err := a.Identity()
		fatal.If(t, err)
		if i > 0 && declared != identity {
			t.Errorf("alternative %d has another identity as an attempt", i+1)
		}
		identity = declared
	}
	if all, err := j.Identity(); err != nil || all != identity || len(seen) != len(j.Sweep) {
		t.Errorf("%d digests of %d alternatives; the declaration's identity is %s, theirs %s (%v)", len(seen), len(j.Sweep), all, identity, err)
	}
	more := job(t, func(j *pipeline.Job) {
		variety(j)
		j.Sweep = append(j.Sweep, pipeline.Alternative{Loss: pipeline.Tolerance{Epsilon: 9}})
	})
	if other, err := more.Identity(); err != nil || other == identity {
		t.Errorf("a longer sweep has the same identity (%v)", err)
	}
}

// A fault of any alternative's rows stops the sweep before it is counted and
// before anything is trained.
func TestSweepReadsAllRowsFirst(t *testing.T) {
	columns := waves(200, 0.1, 10)
	for i := range columns[1] {
		columns[1][i] = 3
	}
	j := job(t, func(j *pipeline.Job) {
		tiny(j)
		j.Sweep = []pipeline.Alternative{{}, {Features: []string{"b"}}}
	})
	var s swept
	err := s.run(t.Context(), newLake(columns, 200), j, nil)
	if !errors.Is(err, pipeline.ErrData) || !strings.Contains(err.Error(), `alternative 2 (features ["b"])`) {
		t.Errorf("Sweep = %v, want ErrData that names alternative 2", err)
	}
	if len(s.stores[0].Log)+len(s.stores[0].Models) > 0 || s.stores[0].State != nil {
		t.Error("an attempt was counted, or something trained")
	}
	if _, err := pipeline.Run(t.Context(), j, newLake(columns, 200).environment(&pipelinetest.Store{})); !errors.Is(err, pipeline.ErrConfig) {
		t.Errorf("Run of a sweep: %v", err)
	}
}

func ExampleAlternative() {
	fmt.Println(pipeline.Alternative{Loss: pipeline.Tolerance{EpsilonStd: 0.5}, Exclude: []string{"station"}})
	fmt.Println(pipeline.Alternative{})
	// Output:
	// epsilon 0.5 std, exclude ["station"]
	// the job as it stands
}
