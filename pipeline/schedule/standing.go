package schedule

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/watch"
)

// A Standing summarises a job for an operator: how its runs have ended, and which model is current.
type Standing struct {
	Last      *pipeline.RunState // the newest run that has ended, or nil
	Succeeded time.Time          // end of the newest run with exit status 0; zero if there is none
	Current   *pipeline.Current  // nil if nothing is current
	Unmoved   int                // finished runs since Current became current that could not replace it
	Certified *pipeline.RunState // the newest run with a certificate, or nil
}

// Standing returns the job's standing, from the records of runs that the output still has.
func (j *Job) Standing() (at Standing, err error) {
	if at.Current, err = j.current(); err != nil {
		return at, err
	}
	all, err := j.Output.Runs()
	if err != nil {
		return at, err
	}
	for r := range all {
		if r.Scheduled == nil || r.Scheduled.Job != j.Name || r.Ended == nil {
			continue
		}
		at.Last = cmp.Or(at.Last, r)
		if at.Succeeded.IsZero() && r.State == pipeline.StateFinished && r.Exit != nil && *r.Exit == 0 {
			at.Succeeded = *r.Ended
		}
		if at.Certified == nil && Certificate(r) != "" {
			at.Certified = r
		}
		old := at.Current == nil || Certificate(r) == at.Current.ID || r.Ended.Before(at.Current.Since)
		if old && !at.Succeeded.IsZero() {
			break
		}
		if !old && r.State == pipeline.StateFinished && !r.Scheduled.Kept {
			at.Unmoved++
		}
	}
	return at, nil
}

// Due returns when the next run is due, or nil if no trigger has moments: then only new data make it due.
func (j *Job) Due(ctx context.Context, now time.Time) (*time.Time, error) {
	r, err := j.last(nil)
	if r != nil {
		return r.Scheduled.Due, nil
	}
	state, fault := j.state(ctx)
	if err = cmp.Or(err, fault); err != nil {
		return nil, err
	}
	return j.due(state, now), nil
}

// alarm returns an error if a watch that stores its state in the output has raised an alarm about the current model.
func (j *Job) alarm(ctx context.Context) error {
	current, err := j.Output.Current()
	if err != nil || current == nil {
		return nil //nolint:nilerr // runs say why no model is current
	}
	text, where, err := j.Output.Note(watch.StateFile)
	if err != nil || text == nil {
		return err
	}
	s, err := watch.Parse(text)
	if err != nil {
		return fmt.Errorf("%s: %s: %w (hint: restore it from a copy, or remove it, and test again)", j.Name, where, err)
	}
	c, _ := j.Output.GetCertificate(ctx, current.ID) // zero without one
	if why := s.Test(current.ID).Raised(c); why != "" {
		return pipeline.NotCertified("%s: alarm, certificate %.12s…: %s (hint: %s)", j.Name, current.ID, why, watch.Ends)
	}
	return nil
}

// Fault returns why the last run has failed and how to try it again, or "" if it has not failed.
func (at Standing) Fault() string {
	if at.Last == nil || at.Last.State != pipeline.StateFailed {
		return ""
	}
	return Words(at.Last) + "\nhint: " + TryAgain(at.Last.Scheduled.Job, at.Last.Scheduled.Due)
}

// TryAgain returns a hint on how to run a job at once, and when the schedule runs it, unless due is nil.
func TryAgain(job string, due *time.Time) string {
	text := "pacsgp schedule run " + job + " -c FILE tries it again now"
	if due != nil {
		text += ", the schedule at " + due.UTC().Format("2006-01-02 15:04 UTC")
	}
	return text
}

// Cause returns the cause of a run's failure as metrics name it, or "" if the run has not failed.
func Cause(r *pipeline.RunState) string {
	switch {
	case r.Exit == nil && r.State == pipeline.StateFailed:
		return "killed"
	case r.Exit == nil || *r.Exit == 0:
		return ""
	case *r.Exit == pipeline.ExitNotCertified:
		return "not_certified"
	case *r.Exit == pipeline.ExitConfig:
		return "job"
	case r.Scheduled.Sequence == 0:
		return "rows" // the rows could not be chosen
	default:
		return "run"
	}
}
