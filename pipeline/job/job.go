// Package job declares jobs: what to predict, by what loss, with which confidence, and how to train. It holds no
// rows and starts no goroutines. A job with its defaults filled in has a digest, by which certificates name it.
package job

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/pacsgp/pacsgp/certify"
)

// A Job is everything that decides what a run computes. Two runs of equal jobs on equal samples give the same bytes.
// Its JSON form is the configuration in the certificate. Where rows come from, where artifacts go, workers and memory
// are in [Resources]: they do not change a result.
type Job struct {
	Target     string         `json:"target"`
	Features   []string       `json:"features,omitempty"` // nil means every numeric column that has no other use
	Exclude    []string       `json:"exclude,omitempty"`
	Encode     Encodings      `json:"encode,omitempty"`
	Mean       MeanDecl       `json:"mean,omitzero"` // the mean function of the prior
	Groups     GroupsDecl     `json:"groups,omitzero"`
	Loss       LossDecl       `json:"loss"`
	Delta      float64        `json:"delta"` // in (0, 0.5]; no default
	Kernel     KernelDecl     `json:"kernel"`
	Grid       GridDecl       `json:"grid"`
	Inducing   []int          `json:"inducing,omitempty"` // numbers of inducing points to choose from; nil means by a rule in the number of rows
	Scaling    Scaling        `json:"scaling"`
	Unit       UnitDecl       `json:"unit,omitzero"`
	Split      SplitDecl      `json:"split"`
	Duplicates DuplicatesDecl `json:"duplicates"`
	Rejected   RejectedDecl   `json:"rejected,omitzero"`
	Train      TrainDecl      `json:"train"`

	// Guarantees lists the methods of the certificate, which share Delta. If it is nil, they follow from the number
	// of rows ([Job.ForRows]).
	Guarantees []certify.MethodID `json:"guarantees,omitempty"`

	// Repeated is true if the job makes a sequence of certificates, one for each window of rows, which share Delta
	// ([Job.Numbered]).
	Repeated bool `json:"sequence,omitempty"`

	Repeats     bool              `json:"-"` // duplicates that the job drops were found
	declaration *Job              // the job before the changes of [Job.ForRows]; nil if there were none
	Numbering   *certify.Sequence `json:"-"` // position in a sequence; nil without a sequence
	Reuse       *certify.Reuse    `json:"-"` // earlier uses of the held-out rows; nil if none is known
}

// A KernelDecl declares the covariance function.
type KernelDecl struct {
	// Family lists the families that training chooses from. The choice adds the logarithm of their number to the
	// bound's price. Nil means squared-exponential alone.
	Family    []string `json:"family"`
	Isotropic bool     `json:"isotropic"` // one lengthscale for all features instead of one each (ARD)
}

// A GridDecl declares the grid of every hyper-parameter (natural logarithms of
// lengthscales in scaled units and of the signal variance) and its weights.
type GridDecl struct {
	Min   float64       `json:"min"` // if Min, Max and Step are all zero, the grid is from -6 to 6
	Max   float64       `json:"max"`
	Step  float64       `json:"step"`  // 0 means by the number of rows ([Job.ForRows])
	Prior certify.Prior `json:"prior"` // peaked at the estimate of the prior rows, the default with their scaling, or flat
	Width float64       `json:"width"` // of the peak, in natural logarithms; default 0.5
}

// PaperGrid is the grid of the paper: 1,201 values for each hyper-parameter, with equal weights.
var PaperGrid = GridDecl{Min: -6, Max: 6, Step: 0.01, Prior: certify.PriorFlat}

// A Scaling says where the constants of [Affine] come from.
type Scaling string

// The scalings.
const (
	ScalingPrior Scaling = "prior" // from the prior rows: the default
	ScalingNone  Scaling = "none"  // centre 0 and scale 1; there are no prior rows
)

// DefaultKey is the key of a job that names none.
const DefaultKey = "pacsgp"

