package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/pipeline"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// A pointer says which certified model is current. It is a file of the output, replaced
// in one step, and only when all that it names is there.
type pointer struct {
	Format      string       `json:"format"`
	ID          string       `json:"id"` // of the certificate
	Certificate string       `json:"certificate"`
	Model       string       `json:"model"`
	Predictor   config.Judge `json:"predictor"` // that the bound is of
	Bound       float64      `json:"bound"`
	Since       time.Time    `json:"since"`
}

const (
	pointerFormat = "pacsgp-current/1"
	currentFile   = "current.json"
)

// A runState is one of many records: of one run, from its begin on.
type runState struct {
	Format    string        `json:"format"`
	Run       string        `json:"run"`
	State     state         `json:"state"`
	Job       string        `json:"job"` // digest of the configuration, of a sweep as a whole
	Began     time.Time     `json:"began"`
	Ended     *time.Time    `json:"ended,omitempty"`
	Exit      *int          `json:"exit_status,omitempty"` // once it is finished
	Fault     string        `json:"fault,omitempty"`       // why it failed, or finished with another status than 0
	Artifacts []artifactRef `json:"artifacts"`             // what it published, the best first
	Record    *runRecord    `json:"record,omitempty"`      // of a finished run

	name string // of its file
}

type state string

const (
	stateRunning  state = "running"
	stateFailed   state = "failed"
	stateFinished state = "finished"
)

const runStateFormat = "pacsgp-run-state/1"

// An artifactRef names a certificate and its model by their content.
type artifactRef struct {
	ID    string `json:"id"`
	Model string `json:"model"` // SHA-256
}

// maxRecord bounds a record, whose longest part is a line for each step of training.
const maxRecord = 64 << 20

var runStateName = regexp.MustCompile(`^run-[0-9]{8}T[0-9]{6}\.[0-9]{9}Z-[0-9a-f]+\.json$`)

// begin records that a run has begun. The record of one that was killed is closed first:
// this process has the lock of the output, so that it is not at work.
func (o *output) begin(run string, job pipeline.Job, now time.Time) (*runState, error) {
	identity, err := job.Identity()
	if err != nil {
		return nil, err
	}
	all, err := runsIn(o.path)
	if err != nil {
		return nil, err
	}
	for r := range all { // the newest: an older one was closed before it
		if r.State == stateRunning {
			if err := r.end(o, stateFailed, nil, errors.New("it was killed, or could not write its end"), now); err != nil {
				return nil, err
			}
		}
		break
	}
	began := now.UTC()
	r := &runState{
		Format: runStateFormat, Run: run, State: stateRunning, Job: identity.String(), Began: began, Artifacts: []artifactRef{},
		name: fmt.Sprintf("run-%s-%s.json", began.Format("20060102T150405.000000000Z"), run),
	}
	return r, r.put(o)
}

// failed closes the record of a run that ended with an error, if there is one. A record
// that cannot be written is closed by the next run.
func (r *runState) failed(o *output, err error) {
	if err != nil {
		_ = r.end(o, stateFailed, nil, err, time.Now())
	}
}

func (r *runState) put(o *output) error {
	doc, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("run record: %w", err)
	}
	return o.dir.Put(r.name, append(doc, '\n'))
}

// end closes a record: with the exit status of a finished run, or with the fault of one
// that failed.
func (r *runState) end(o *output, s state, exit *int, fault error, now time.Time) error {
	now = now.UTC()
	r.State, r.Ended, r.Exit = s, &now, exit
	if fault != nil {
		r.Fault = shortened(fault.Error())
	}
	return r.put(o)
}

// runsIn are the records of runs in a folder, the newest first, each read when it is asked
// for. What has the name of one and cannot be read is passed over.
func runsIn(folder string) (iter.Seq[*runState], error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return func(yield func(*runState) bool) {
		for _, e := range slices.Backward(entries) { // names begin with the time
			if !runStateName.MatchString(e.Name()) {
				continue
			}
			var r runState
			data, err := readSmall(filepath.Join(folder, e.Name()), "a run record", maxRecord)
			if err != nil || json.Unmarshal(data, &r) != nil || r.Format != runStateFormat {
				continue
			}
			if r.name = e.Name(); !yield(&r) {
				return
			}
		}
	}, nil
}

