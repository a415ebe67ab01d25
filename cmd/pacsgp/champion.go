package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/pipeline"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// A contender is an artifact of an output directory.
type contender struct {
	pipeline.ArtifactRef
	certificate certify.Certificate
}

// contenderAt reads a certificate of an output, with the model's digest.
func contenderAt(ctx context.Context, folder, id string) (contender, error) {
	c, got, err := readCertificate(ctx, filepath.Join(folder, sinklake.CertificateName(id)))
	if err != nil {
		return contender{}, err
	}
	if got != id {
		return contender{}, fmt.Errorf("%s: its id is %s", sinklake.CertificateName(id), got)
	}
	if err := certify.Recompute(c); err != nil {
		return contender{}, fmt.Errorf("%s: %w", sinklake.CertificateName(id), err)
	}
	return contender{pipeline.ArtifactRef{ID: id, Model: c.Model.Digest}, c}, nil
}

// challenge decides by the job's rule whether a certified result becomes current, moves
// the pointer if so, and says why.
func (s *scheduler) challenge(ctx context.Context, j *scheduled, known *jobState, p prepared, o *outcome) (moved bool, why string, err error) {
	challenger := contender{pipeline.ArtifactRef{ID: o.Result.ID, Model: o.Result.ModelDigest}, o.Result.Certificate}
	current, err := sinklake.ReadPointer(nil, p.Output)
	if err != nil {
		return false, "", err
	}
	if current == nil {
		return true, "nothing was current", pointTo(p, challenger)
	}
	if current.ID == challenger.ID {
		return true, "it was current", nil
	}
	champion, err := contenderAt(ctx, p.Output, current.ID)
	if err != nil {
		return false, "", err
	}
	if why := pipeline.Incomparable(champion.certificate, challenger.certificate, p.Judge); why != "" {
		return false, "it cannot be compared with the current one: " + why, nil
	}
	better, why := byBound(j.Promote, p.Judge.Of(champion.certificate).Bound, p.Judge.Of(challenger.certificate).Bound)
	if j.Promote.Rule == config.PromoteRows {
		better, why, err = j.onNewRows(ctx, p, champion, challenger)
		if errors.Is(err, errTooFew) {
			known.Waiting, better, why, err = challenger.ID, false, err.Error(), nil
		}
	}
	if err != nil || !better {
		return false, why, err
	}
	return true, why, pointTo(p, challenger)
}

// byBound compares two bounds by a rule that asks for nothing else.
func byBound(p config.Promotion, champion, challenger float64) (bool, string) {
	words := fmt.Sprintf("its bound is %s, that of the one before %s", certify.AtMost(challenger), certify.AtMost(champion))
	if p.Rule == config.PromoteBound {
		return challenger <= champion+*p.NotWorseBy, words
	}
	return true, words // within a limit it is, as it is certified
}

// errTooFew says that there are not yet rows to compare on.
var errTooFew = errors.New("it waits for rows that are new to both")

// onNewRows compares two models on rows of the lake that are in neither sample.
func (j *scheduled) onNewRows(ctx context.Context, p prepared, champion, challenger contender) (bool, string, error) {
	all, err := j.lakeNow(ctx)
	if err != nil {
		return false, "", err
	}
	known := map[string]bool{}
	for _, c := range []contender{champion, challenger} {
		list, err := sinklake.ReadManifest(nil, filepath.Join(p.Output, sinklake.ManifestName(c.ID)), c.certificate, c.ID)
		if err != nil {
			return false, "", err
		}
		for _, f := range list.Files {
			known[contentOf(f)] = true
		}
	}
	var fresh config.Lake
	var rows int64
	for _, f := range all {
		if !known[contentOf(f.ManifestFile)] {
			fresh, rows = append(fresh, f.path), rows+f.Rows
		}
	}
	if rows < j.Promote.OnNewRows {
		return false, "", fmt.Errorf("%w: there are %d of %d", errTooFew, rows, j.Promote.OnNewRows)
	}
	var losses [2]float64
	for i, c := range []contender{champion, challenger} {
		if losses[i], rows, err = lossOn(ctx, p, c, fresh); err != nil {
			return false, "", err
		}
	}
	return losses[1] <= losses[0], fmt.Sprintf("on %s that are new to both it loses %.4g, the one before %.4g", certify.Count(rows, "row"), losses[1], losses[0]), nil
}

// contentOf names a file wherever it stands, as far as its footer tells its content.
func contentOf(f pipeline.ManifestFile) string { return fmt.Sprintf("%d %s", f.Bytes, f.Footer) }

// lossOn is what the judged predictor of a model loses on rows, without the bad ones that
// the job tolerates, and on how many.
func lossOn(ctx context.Context, p prepared, c contender, rows config.Lake) (float64, int64, error) {
	m, digest, err := readModel(ctx, filepath.Join(p.Output, sinklake.ModelName(c.Model)))
	if err != nil {
		return 0, 0, err
	}
	if digest != c.Model {
		return 0, 0, fmt.Errorf("the model of %s has the SHA-256 %s, not %s", c.ID, digest, c.Model)
	}
	src, err := rows.Open(ctx, pipeline.Choice{Features: m.Meta.FeatureNames(), Target: m.Meta.Target.Name, Mark: p.Job.BadRows.Some()})
	if err != nil {
		return 0, 0, err
	}
	found, err := pipeline.EvaluateGood(ctx, src, m, p.Resources.Workers)
	if p.Judge == pipeline.JudgeDraw {
		return found.Draw, found.Rows, err
	}
	return found.Mean, found.Rows, err
}

