package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/certify"
)

// A lastPassResult is what a full pass over the dataset finds about a model: its part of the evidence
// of a certificate, which [evidence] completes. It comes from a source opened anew and from the
// model's stored bytes, in the run that certifies and in every verification.
type lastPassResult struct {
	certify.Evidence

	Reference []Affine      // scaling by the prior rows: features, then target
	Referred  string        // digest of the prior rows
	Encode    Encodings     // by the prior rows and the job; nil without rows
	Passed    time.Duration // time of the pass over the rows

	kept rawRows // prior rows, or start rows if there are none, in the order of their ordinals
}

// wholeLastPass makes the pass over all rows. The source's columns must be the model's
// features in order, those beside them, and the target. known has the baseline's prediction in raw
// units, and the values of groups.
func wholeLastPass(ctx context.Context, src Source, m Model, job Job, known subject, res Resources) (found *lastPassResult, err error) {
	began := time.Now()
	prepared, err := prepare(ctx, src, m, job, known, newSecret(), nil, res)
	if err != nil {
		return nil, err
	}
	defer prepared.Close()
	pass, err := prepared.read(ctx, Whole.shards)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, pass.Close()) }()
	if found, err = pass.result(ctx, job, m); err != nil {
		return nil, err
	}
	found.Passed, found.Sample.Segments = time.Since(began), segmentsOf(src)
	return found, nil
}

// A Part is one of several parts of a pass, each of about as many rows.
type Part struct{ Number, Of int } // 1 ≤ Number ≤ Of

// Whole is the one part of an undivided pass.
var Whole = Part{1, 1}

// String writes the part as in 1/2.
func (p Part) String() string { return fmt.Sprintf("%d/%d", p.Number, p.Of) }

func (p Part) check() error {
	if p.Number < 1 || p.Number > p.Of {
		return fmt.Errorf("%w: there is no part %s", ErrConfig, p)
	}
	return nil
}

// shards are the shards whose first row lies in the part: consecutive ones, or none if there
// are more parts than shards.
func (p Part) shards(all []Shard) []int {
	var n int64
	for _, s := range all {
		n += s.Rows
	}
	from, to := share(n, int64(p.Number-1), int64(p.Of)), share(n, int64(p.Number), int64(p.Of))
	mine := []int{}
	for i, s := range all {
		if from <= s.First && (s.First < to || p.Number == p.Of) {
			mine = append(mine, i)
		}
	}
	return mine
}

// result is what a pass over all rows found. Parts that do not fit together are [ErrPart].
func (p *Pass) result(ctx context.Context, job Job, m Model) (*lastPassResult, error) {
	inputs := job.inputs(m.Meta)
	columns := slices.Concat(inputs, job.Unit.Columns, []string{m.Meta.Target.Name})
	if err := errors.Join(p.missing(), p.sees(columns)); err != nil {
		return nil, err
	}
	mean := MeanDecl{m.Meta.Mean}
	found := &lastPassResult{Evidence: certify.Evidence{
		Tallies: p.tallies.Clone(), Dependence: p.dependence(),
		Ledger: certify.Ledger{Rows: p.of.rows, Bad: p.of.bad, Outside: p.of.outside},
		Sample: certify.Sample{Shards: int64(p.of.shards), Columns: columns},
	}}
	err := p.count(ctx, found, job)
	if err != nil {
		return nil, err
	}
	digest, targets := p.digests(indices(p.of.columns))
	found.Sample.Digest, found.Sample.Targets = digest.String(), targets.String()
	kept, want := p.rows(), found.Ledger.Reference
	reference := kept
	found.Constant = certify.Constant{Origin: certify.OriginReference, Risk: found.Tallies.Of(certify.PredictorConstant, certify.RoleTrain).Risk}
	if want == 0 {
		reference, want, found.Constant.Origin = rawRows{columns: kept.columns}, min(startRows, found.Ledger.Train), certify.OriginStart
	}
	found.Referred = reference.digest(indices(p.of.columns))
	if kept.n == 0 || int64(kept.n) != want {
		return nil, fmt.Errorf("%w: they have %d rows to choose the constant of the baseline on, not %d", ErrPart, kept.n, want)
	}
	if found.Encode, err = job.Encode.seen(inputs, reference); err != nil {
		return nil, err
	}
	encoded := found.Encode.by(inputs)
	encoded = append(encoded, make([]*Encoding, p.of.columns-len(encoded))...)
	reference.encoded, kept.encoded = encoded, encoded
	if found.Mean, err = mean.distances(reference, p.tallies.Of(certify.PredictorColumn, certify.RoleTrain).Risk, m.Meta.Target.Scale); err != nil {
		return nil, err
	}
	if found.Constant.Origin == certify.OriginReference {
		for c := range len(m.Meta.Features) {
			found.Reference = append(found.Reference, standardise(kept.column(c)))
		}
		y := kept.column(p.of.columns - 1)
		target := standardise(y)
		target.Centre = mean.centre(centre(y, target.Centre))
		found.Reference = append(found.Reference, target)
	}
	groups, err := job.groupValues(inputs, reference)
	if err != nil {
		return nil, err
	}
	found.Grouping, found.kept = job.grouping(groups), kept
	found.Constant.Value = bestConstant(kept.column(p.of.columns-1), m.Meta.Loss)
	return found, mean.knowsTarget(kept)
}

// sees returns an error unless the pass has looked at these columns.
func (p *Pass) sees(columns []string) error {
	if p.of.columns != len(columns) {
		return fmt.Errorf("%w: they have %d columns, and the model has %d", ErrPart, p.of.columns, len(columns))
	}
	return nil
}

// count counts the rows by split, and those that equal an earlier one. If examples are units, it adds
// them to the tallies.
func (p *Pass) count(ctx context.Context, found *lastPassResult, job Job) (err error) {
	to, l := found.Tallies, &found.Ledger
	l.Train, l.Holdout = to.Of(certify.PredictorDraw, certify.RoleTrain).Risk.Count(), to.Of(certify.PredictorMean, certify.RoleHoldout).Risk.Count()
	if p.units != nil {
		l.Units = job.Unit.counted(&p.units.ledger)
		if l.Train, l.Holdout, err = p.units.tally(to); err != nil {
			return err
		}
	}
	copies, err := p.counted(ctx)
	if err != nil {
		return err
	}
	if found.Copies = job.counted(copies); p.marks == nil {
		l.Copies = found.Copies.Rows
	}
	l.Reference = l.Rows - l.Train - l.Holdout - l.Copies - l.Bad - l.Outside
	return nil
}

// counted are the copies among all rows of the pass.
func (p *Pass) counted(ctx context.Context) (Copies, error) {
	if p.marks == nil {
		return p.copies, nil
	}
	return p.marks.count(ctx)
}

func sameColumns(columns []string, meta ModelMeta, job Job) error {
	if want := slices.Concat(job.inputs(meta), job.Unit.Columns, []string{meta.Target.Name}); !slices.Equal(columns, want) {
		return fmt.Errorf("pipeline: the source has columns %q, the model wants %q", columns, want)
	}
	return nil
}