// A SplitDecl declares the rule that splits the rows.
type SplitDecl struct {
	Key     string  `json:"key"`               // of the hash that splits the rows; default [DefaultKey]
	Holdout float64 `json:"holdout,omitempty"` // share of held-out rows; if 0 and a method needs them, by [Job.ForRows]
	Outside float64 `json:"outside,omitempty"` // share of the rows that the column of the mean was fitted on, which this job does not use

	Last bool `json:"last,omitempty"` // hold out the last rows instead of rows by hash
}

// A TrainMode says which rows a step of training uses.
type TrainMode string

// The modes of training.
const (
	TrainMiniBatch TrainMode = "mini-batch" // the default of a free-form Q; a batch of all rows is a full pass
	TrainFullPass  TrainMode = "full-pass"
)

// A TrainDecl declares how the posterior is fitted.
type TrainDecl struct {
	Method    Method `json:"method,omitempty"`    // the form of Q and its objective
	Objective string `json:"objective,omitempty"` // for a free-form Q: one of [Objectives]; "" means the bound

	Mode   TrainMode `json:"mode"`
	Batch  int       `json:"batch,omitempty"`  // rows of a mini-batch; 0 means by [model.Plan], or 4,096 for a method of the paper
	Buffer int       `json:"buffer,omitempty"` // rows of the shuffle buffer; default 65,536 where mini-batches are possible
	// Passes is the number of passes over the training rows before θ is rounded to its grid and Q is refined; 0 means
	// by [model.Plan]. For a method of the paper it is the largest number of gradients of all rows, or of passes by
	// mini-batches; 0 means at most 1,000 gradients or steps.
	Passes float64 `json:"passes,omitempty"`
	Time   Seconds `json:"time_seconds,omitempty"` // after it θ is rounded to its grid and Q is refined; 0 means no limit
	Seed   uint64  `json:"seed"`                   // of the optimiser; the guarantee does not depend on it

	// WarmStart starts from the model of an earlier certificate if there is a suitable one ([fit.Environment]). The
	// certificate names that model.
	WarmStart bool `json:"warm_start,omitempty"`
}

// Resources are what a run may use. They never change a result.
type Resources struct {
	Workers    int           // goroutines that compute or decode; default 1
	Memory     int64         // bytes for rows kept between passes, and for counting duplicates; default 512 MiB
	Checkpoint time.Duration // time between checkpoints; default 30 s
}

// WithDefaults returns the resources with their defaults filled in.
func (r Resources) WithDefaults() Resources {
	r.Workers = max(r.Workers, 1)
	if r.Memory <= 0 {
		r.Memory = 512 << 20
	}
	if r.Checkpoint <= 0 {
		r.Checkpoint = 30 * time.Second
	}
	return r
}

// WithDefaults returns the job with its defaults filled in. The error joins all faults of the job, each wrapping
// [ErrConfig].
func (j Job) WithDefaults() (Job, error) {
	faults := &faultList{}
	j.checkColumns(faults)
	faults.when(!(0 < j.Delta && j.Delta <= 0.5), "delta: %s", needDelta(j.Delta))
	j.Loss = j.Loss.withDefaults(faults)
	if j.Kernel.Family == nil {
		j.Kernel.Family = []string{certify.KernelSquaredExponential}
	}
	faults.of("kernel", certify.KernelFamilies(j.Kernel.Family))
	for i, m := range j.Inducing {
		faults.when(m < 1 || m > certify.MaxInducing, "inducing: want 1 to %d points, not %d", certify.MaxInducing, m)
		faults.when(slices.Contains(j.Inducing[:i], m), "inducing: %d is twice in the list", m)
	}
	faults.when(j.Scaling != "" && j.Scaling != ScalingPrior && j.Scaling != ScalingNone,
		"scaling: %q is neither %s nor %s", j.Scaling, ScalingPrior, ScalingNone)
	j.Scaling = cmp.Or(j.Scaling, ScalingPrior)
	j = j.withEncodings(faults)
	j.Grid = j.Grid.withDefaults(j.Scaling == ScalingPrior, faults)
	faults.when(j.Grid.Prior == certify.PriorPeaked && j.Scaling != ScalingPrior,
		"grid.prior: peaked needs scaling by prior rows, for the prior rows' estimate is its centre")
	faults.when(j.Loss.EpsilonStd != 0 && j.Scaling == ScalingNone,
		"loss.epsilon: std means standard deviations over prior rows; without scaling give epsilon in raw units")
	j.Split.Key = cmp.Or(j.Split.Key, DefaultKey)
	faults.of("split.key", certify.Name("key of the split", j.Split.Key))
	faults.when(j.Split.Last && j.Split.Holdout == 0, "split.holdout: how many of the last rows are held-out rows?")
	j = j.withMethods(faults)
	j.setDuplicates(faults)
	faults.when(!(0 <= j.Rejected.Limit && j.Rejected.Limit < 1),
		"rejected.limit: %v is no share of the rows from 0 to below 1", j.Rejected.Limit)
	j.Train = j.Train.withDefaults(j.Inducing, faults)
	j.checkMean(faults)
	j.checkUnit(faults)
	return j, errors.Join(*faults...)
}

