package schedule

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
)

// A Promotion is the rule by which the certificate of a run becomes current. A run that has
// not the required certificate never does. The zero value is: always.
type Promotion struct {
	NotWorseBy *float64 // its bound is at most this above that of the current one
	OnNewRows  int64    // it loses no more than the current one on so many rows that are new to both
}

// challenge decides by the job's rule whether a certificate becomes current, moves the pointer
// if so, and says why. It may have to wait for rows.
func (j *Job) challenge(ctx context.Context, id string, now time.Time) (moved, waits bool, why string, err error) {
	challenger, err := j.contender(ctx, id)
	if err != nil {
		return false, false, "", err
	}
	current, err := j.Output.Current()
	if err != nil {
		return false, false, "", err
	}
	to := func() error {
		return pipeline.PointTo(j.Output, challenger, pipeline.ArtifactRef{ID: id, Model: challenger.Model.Digest}, j.Judge, now)
	}
	if current == nil {
		return true, false, "nothing was current", to()
	}
	if current.ID == id {
		return true, false, "it was current", nil
	}
	champion, err := j.contender(ctx, current.ID)
	if err != nil {
		return false, false, "", err
	}
	if why := pipeline.Incomparable(champion, challenger, j.Judge); why != "" {
		return false, false, "it cannot be compared with the current one: " + why, nil
	}
	was, is := j.Judge.Of(champion).Bound, j.Judge.Of(challenger).Bound
	better, why := true, fmt.Sprintf("its bound is %s, that of the one before %s", certify.AtMost(is), certify.AtMost(was))
	switch {
	case j.Promote.NotWorseBy != nil:
		better = is <= was+*j.Promote.NotWorseBy
	case j.Promote.OnNewRows > 0:
		better, why, err = j.onNewRows(ctx, current.ID, champion, id, challenger)
		if errors.Is(err, errTooFew) {
			return false, true, err.Error(), nil
		}
	}
	if err != nil || !better {
		return false, false, why, err
	}
	return true, false, why, to()
}

// contender reads a certificate of the output, which follows from what it says.
func (j *Job) contender(ctx context.Context, id string) (certify.Certificate, error) {
	c, err := j.Output.GetCertificate(ctx, id)
	if err == nil {
		if err = certify.Recompute(c); err != nil {
			err = fmt.Errorf("certificate %s: %w", id, err)
		}
	}
	return c, err
}

// verify holds a certificate to its model.
func (j *Job) verify(ctx context.Context, c certify.Certificate) error {
	m, err := j.Output.GetModel(ctx, c.Model.Digest)
	if err == nil {
		_, err = pipeline.Verify(ctx, c, m, c.Model.Digest, nil, j.How.Resources.WithDefaults())
	}
	return err
}

// errTooFew says that there are not yet rows to compare on.
var errTooFew = errors.New("it waits for rows that are new to both")

// onNewRows compares two models on rows of the lake that are in neither sample.
func (j *Job) onNewRows(ctx context.Context, currentID string, champion certify.Certificate, id string, challenger certify.Certificate) (bool, string, error) {
	all, err := j.Lake.Files(ctx)
	if err != nil {
		return false, "", err
	}
	known := map[string]bool{}
	for of, c := range map[string]certify.Certificate{currentID: champion, id: challenger} {
		list, err := j.Output.GetManifest(c, of)
		if err != nil {
			return false, "", err
		}
		for _, f := range list.Files {
			known[content(f)] = true
		}
	}
	var fresh []File
	var rows int64
	for _, f := range all {
		if !known[content(f.ManifestFile)] {
			fresh, rows = append(fresh, f), rows+f.Rows
		}
	}
	if rows < j.Promote.OnNewRows {
		return false, "", fmt.Errorf("%w: there are %d of %d", errTooFew, rows, j.Promote.OnNewRows)
	}
	var losses [2]float64
	for i, c := range []certify.Certificate{champion, challenger} {
		if losses[i], rows, err = j.lossOn(ctx, c, fresh); err != nil {
			return false, "", err
		}
	}
	return losses[1] <= losses[0], fmt.Sprintf("on %s that are new to both it loses %.4g, the one before %.4g", certify.Count(rows, "row"), losses[1], losses[0]), nil
}

