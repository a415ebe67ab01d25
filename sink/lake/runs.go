package lake

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"regexp"
	"slices"

	"github.com/pacsgp/pacsgp/pipeline"
)

// maxRecord bounds a run record, in bytes. Its longest part is a line for each step of training.
const maxRecord = 64 << 20

var runStateName = regexp.MustCompile(`^run-[0-9]{8}T[0-9]{6}\.[0-9]{9}Z-[0-9a-f]+\.json$`)

// RunStateName returns the file name of a run's record. Names sort by the time when the run began.
func RunStateName(r *pipeline.RunState) string {
	return fmt.Sprintf("run-%s-%s.json", r.Began.UTC().Format("20060102T150405.000000000Z"), r.Run)
}

// IsRunState reports whether name is the file name of a run's record.
func IsRunState(name string) bool { return runStateName.MatchString(name) }

// PutRun stores the record of a run.
func (o *Output) PutRun(r *pipeline.RunState) error { return o.putSealed(RunStateName(r), r) }

// Runs returns the run records of the output, newest first. Each is read on demand; unreadable ones are skipped.
func (o *Output) Runs() (iter.Seq[*pipeline.RunState], error) {
	names, err := o.fs.List(o.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	slices.Sort(names)
	return func(yield func(*pipeline.RunState) bool) {
		for _, name := range slices.Backward(names) {
			if !runStateName.MatchString(name) {
				continue
			}
			var r pipeline.RunState
			err := readJSON(o.fs, o.Path(name), maxRecord, &r)
			if err != nil || r.Format != pipeline.RunStateFormat || RunStateName(&r) != name {
				continue
			}
			if !yield(&r) {
				return
			}
		}
	}, nil
}

// Retain removes runs that are older than the newest keep finished ones: their artifacts and
// records. It leaves artifacts that the pointer or a retained run names, and the record of the
// newest run of each sequence, since its files give the order of the next sample.
func (o *Output) Retain(keep int) error {
	all, err := o.Runs()
	if err != nil {
		return err
	}
	current, err := o.Current()
	if err != nil {
		return err
	}
	certificates, models := map[string]bool{}, map[string]bool{}
	if current != nil {
		certificates[current.ID], models[current.Model] = true, true
	}
	finished, numbered, newest := 0, map[string]bool{}, map[*pipeline.RunState]bool{}
	var old []*pipeline.RunState
	for r := range all {
		if current == nil && r.Promoted() != "" {
			return nil // the pointer is lost: it may have named an artifact of any run
		}
		if of := r.Scheduled; of != nil && of.Sequence > 0 && !numbered[of.Job] {
			numbered[of.Job], newest[r] = true, true
		}
		if finished >= keep {
			old = append(old, r)
			continue
		}
		if r.State == pipeline.StateFinished {
			finished++
		}
		for _, a := range r.Artifacts {
			certificates[a.ID], models[a.Model] = true, true
		}
	}
	names, err := o.fs.List(o.path)
	if err != nil {
		return err
	}
	for _, name := range obsolete(names, old, newest, current, certificates, models) {
		if err := o.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

// obsolete returns the files of old runs to remove: first certificates, since a model without one
// is not published, and last the records, since they name the other files.
func obsolete(names []string, old []*pipeline.RunState, newest map[*pipeline.RunState]bool, current *pipeline.Current, certificates, models map[string]bool) []string {
	var first, without, records []string
	for _, r := range old {
		stays := newest[r]
		for _, a := range r.Artifacts {
			stays = stays || current != nil && a.ID == current.ID // the record tells how the current model was made
			if certificates[a.ID] {
				continue
			}
			first = append(append(first, CertificateName(a.ID), RowName(a.ID), ManifestName(a.ID)), signaturesOf(names, a.ID)...)
			if !models[a.Model] {
				without = append(without, ModelName(a.Model))
			}
		}
		if !stays {
			records = append(records, RunStateName(r))
		}
	}
	return slices.Concat(first, without, records)
}
