package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
)

// An Alternative is one job of a sweep, as changes of the declaring job. Alternatives are
// declared together, before any of them has a result. So each spends its part of δ, all
// certificates hold at once and the best may be chosen. A job that is changed after a result
// was seen is no alternative: no part of δ makes it honest.
type Alternative struct {
	Loss     Tolerance    `json:"loss,omitzero"`
	Features []string     `json:"features,omitzero"` // in place of the job's, and of what it excludes
	Exclude  []string     `json:"exclude,omitzero"`  // in place of the job's, which must name no features then
	Kernel   KernelChange `json:"kernel,omitzero"`
	Inducing []int        `json:"inducing,omitempty"`
	Train    TrainChange  `json:"train,omitzero"`
}

// A TrainChange replaces parts of a [TrainDecl]; nil and zero fields change nothing.
type TrainChange struct {
	Passes float64 `json:"passes,omitempty"`
	Seed   *uint64 `json:"seed,omitempty"`
}

// A Tolerance replaces the tolerance of a [LossDecl]: epsilon in both its forms, below,
// above. Zero fields change nothing.
type Tolerance struct {
	Epsilon    float64 `json:"epsilon,omitempty"`
	EpsilonStd float64 `json:"epsilon_std,omitempty"`
	Below      float64 `json:"below,omitempty"`
	Above      float64 `json:"above,omitempty"`
}

// A KernelChange replaces parts of a [KernelDecl]; nil fields change nothing.
type KernelChange struct {
	Family    []string `json:"family,omitempty"`
	Isotropic *bool    `json:"isotropic,omitempty"`
}

// MaxAlternatives is the largest number of alternatives of a sweep.
const MaxAlternatives = 100

// String names the changes.
func (a Alternative) String() string {
	var words []string
	say := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	for _, t := range []struct {
		name  string
		value float64
		unit  string
	}{{"epsilon", a.Loss.Epsilon, ""}, {"epsilon", a.Loss.EpsilonStd, " std"}, {"below", a.Loss.Below, ""}, {"above", a.Loss.Above, ""}} {
		if t.value != 0 {
			say("%s %v%s", t.name, t.value, t.unit)
		}
	}
	if a.Features != nil {
		say("features %q", a.Features)
	}
	if a.Exclude != nil {
		say("exclude %q", a.Exclude)
	}
	if a.Kernel.Family != nil {
		say("kernel %s", strings.Join(a.Kernel.Family, " or "))
	}
	if a.Kernel.Isotropic != nil {
		say("isotropic %t", *a.Kernel.Isotropic)
	}
	if a.Inducing != nil {
		say("inducing %v", a.Inducing)
	}
	if a.Train.Passes != 0 {
		say("passes %v", a.Train.Passes)
	}
	if a.Train.Seed != nil {
		say("seed %d", *a.Train.Seed)
	}
	if words == nil {
		return "the job as it stands"
	}
	return strings.Join(words, ", ")
}

// in returns job j with the changes.
func (a Alternative) in(j Job) Job {
	if a.Loss.Epsilon != 0 || a.Loss.EpsilonStd != 0 {
		j.Loss.Epsilon, j.Loss.EpsilonStd = a.Loss.Epsilon, a.Loss.EpsilonStd
	}
	if a.Loss.Below != 0 {
		j.Loss.Below = a.Loss.Below
	}
	if a.Loss.Above != 0 {
		j.Loss.Above = a.Loss.Above
	}
	if a.Features != nil || a.Exclude != nil {
		j.Features, j.Exclude = a.Features, a.Exclude
	}
	if a.Kernel.Family != nil {
		j.Kernel.Family = a.Kernel.Family
	}
	if a.Kernel.Isotropic != nil {
		j.Kernel.Isotropic = *a.Kernel.Isotropic
	}
	if a.Inducing != nil {
		j.Inducing = a.Inducing
	}
	if a.Train.Passes != 0 {
		j.Train.Passes = a.Train.Passes
	}
	if a.Train.Seed != nil {
		j.Train.Seed = *a.Train.Seed
	}
	return j
}

// changes reports whether a fault of the job under this key comes from the
// alternative.
func (a Alternative) changes(key string) bool {
	switch key {
	case "loss", "loss.epsilon":
		return a.Loss != Tolerance{}
	case "features", "exclude":
		return a.Features != nil || a.Exclude != nil
	case "kernel.family":
		return a.Kernel.Family != nil
	case "inducing":
		return a.Inducing != nil
	case "train.passes":
		return a.Train.Passes != 0
	default:
		return false
	}
}