// readPointer reads what is current in a folder; nil if nothing is.
func readPointer(folder string) (*pointer, error) {
	path := filepath.Join(folder, currentFile)
	data, err := readSmall(path, "a pointer", 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var p pointer
	if err := json.Unmarshal(data, &p); err != nil || p.Format != pointerFormat {
		return nil, fmt.Errorf("%s: it is no pointer of the format %s", path, pointerFormat)
	}
	for _, name := range []string{p.Certificate, p.Model} {
		if name == "" || name != filepath.Base(name) {
			return nil, fmt.Errorf("%s: %q is no name of a file beside it", path, name)
		}
	}
	return &p, nil
}

// point moves the pointer to an artifact that is in the output, whole.
func (o *output) point(c certify.Certificate, a artifactRef, who config.Judge, now time.Time) error {
	model, certificate, _ := publishedNames(a.ID, a.Model)
	p := pointer{pointerFormat, a.ID, certificate, model, who, judge(who, c).Bound, now.UTC().Truncate(time.Second)}
	if old, err := readPointer(o.path); err == nil && old != nil && old.ID == p.ID && old.Predictor == p.Predictor {
		return nil
	}
	doc, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return o.dir.Put(currentFile, append(doc, '\n'))
}

// judged writes into the record what the exit status is, and why.
func (o *outcome) judged(p prepared) {
	o.record.Exit, o.record.Fault = 0, ""
	if verdict := o.verdict(p); verdict != nil {
		o.record.Exit, o.record.Fault = status(verdict), verdict.Error()
	}
}

// finish records what a run has come to, and moves the pointer if its status is 0 and
// it may: last of all the record says that it is finished.
func (o *outcome) finish(to *output, r *runState, p prepared, refs []artifactRef) error {
	verdict := o.verdict(p)
	best := artifactRef{o.result.ID, o.result.ModelDigest}
	r.Artifacts = append([]artifactRef{best}, slices.DeleteFunc(refs, func(a artifactRef) bool { return a == best })...)
	if verdict == nil && !p.standing {
		if err := to.point(o.result.Certificate, best, p.Judge, time.Now()); err != nil {
			return err
		}
	}
	r.Record = &o.record
	if err := r.end(to, stateFinished, &o.record.Exit, verdict, time.Now()); err != nil {
		return err
	}
	return to.retain(p.Keep)
}

// retain keeps the newest so many finished runs with what they published, and all runs
// that are newer than these. What a pointer or a kept run names stays.
func (o *output) retain(keep int) error {
	if keep == 0 {
		return nil
	}
	all, err := runsIn(o.path)
	if err != nil {
		return err
	}
	current, err := readPointer(o.path)
	if err != nil {
		return err
	}
	certificates, models := map[string]bool{}, map[string]bool{}
	if current != nil {
		certificates[current.ID], models[current.Model] = true, true
	}
	finished := 0
	var old []*runState
	for r := range all {
		if finished >= keep {
			old = append(old, r)
			continue
		}
		if r.State == stateFinished {
			finished++
		}
		for _, a := range r.Artifacts {
			certificates[a.ID], models[sinklake.ModelName(a.Model)] = true, true
		}
	}
	// All certificates first, for a model without one is not published; the records last,
	// for they name what is still there.
	var without, records []string
	for _, r := range old {
		stays := false
		for _, a := range r.Artifacts {
			stays = stays || current != nil && a.ID == current.ID // the record says where the current model comes from
			if certificates[a.ID] {
				continue
			}
			for _, name := range artifactNames(a.ID) {
				if err := o.dir.Remove(name); err != nil {
					return err
				}
			}
			if name := sinklake.ModelName(a.Model); !models[name] {
				without = append(without, name)
			}
		}
		if !stays {
			records = append(records, r.name)
		}
	}
	for _, name := range append(without, records...) {
		if err := o.dir.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

// finishedBefore is the outcome of an earlier run of this job on the same files, if all
// of it is still there; nil if there is none. No row is read: files are the same if their
// names, sizes and footers are, and none was written since that run began.
func (o *output) finishedBefore(ctx context.Context, p prepared, files []ingestlake.File) (*outcome, error) {
	if p.Shelf != nil { // what is on the topics is not known here
		return nil, nil
	}
	identity, err := p.Job.Identity()
	if err != nil {
		return nil, err
	}
	all, err := runsIn(o.path)
	if err != nil {
		return nil, err
	}
	for r := range all {
		if r.State != stateFinished || r.Exit == nil || r.Job != identity.String() || r.Record == nil || len(r.Artifacts) == 0 {
			continue
		}
		here := listed(files, p.Folder)
		if err := stamp(here, files); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(here, func(f manifestFile) bool { return !f.Modified.Before(r.Began) }) {
			return nil, nil
		}
		return o.again(ctx, p, r, here)
	}
	return nil, nil
}

// again is the outcome of a finished run, nil if it was on other files or is not whole.
func (o *output) again(ctx context.Context, p prepared, r *runState, files []manifestFile) (*outcome, error) {
	if len(p.Job.Sweep) > 0 && r.Record.Judge != p.Judge { // another alternative may be the best
		return nil, nil
	}
	if p.BadRows != "" {
		if _, err := os.Stat(p.BadRows); err != nil {
			return nil, nil //nolint:nilerr // it is to be written again
		}
	}
	for _, a := range r.Artifacts {
		c, id, err := readCertificate(ctx, o.dir.Path(sinklake.CertificateName(a.ID)))
		if err != nil || id != a.ID {
			return nil, ctx.Err()
		}
		list, err := readManifest(o.dir.Path(manifestName(a.ID)), c, id)
		if err != nil || !list.holds(files) {
			return nil, ctx.Err()
		}
	}
	best := r.Artifacts[0]
	c, _, err := readCertificate(ctx, o.dir.Path(sinklake.CertificateName(best.ID)))
	if err != nil {
		return nil, err
	}
	m, digest, err := readModel(ctx, o.dir.Path(sinklake.ModelName(best.Model)))
	if err != nil || digest != best.Model {
		return nil, ctx.Err()
	}
	if _, err := pipeline.Verify(ctx, c, m, digest, nil, p.Resources); err != nil {
		return nil, ctx.Err() // not what a run has written
	}
	if !reflect.DeepEqual(c.Delta.Sequence, p.Job.Sequence()) {
		return nil, nil // it has another place, and so another share of delta
	}
	record := *r.Record
	record.Judge, record.Limit = p.Judge, p.Limit
	g := judge(p.Judge, c)
	record.Status, record.Bound = g.Status, g.Bound
	found := &outcome{
		result: &pipeline.Result{Certificate: c, ID: best.ID, ModelDigest: best.Model, Model: m},
		record: record, output: p.Output, source: p.Source,
	}
	found.judged(p)
	current, damaged := readPointer(o.path)
	missing := damaged != nil || current == nil
	if found.record.Exit == 0 && !p.standing && (missing || *r.Exit != 0) { // or by another limit than then
		err = o.point(c, best, p.Judge, time.Now())
	}
	return found, err
}