// checkColumns adds faults of target, features and exclude.
func (j Job) checkColumns(faults *faultList) {
	if j.Target == "" {
		faults.add("target: name the column to predict")
	} else if err := certify.ColumnName(j.Target); err != nil {
		faults.add("target: %w", err)
	}
	for _, list := range []struct {
		key   string
		names []string
	}{{"features", j.Features}, {"exclude", j.Exclude}} {
		for _, name := range list.names {
			faults.of(list.key, certify.ColumnName(name))
		}
	}
	faults.when(slices.Contains(j.Features, j.Target) && j.Target != "", "features: %q is the target", j.Target)
	faults.when(len(j.Features) > 0 && len(j.Exclude) > 0,
		"exclude: the features are named, so that there is nothing to exclude from")
}

// Complete returns an error if the job has faults or its defaults are not filled in.
func (j Job) Complete() error {
	declared := j
	if j.declaration != nil {
		declared = *j.declaration
	}
	filled, err := declared.WithDefaults()
	if err != nil {
		return err
	}
	want, err := filled.Digest()
	if err != nil {
		return err
	}
	found, err := declared.Digest()
	if err == nil && found != want {
		err = fmt.Errorf("%w: its defaults are not filled in: run what Job.WithDefaults returns", ErrConfig)
	}
	return err
}

func needDelta(delta float64) string {
	if delta == 0 {
		return "choose how likely the certificate may be wrong, as in delta: 1 % for 99 % confidence; " +
			"it has no default, because the risk is yours"
	}
	return "want a number above 0 and at most 0.5, as in 1 % for 99 % confidence, not " + strconv.FormatFloat(delta, 'g', -1, 64)
}

// Limits of training, far above all practical values, so that their product fits 64 bits.
const (
	maxPasses     = 1_000_000
	maxRowsAtOnce = 1 << 30
)

// The default steps of a grid. More rows allow a finer grid: they share the price of a grid value in the bound, while
// the distance to the best value costs each row the same. Bounds with the coarse and the fine step are .081 and .084
// for pol (14,250 rows), .088 and .085 for hflights (212,681 rows).
const (
	coarseStep   = 0.25
	fineStep     = 0.05
	fineFromRows = 30_000
)

// withDefaults returns the grid with its defaults and adds faults. estimated is true if there are prior rows to
// estimate the peaks from.
func (g GridDecl) withDefaults(estimated bool, faults *faultList) GridDecl {
	if g == (GridDecl{Prior: g.Prior, Width: g.Width}) {
		g.Min, g.Max = -6, 6
	}
	if g.Prior == "" {
		g.Prior = certify.PriorFlat
		if estimated || g.Width != 0 {
			g.Prior = certify.PriorPeaked
		}
	}
	g.Min, g.Max = g.Min+0, g.Max+0 // no −0, which JSON readers lose
	if g.Prior == certify.PriorPeaked && g.Width == 0 {
		g.Width = 0.5
	}
	steps := []float64{g.Step}
	if g.Step == 0 {
		steps = []float64{coarseStep, fineStep}
	}
	for _, step := range steps {
		if !(-300 <= g.Min && g.Min < g.Max && g.Max <= 300 && 0 < step && step <= g.Max-g.Min && (g.Max-g.Min)/step <= certify.MaxGridCount-1) {
			faults.add("grid: min %v, max %v, step %v is no grid of 2 to 100,001 logarithms between -300 and 300", g.Min, g.Max, step)
			break
		}
	}
	faults.when(g.Prior != certify.PriorFlat && g.Prior != certify.PriorPeaked,
		"grid.prior: %q is neither flat nor peaked", g.Prior)
	faults.when(g.Prior == certify.PriorFlat && g.Width != 0, "grid.width: it belongs to a peaked prior")
	faults.when(g.Prior == certify.PriorPeaked && !(g.Width > 0 && g.Width <= 100),
		"grid.width: %v is not in (0, 100]", g.Width)
	return g
}