// Alternatives returns the jobs of a sweep or, without one, the job itself. Each keeps the
// whole declaration. Call it on the result of WithDefaults.
func (j Job) Alternatives() []Job {
	if len(j.Sweep) == 0 {
		return []Job{j}
	}
	jobs := make([]Job, len(j.Sweep))
	for i := range jobs {
		jobs[i] = j.alternative(i + 1)
	}
	return jobs
}

// alternative returns the job number k of the sweep, 1 to K.
func (j Job) alternative(k int) Job {
	declaration := j
	declaration.Number = k
	chosen := j.Sweep[k-1].in(declaration)
	chosen.declaration = &declaration
	return chosen
}

// Changes names the changes of an alternative.
func (j Job) Changes() string {
	if len(j.Sweep) == 0 {
		return Alternative{}.String()
	}
	return j.Sweep[j.Number-1].String()
}

// Spends is the job's part of δ.
func (j Job) Spends() certify.Delta {
	return certify.Delta{
		Declared: j.Delta, Alternatives: int64(max(1, len(j.Sweep))), Alternative: int64(max(1, j.Number)), Methods: j.Guarantees,
		Sequence: j.sequence, Looks: j.looks,
	}
}

// Identity is the digest of all that is declared together: of a sweep it is the
// same for all its alternatives.
func (j Job) Identity() (Digest, error) {
	if j.declaration != nil {
		j = *j.declaration
	}
	j.Number = 0
	return j.Digest()
}

// sweepWithDefaults is WithDefaults of a job with a sweep. The job may leave out what all
// alternatives give.
func (j Job) sweepWithDefaults() (Job, error) {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...))
	}
	if k := len(j.Sweep); k < 2 || k > MaxAlternatives {
		fault("sweep: %d alternatives: want 2 to %d", k, MaxAlternatives)
	}
	if j.Number < 0 || j.Number > len(j.Sweep) {
		fault("alternative: %d of %d", j.Number, len(j.Sweep))
	}
	filled := j.withoutSweep()
	filled, _ = filled.WithDefaults() // its faults are those of its alternatives
	filled.Sweep, filled.Number = j.Sweep, j.Number
	if len(faults) > 0 {
		return filled, errors.Join(faults...)
	}
	seen := map[string]int{}
	told := map[string]bool{}
	for i, a := range j.Sweep {
		if a.Features != nil && len(a.Features) == 0 {
			fault("sweep[%d].features: name a feature, or leave the key out", i)
			continue
		}
		if a.Exclude != nil && a.Features == nil && j.Features != nil {
			fault("sweep[%d].exclude: the job names its features, of which nothing can be excluded: name the alternative's features", i)
			continue
		}
		each, err := a.in(j.withoutSweep()).WithDefaults()
		for _, err := range parts(err) {
			text := strings.TrimPrefix(err.Error(), ErrConfig.Error()+": ")
			if key, _, _ := strings.Cut(text, ":"); a.changes(key) {
				text = fmt.Sprintf("sweep[%d].%s", i, text)
			}
			if !told[text] { // a fault that all alternatives share is the job's
				told[text] = true
				fault("%s", text)
			}
		}
		if err != nil {
			continue
		}
		doc, err := json.Marshal(each)
		if err != nil {
			return filled, fmt.Errorf("pipeline: configuration: %w", err)
		}
		if first, ok := seen[string(doc)]; ok {
			fault("sweep[%d]: alternative %d is the same job as alternative %d, and would cost its part of delta", i, i+1, first)
		} else {
			seen[string(doc)] = i + 1
		}
	}
	return filled, errors.Join(faults...)
}

func (j Job) withoutSweep() Job {
	j.Sweep, j.Number, j.declaration = nil, 0, nil
	return j
}

// parts returns the errors that were joined.
func parts(err error) []error {
	switch joined := err.(type) { //nolint:errorlint // what errors.Join gave, not what it wraps
	case nil:
		return nil
	case interface{ Unwrap() []error }:
		return joined.Unwrap()
	default:
		return []error{err}
	}
}

// sameRows reports whether two jobs of one sweep read the same columns.
func (j Job) sameRows(other Job) bool {
	return slices.Equal(j.Features, other.Features) && slices.Equal(j.Exclude, other.Exclude) &&
		(j.Features == nil) == (other.Features == nil)
}
