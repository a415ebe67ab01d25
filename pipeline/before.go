package pipeline

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// finishedBefore returns the outcome of an earlier run of this job on the same files, or nil if there is none or a part
// of it is gone. It reads no row: files are the same if their names, sizes and footers are, and none was written since
// that run began.
func (s *stage) finishedBefore(ctx context.Context) (*Outcome, error) {
	files := s.first.Files()
	if s.how.Publisher != nil || files == nil { // it is unknown what the publisher has published
		return nil, nil
	}
	identity, err := s.job.Digest()
	if err != nil {
		return nil, err
	}
	all, err := s.out.Runs()
	if err != nil {
		return nil, err
	}
	for r := range all {
		if r.State != StateFinished || r.Exit == nil || r.Job != identity.String() || r.Record == nil || len(r.Artifacts) == 0 {
			continue
		}
		if slices.ContainsFunc(files, func(f dataset.File) bool { return !f.Modified.Before(r.Began) }) {
			return nil, nil
		}
		o, err := s.again(ctx, r, listed(files, s.how.Folder))
		if o == nil || err != nil {
			return nil, err
		}
		return o, s.unchanged(ctx, o)
	}
	return nil, nil
}

// again returns the outcome of a finished run, or nil if the run had other files or is not complete.
func (s *stage) again(ctx context.Context, r *RunState, files []dataset.ManifestFile) (*Outcome, error) {
	if s.how.Rejected != nil && !s.how.Rejected.Kept() { // a new run stores them again
		return nil, nil
	}
	made := r.Artifacts[0]
	c, err := s.out.GetCertificate(ctx, made.ID)
	if err != nil {
		return nil, ctx.Err()
	}
	list, err := s.out.GetManifest(c, made.ID)
	same := func(a, b dataset.ManifestFile) bool {
		return a.Path == b.Path && a.Bytes == b.Bytes && a.Rows == b.Rows && a.Footer == b.Footer
	}
	if err != nil || !slices.EqualFunc(list.Files, files, same) {
		return nil, ctx.Err()
	}
	m, err := s.out.GetModel(ctx, made.Model)
	if err == nil {
		_, err = Verify(ctx, c, m, made.Model, nil, s.how.Resources)
	}
	if err != nil {
		return nil, ctx.Err() // the files were changed since the run
	}
	if _, err := s.out.PutCertificate(ctx, c); err != nil { // adds the signature of another key
		return nil, err
	}
	if !reflect.DeepEqual(c.Delta.Sequence, s.job.Numbering) {
		return nil, nil // another position in a sequence, and so another share of delta
	}
	o := &Outcome{Result: &Result{ArtifactRef: made, Certificate: c, Model: m}, Record: *r.Record}
	o.concluded(s.how)
	current, damaged := s.out.Current()
	missing := damaged != nil || current == nil
	if o.Record.Exit == 0 && s.how.Conclude == nil && (missing || *r.Exit != 0) { // the limit has changed since
		err = PointTo(s.out, c, made, s.how.Required, time.Now())
	}
	return o, err
}

// unchanged warns that nothing is trained, and names the current certificate. It clears the checkpoint, which a run
// that was killed near its end may have left.
func (s *stage) unchanged(ctx context.Context, o *Outcome) error {
	current := "No certificate is current"
	if p, err := s.out.Current(); err != nil {
		current = err.Error()
	} else if p != nil {
		current = fmt.Sprintf("Current is certificate %.12s", p.ID)
		if o.Record.Exit == 0 {
			current += fmt.Sprintf(". To make this one current: pacsgp promote %.12s DIR", o.Result.ID)
		}
		if p.ID == o.Result.ID {
			current = "It is the current one"
		}
	}
	s.how.Observer.ReportWarning(fmt.Sprintf("this job has finished on these files before, with certificate %.12s: nothing is trained (the files are the same by path, size and footer). %s", o.Result.ID, current))
	return s.at.Clear(ctx)
}