func (t TrainDecl) withDefaults(inducing []int, faults *faultList) TrainDecl {
	t.checkMethod(inducing, faults)
	if t.Mode == "" {
		if t.Mode = TrainMiniBatch; t.Method != MethodFreeForm {
			t.Mode = TrainFullPass
		}
	}
	faults.when(t.Mode != TrainMiniBatch && t.Mode != TrainFullPass,
		"train.mode: %q is none of %s, %s", t.Mode, TrainMiniBatch, TrainFullPass)
	if t.Buffer == 0 && (t.Method == MethodFreeForm || t.Stochastic()) {
		t.Buffer = 1 << 16
	}
	faults.when(t.Batch < 0 || t.Buffer < 0 || t.Batch > maxRowsAtOnce || t.Buffer > maxRowsAtOnce,
		"train: batch %d, buffer %d: want numbers of rows, up to %d", t.Batch, t.Buffer, maxRowsAtOnce)
	faults.when(!(t.Passes >= 0 && t.Passes <= maxPasses),
		"train.passes: %v: want a number from 0 to %d", t.Passes, maxPasses)
	faults.when(t.Time < 0, "train.time: %v is negative", time.Duration(t.Time))
	return t
}

// Canonical returns the JSON form of the declared job, as in the certificate.
func (j Job) Canonical() ([]byte, error) {
	if j.declaration != nil {
		j = *j.declaration
	}
	doc, err := json.Marshal(j)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return doc, nil
}

// Digest returns the SHA-256 of [Job.Canonical], which identifies the configuration. Call it on the result of
// WithDefaults.
func (j Job) Digest() (Digest, error) {
	doc, err := j.Canonical()
	return sha256.Sum256(doc), err
}

// Spends returns how the job divides its δ, with its position in a sequence and earlier uses of the held-out rows.
func (j Job) Spends() certify.Delta {
	return certify.Delta{
		Declared: j.Delta, Methods: j.Guarantees,
		Sequence: j.Numbering, Reuse: j.Reuse,
	}
}

// Numbered returns the job for certificate number k of the named sequence. The caller reserves the number durably
// before the bound is known, and never twice ([certify.Sequence]). The job's digest does not change.
func (j Job) Numbered(name string, k int64) Job {
	j.Numbering = &certify.Sequence{Name: name, Number: k}
	return j
}

// Sequenced returns an error if a job of a sequence has no number in it, or if another job has one.
func (j Job) Sequenced() error {
	switch {
	case !j.Repeated && j.Numbering != nil:
		return fmt.Errorf("%w: number %d of a sequence, but the job declares none", ErrConfig, j.Numbering.Number)
	case j.Repeated && j.Numbering == nil:
		return fmt.Errorf("%w: the job has no number in its sequence", ErrConfig)
	default:
		return nil
	}
}

// leastForReading is the memory in bytes that reading may use even if the budget is smaller.
const leastForReading = 512 << 20

// PageMemory returns the memory for pages while they are read, in bytes.
func (r Resources) PageMemory() int64 { return max(r.Memory, leastForReading) }

// A Digest is a SHA-256 hash.
type Digest [32]byte

// String returns the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText returns the digest in hexadecimal.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText sets the digest from 64 hexadecimal digits.
func (d *Digest) UnmarshalText(text []byte) error { return d.Parse(string(text)) }

// Parse sets the digest from 64 hexadecimal digits.
func (d *Digest) Parse(text string) error {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(d) {
		return fmt.Errorf("%q is no digest of 64 hexadecimal digits", text)
	}
	copy(d[:], raw)
	return nil
}