// lossOn is what the judged predictor of a model loses on rows, without the bad ones that
// the job tolerates, and on how many.
func (j *Job) lossOn(ctx context.Context, c certify.Certificate, files []File) (float64, int64, error) {
	m, err := j.Output.GetModel(ctx, c.Model.Digest)
	if err != nil {
		return 0, 0, err
	}
	src, err := j.Lake.Rows(files).Open(ctx, pipeline.Choice{Features: m.Meta.FeatureNames(), Target: m.Meta.Target.Name, Mark: j.Job.BadRows.Some()})
	if err != nil {
		return 0, 0, err
	}
	found, err := pipeline.EvaluateGood(ctx, src, m, j.How.Resources.WithDefaults().Workers)
	if j.Judge == pipeline.JudgeDraw {
		return found.Draw, found.Rows, err
	}
	return found.Mean, found.Rows, err
}

// wait compares the challenger that waits for new rows, if they have come.
func (s *Scheduler) wait(ctx context.Context, j *Job, known *State, now time.Time) error {
	release, err := j.Output.Hold()
	if err != nil {
		return err
	}
	defer func() { _ = release() }() // what was put is durable
	moved, waits, why, err := j.challenge(ctx, known.Waiting, now)
	if waits || ctx.Err() != nil {
		return ctx.Err()
	}
	text := fmt.Sprintf("%s: certificate %.12s…", j.Name, known.Waiting)
	switch {
	case errors.Is(err, fs.ErrNotExist) && j.gone(ctx, known.Waiting):
		text += " is not current: it is not in the output any more"
	case err != nil:
		s.once(fmt.Sprintf("%s cannot be compared, and goes on waiting: %v", text, err))
		return nil
	case moved:
		text += " is now current: " + why
	default:
		text += " is not current: " + why
	}
	s.tell(false, text)
	r, err := j.last(func(r *pipeline.RunState) bool { return Certificate(r) == known.Waiting })
	if err == nil && r != nil {
		r.Scheduled.Current, r.Scheduled.Waits, r.Scheduled.Why = moved, false, why
		err = j.Output.PutRun(r)
	}
	if err != nil {
		return err
	}
	known.Waiting = ""
	return s.put(j, known)
}

// gone reports whether the output has a certificate no more, as when keep has removed it.
func (j *Job) gone(ctx context.Context, id string) bool {
	_, err := j.Output.GetCertificate(ctx, id)
	return errors.Is(err, fs.ErrNotExist)
}

// Promote makes a certificate of an output the current one, as to roll back. It must be what
// follows from its model, and certify what the judge asks for; else the pointer stays. before
// is the id of what was current, or "".
func Promote(ctx context.Context, out pipeline.Output, id string, who pipeline.Judge, now time.Time) (c certify.Certificate, before string, err error) {
	j := &Job{Output: out, Judge: who}
	if c, err = j.contender(ctx, id); err != nil {
		return c, "", err
	}
	release, err := out.Hold()
	if err != nil {
		return c, "", err
	}
	defer func() { err = errors.Join(err, release()) }()
	if err := j.verify(ctx, c); err != nil {
		return c, "", err
	}
	if g := who.Of(c); g.Status != certify.StatusCertified {
		return c, "", pipeline.NotCertified("what is current stays as it is: the guarantee of %.12s… for the %s is %s", id, g.Predictor, g.Status)
	}
	before = "what could not be read"
	if current, err := out.Current(); err == nil {
		if before = "nothing"; current != nil {
			before = current.ID
		}
	}
	return c, before, pipeline.PointTo(out, c, pipeline.ArtifactRef{ID: id, Model: c.Model.Digest}, who, now)
}