// wait compares the challenger that waits for new rows, if they have come.
func (s *scheduler) wait(ctx context.Context, j *scheduled, known *jobState) error {
	p := j.prepared
	decide := func() (bool, string, error) {
		challenger, err := contenderAt(ctx, p.Output, known.Waiting)
		if err != nil {
			return false, "", err
		}
		current, err := sinklake.ReadPointer(nil, p.Output)
		if err != nil {
			return false, "", err
		}
		if current == nil {
			return true, "nothing was current", pointTo(p, challenger)
		}
		champion, err := contenderAt(ctx, p.Output, current.ID)
		if err != nil {
			return false, "", err
		}
		if why := pipeline.Incomparable(champion.certificate, challenger.certificate, p.Judge); why != "" {
			return false, "it cannot be compared with the current one: " + why, nil
		}
		better, why, err := j.onNewRows(ctx, p, champion, challenger)
		if err == nil && better {
			err = pointTo(p, challenger)
		}
		return better, why, err
	}
	better, why, err := decide()
	if errors.Is(err, errTooFew) || ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, fs.ErrNotExist) && !present(p.Output, known.Waiting) { // keep has removed it
		better, why, err = false, "it is not in the output any more", nil
	}
	text := fmt.Sprintf("%s: certificate %.12s… is not current: %s", j.Name, known.Waiting, why)
	switch {
	case err != nil:
		s.once(fmt.Sprintf("%s: certificate %.12s… cannot be compared, and goes on waiting: %v", j.Name, known.Waiting, err))
		return nil
	case better:
		text = fmt.Sprintf("%s: certificate %.12s… is now current: %s", j.Name, known.Waiting, why)
	}
	s.say(text)
	run := s.record.kept(known.WaitingRun)
	if run != nil && run.Certificate == known.Waiting {
		run.Current, run.Why = better, why
	}
	known.Waiting, known.WaitingRun = "", 0
	return s.record.save(j.Name, known, run, nil)
}

// present reports whether an output has a certificate.
func present(folder, id string) bool {
	_, err := os.Stat(filepath.Join(folder, sinklake.CertificateName(id)))
	return !errors.Is(err, fs.ErrNotExist)
}

// pointTo moves the pointer of an output to one of its artifacts.
func pointTo(p prepared, to contender) (err error) {
	out := p.held
	if out == nil {
		out = sinklake.NewOutput(p.Output, nil)
	}
	release, err := out.Hold()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	return pipeline.PointTo(out, to.certificate, to.ArtifactRef, p.Judge, time.Now())
}

// promoted moves the pointer of a folder to the artifact of which the id begins so.
func promoted(ctx context.Context, w system, folder, id string, who pipeline.Judge) (err error) {
	whole, err := idIn(folder, id)
	if err != nil {
		return err
	}
	to, err := contenderAt(ctx, folder, whole)
	if err != nil {
		return err
	}
	out := sinklake.NewOutput(folder, w.fs)
	release, err := out.Hold()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	m, digest, err := readModel(ctx, filepath.Join(folder, sinklake.ModelName(to.Model)))
	if err != nil {
		return err
	}
	res, err := budgetOf("", 1)
	if err != nil {
		return err
	}
	if _, err := pipeline.Verify(ctx, to.certificate, m, digest, nil, res); err != nil {
		return err
	}
	if g := who.Of(to.certificate); g.Status != certify.StatusCertified {
		return pipeline.NotCertified("%s stays as it is: the guarantee of %.12s… for the %s is %s", sinklake.CurrentFile, whole, g.Predictor, g.Status)
	}
	before, damaged := sinklake.ReadPointer(nil, folder) // which is replaced
	if err := pipeline.PointTo(out, to.certificate, to.ArtifactRef, who, time.Now()); err != nil {
		return err
	}
	show := newDisplay(w)
	defer show.end()
	for _, text := range cautions(to.certificate) {
		show.notice(text)
	}
	from := "nothing"
	if damaged != nil {
		from = "what could not be read"
	}
	if before != nil {
		from = before.ID
	}
	_, err = fmt.Fprintf(w.stdout, "%s: now %s, before %s\n", filepath.Join(folder, sinklake.CurrentFile), whole, from)
	return err
}

// idIn is the id of the one certificate in a folder that begins so.
func idIn(folder, begin string) (string, error) {
	all, err := sinklake.Certificates(realFiles(), folder)
	if err != nil {
		return "", err
	}
	found := slices.DeleteFunc(all, func(id string) bool { return !strings.HasPrefix(id, begin) })
	switch {
	case len(found) == 1 && len(begin) >= 6:
		return found[0], nil
	case len(found) > 1 || len(begin) < 6:
		return "", usageError{fmt.Errorf("%q: want the id of one certificate in %s, or six digits or more of its beginning", begin, folder)}
	default:
		return "", fmt.Errorf("%s: there is no certificate with the id %s", folder, begin)
	}
}
