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

// A Promotion is the rule by which a run's certificate, if it has the required guarantee,
// becomes current. The zero value means always.
type Promotion struct {
	NotWorseBy *float64 // its bound exceeds that of the current one by at most this
	OnNewRows  int64    // it loses no more than the current one on so many rows that are new to both
}

// A decision says whether a certificate has become current, or waits for rows, and why.
type decision struct {
	moved, waits bool
	why          string
}

// challenge moves the pointer to a certificate if the job's rule says so.
func (j *Job) challenge(ctx context.Context, id string, now time.Time) (decision, error) {
	challenger, err := j.contender(ctx, id)
	if err != nil {
		return decision{}, err
	}
	current, err := j.Output.Current()
	if err != nil {
		return decision{}, err
	}
	move := func(why string) (decision, error) {
		return decision{moved: true, why: why}, pipeline.PointTo(j.Output, challenger, pipeline.ArtifactRef{ID: id, Model: challenger.Model.Digest}, j.Judge, now)
	}
	if current == nil {
		return move("nothing was current")
	}
	if current.ID == id {
		return decision{moved: true, why: "it was current"}, nil
	}
	champion, err := j.contender(ctx, current.ID)
	if err != nil {
		return decision{}, err
	}
	if why := pipeline.Incomparable(champion, challenger, j.Judge); why != "" {
		return decision{why: "it cannot be compared with the current one: " + why}, nil
	}
	was, err := j.withoutShares(champion)
	if err != nil {
		return decision{}, err
	}
	is, err := j.withoutShares(challenger)
	if err != nil {
		return decision{}, err
	}
	better, why := true, fmt.Sprintf("at one delta its bound is %s, that of the one before %s", certify.AtMost(is), certify.AtMost(was))
	switch {
	case j.Promote.NotWorseBy != nil:
		better = is <= was+*j.Promote.NotWorseBy
	case j.Promote.OnNewRows > 0:
		better, why, err = j.onNewRows(ctx, current.ID, champion, id, challenger)
		if errors.Is(err, errTooFew) {
			return decision{waits: true, why: err.Error()}, nil
		}
	}
	if err != nil || !better {
		return decision{why: why}, err
	}
	return move(why)
}

// withoutShares is the bound that a certificate would have if it were the first of its sequence
// and the first look: the same evidence gives a larger bound under a later number.
func (j *Job) withoutShares(c certify.Certificate) (float64, error) {
	ev, err := c.Evidence()
	if err != nil {
		return 1, err
	}
	ev.Delta.Sequence = nil
	if l := ev.Delta.Looks; l != nil && !l.Swapped {
		ev.Delta.Looks = nil
	}
	for i := range ev.Assumptions {
		ev.Assumptions[i].Text = ""
	}
	again, err := certify.Certify(ev)
	g, _ := again.Guarantee(j.Judge.Of(c).ID)
	return g.Bound, err
}

// contender reads a certificate of the output and recomputes it.
func (j *Job) contender(ctx context.Context, id string) (certify.Certificate, error) {
	c, err := j.Output.GetCertificate(ctx, id)
	if err == nil {
		if err = certify.Recompute(c); err != nil {
			err = fmt.Errorf("certificate %s: %w", id, err)
		}
	}
	return c, err
}

// verify checks a certificate against its model.
func (j *Job) verify(ctx context.Context, c certify.Certificate) error {
	m, err := j.Output.GetModel(ctx, c.Model.Digest)
	if err == nil {
		_, err = pipeline.Verify(ctx, c, m, c.Model.Digest, nil, j.How.Resources.WithDefaults())
	}
	return err
}

// errTooFew says that there are too few rows to compare on.
var errTooFew = errors.New("it waits for rows that are new to both")

// onNewRows compares two models on rows of the lake in neither sample.
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

// lossOn is the loss of a model's judged predictor, and the number of rows, without bad ones
// that the job tolerates.
func (j *Job) lossOn(ctx context.Context, c certify.Certificate, files []File) (float64, int64, error) {
	m, err := j.Output.GetModel(ctx, c.Model.Digest)
	if err != nil {
		return 0, 0, err
	}
	src, err := j.Lake.Rows(files).Open(ctx, pipeline.Choice{Features: m.Meta.Inputs(), Target: m.Meta.Target.Name, Mark: j.Job.BadRows.Some()})
	if err != nil {
		return 0, 0, err
	}
	found, err := pipeline.EvaluateGood(ctx, src, m, j.How.Resources.WithDefaults().Workers)
	if j.Judge == pipeline.JudgeDraw {
		return found.Draw, found.Rows, err
	}
	return found.Mean, found.Rows, err
}

// wait compares a challenger that waits for new rows, once they have come.
func (s *Scheduler) wait(ctx context.Context, j *Job, known *State, now time.Time) error {
	d, err := j.challenge(ctx, known.Waiting, now)
	if d.waits || ctx.Err() != nil {
		return ctx.Err()
	}
	text := fmt.Sprintf("%s: certificate %.12s…", j.Name, known.Waiting)
	switch {
	case errors.Is(err, fs.ErrNotExist) && j.gone(ctx, known.Waiting):
		text += " is not current: it is not in the output any more"
	case err != nil:
		s.once(false, fmt.Sprintf("%s cannot be compared, and goes on waiting: %v", text, err))
		return nil
	case d.moved:
		text += " is now current: " + d.why
	default:
		text += " is not current: " + d.why
	}
	s.tell(false, text)
	r, err := j.last(func(r *pipeline.RunState) bool { return Certificate(r) == known.Waiting })
	if err == nil && r != nil {
		r.Scheduled.Current, r.Scheduled.Waits, r.Scheduled.Why = d.moved, false, d.why
		err = j.Output.PutRun(r)
	}
	if err != nil {
		return err
	}
	known.Waiting = ""
	return s.put(j, known)
}

// gone reports whether a certificate is no longer in the output, as when keep removed it.
func (j *Job) gone(ctx context.Context, id string) bool {
	_, err := j.Output.GetCertificate(ctx, id)
	return errors.Is(err, fs.ErrNotExist)
}

// Promote makes a certificate of an output the current one, as to roll back. The certificate
// must follow from its model and certify the judged predictor; else the pointer stays. before
// is the id of the one before, or says that there was none.
func Promote(ctx context.Context, out pipeline.Output, id string, who pipeline.Judge, now time.Time) (c certify.Certificate, before string, err error) {
	j := &Job{Output: out, Judge: who}
	if c, err = j.contender(ctx, id); err != nil {
		return c, "", err
	}
	before, err = held(out, func() (string, error) {
		if err := j.verify(ctx, c); err != nil {
			return "", err
		}
		if g := who.Of(c); !g.Status.Promises() {
			return "", pipeline.NotCertified("the pointer stays: the guarantee of %.12s… for the %s is %s", id, g.Predictor, g.Status)
		}
		before := "what could not be read"
		if current, err := out.Current(); err == nil {
			if before = "nothing"; current != nil {
				before = current.ID
			}
		}
		return before, pipeline.PointTo(out, c, pipeline.ArtifactRef{ID: id, Model: c.Model.Digest}, who, now)
	})
	return c, before, err
}
