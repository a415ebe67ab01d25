package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
)

// A scheduleRecord is the record of a schedule: a folder, which one scheduler at a time
// holds. It has a small file for each job, with the job's state and its latest run, and one
// for each run that is over. All that a scheduler decides follows from it, from the outputs
// and from the time.
//
// A change is one file that is replaced: state and run of a job change together. A run gets
// its own file before the next one takes its place.
type scheduleRecord struct {
	folder string
	lock   io.Closer // nil: it is only read
	fs     durable.FS
	// step takes each step towards a durable record; tests end the process there.
	step func(effect func() error) error
}

const (
	jobPrefix = "job-"
	maxState  = 256 << 20
)

var runName = regexp.MustCompile(`^run-[0-9]{12}\.json$`)

// readRecord opens a record to be read, also while a scheduler holds it.
func readRecord(path string) (*scheduleRecord, error) {
	if err := isRecord(path); err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: there is no record yet (hint: the first run makes it)", path)
	}
	return &scheduleRecord{folder: path, fs: durable.OS{}}, nil
}

// isRecord refuses what is no folder.
func isRecord(path string) error {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return fmt.Errorf("%s: it is a file, as earlier versions had, and a record is a folder now (hint: name another one under record; the outputs know which numbers are taken and how far windows are)", path)
	}
	return nil
}

// openRecord opens the record, and holds its lock until Close.
func openRecord(path string) (*scheduleRecord, error) {
	if err := isRecord(path); err != nil {
		return nil, err
	}
	r := &scheduleRecord{folder: path, fs: durable.OS{}, step: func(effect func() error) error { return effect() }}
	if err := r.fs.MkdirAll(path); err != nil {
		return nil, err
	}
	var err error
	if r.lock, err = r.fs.Lock(filepath.Join(path, ".lock")); errors.Is(err, durable.ErrLocked) {
		return nil, fmt.Errorf("%s: %w\nhint: one scheduler has the record; wait until it has ended, or end it", path, durable.ErrLocked)
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := durable.Sweep(r.fs, path); err != nil {
		return nil, errors.Join(err, r.lock.Close())
	}
	return r, nil
}

// Close gives the record back.
func (r *scheduleRecord) Close() error {
	if r.lock == nil {
		return nil
	}
	return r.lock.Close()
}

// A jobState is what is known of a job between its runs.
type jobState struct {
	sequenceState

	Last    map[string]time.Time `json:"last"` // moment that was dealt with last, by trigger
	Open    uint64               `json:"open"` // the run that has begun and not ended; 0: none
	Retry   *retry               `json:"retry,omitempty"`
	Done    string               `json:"done"`    // digest of what the run that finished last took
	Waiting string               `json:"waiting"` // id of a certificate that waits for rows to be compared on

	WaitingRun uint64    `json:"waiting_run,omitempty"` // that it is of
	Unchosen   int       `json:"unchosen,omitempty"`    // runs in a row whose files, or window, could not be chosen
	NotBefore  time.Time `json:"not_before,omitzero"`   // rows, files and offsets are not counted again
	Fault      string    `json:"fault,omitempty"`       // why

	Latest     *scheduledRun `json:"latest,omitempty"`      // the run that was recorded last
	Began      uint64        `json:"began,omitempty"`       // the run that has chosen files last
	TakenFiles []string      `json:"taken_files,omitempty"` // keys of files that finished runs have taken

	Files []pipeline.ManifestFile `json:"-"` // of the run that has chosen files last

	there int64 // the largest number that the output knew of when it was asked
}

// A retry is a run that is to be tried again.
type retry struct {
	At      time.Time `json:"at"`
	Tries   int       `json:"tries"` // that have failed
	Kills   int       `json:"kills,omitempty"`
	Trigger string    `json:"trigger"`
	Moment  time.Time `json:"moment"`
}

// A scheduledRun is the record of one run, or of why there was none.
type scheduledRun struct {
	Number      uint64                  `json:"number"` // in this record
	Job         string                  `json:"job"`
	Trigger     string                  `json:"trigger"`
	Moment      time.Time               `json:"moment"` // that it was due
	Missed      int                     `json:"missed"` // moments that it stands for beside its own
	Try         int                     `json:"try"`
	Kills       int                     `json:"kills,omitempty"` // of this try that ended with their scheduler
	State       pipeline.State          `json:"state"`
	Began       time.Time               `json:"began"`
	Ended       *time.Time              `json:"ended,omitempty"`
	Exit        *int                    `json:"exit_status,omitempty"`
	Fault       string                  `json:"fault,omitempty"`
	Sequence    int64                   `json:"sequence,omitempty"` // of the certificate
	Files       []pipeline.ManifestFile `json:"files"`
	Window      *config.TopicWindow     `json:"window,omitempty"` // of a topic
	Certificate string                  `json:"certificate,omitempty"`
	Current     bool                    `json:"current"`       // whether it has become current
	Why         string                  `json:"why,omitempty"` // or why not
}

// Further states of a scheduled run.
const (
	stateSkipped pipeline.State = "skipped" // missed, and not made up for
	stateNothing pipeline.State = "nothing" // there was no new row

	stateInterrupted pipeline.State = "interrupted" // the scheduler was told to end
)

// mostRuns is how many runs the record keeps, each with its files.
const mostRuns = 1000

// jobFileOf is the file of a job. Names of jobs may have any characters and lengths.
func (r *scheduleRecord) jobFileOf(name string) string {
	return filepath.Join(r.folder, jobPrefix+hexOf([]byte(name))[:32]+".json")
}

func (r *scheduleRecord) runFileOf(number uint64) string {
	return filepath.Join(r.folder, fmt.Sprintf("run-%012d.json", number))
}

// read reads a file of the record into value; false: there is none.
func (r *scheduleRecord) read(path string, value any) (bool, error) {
	text, err := durable.ReadSmall(path, "a record", maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		if err = json.Unmarshal(text, value); err != nil {
			err = fmt.Errorf("%s: %w (hint: it is damaged: restore it from a copy, or name another record; the outputs know which numbers are taken)", path, err)
		}
	}
	return err == nil, err
}

// put replaces a file of the record.
func (r *scheduleRecord) put(path string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return r.step(func() error { return durable.WriteFile(r.fs, path, text) })
}

// job returns what is known of a job.
func (r *scheduleRecord) job(name string) (*jobState, error) {
	s := &jobState{}
	if _, err := r.read(r.jobFileOf(name), s); err != nil {
		return nil, err
	}
	if s.Last == nil {
		s.Last = map[string]time.Time{}
	}
	if s.Numbers == nil {
		s.Numbers = map[string]int64{}
	}
	if s.Began > 0 { // without its files the next sample would have another order, and rows other roles
		run, err := r.run(s.Began)
		if err != nil {
			return nil, fmt.Errorf("%s: the run that %s began last: %w (hint: restore it from a copy, or name another record)", r.folder, name, err)
		}
		s.Files = run.Files
	}
	return s, nil
}

// save writes the state of a job, and a run and the files that it has taken if there is
// one, in one step. A run without a number gets the next.
func (r *scheduleRecord) save(name string, s *jobState, run *scheduledRun, taken []pipeline.ManifestFile) error {
	before := s.Latest
	if run != nil {
		if run.Number == 0 {
			last, err := r.last()
			if err != nil {
				return err
			}
			run.Number = last + 1
			if run.State == pipeline.StateRunning {
				s.Open, s.Began = run.Number, run.Number
			}
		}
		if before != nil && before.Number < run.Number { // its own file, before the next takes its place
			if err := r.keep(before); err != nil {
				return err
			}
		}
		if before == nil || before.Number <= run.Number {
			s.Latest = run
		} else if err := r.keep(run); err != nil { // what came of an older one
			return err
		}
	}
	for _, f := range taken {
		if key := takenKey(f); !slices.Contains(s.TakenFiles, key) {
			s.TakenFiles = append(s.TakenFiles, key)
		}
	}
	return r.put(r.jobFileOf(name), s)
}

// keep writes the file of a run, and removes those of runs that are too old, but for the
// ones that jobs began last: the order of their files is that of the next sample.
func (r *scheduleRecord) keep(run *scheduledRun) error {
	if err := r.put(r.runFileOf(run.Number), run); err != nil || run.Number <= mostRuns {
		return err
	}
	states, err := r.states()
	if err != nil {
		return err
	}
	names, err := r.fs.List(r.folder)
	if err != nil {
		return err
	}
	oldest := filepath.Base(r.runFileOf(run.Number - mostRuns + 1))
	for _, name := range names {
		began := func(s *jobState) bool { return name == filepath.Base(r.runFileOf(s.Began)) }
		if !runName.MatchString(name) || name >= oldest || slices.ContainsFunc(states, began) {
			continue
		}
		if err := r.fs.Remove(filepath.Join(r.folder, name)); err != nil {
			return err
		}
	}
	return nil
}

// last is the largest number of a run.
func (r *scheduleRecord) last() (last uint64, err error) {
	latest, err := r.latest()
	for _, run := range latest {
		last = max(last, run.Number)
	}
	return last, err
}

// latest are the latest runs of the jobs.
func (r *scheduleRecord) latest() (all []*scheduledRun, err error) {
	states, err := r.states()
	for _, s := range states {
		if s.Latest != nil {
			all = append(all, s.Latest)
		}
	}
	return all, err
}

// states are what is known of all jobs that the record has.
func (r *scheduleRecord) states() (all []*jobState, err error) {
	names, err := r.fs.List(r.folder)
	for _, name := range names {
		if !strings.HasPrefix(name, jobPrefix) {
			continue
		}
		var s jobState
		if _, err := r.read(filepath.Join(r.folder, name), &s); err != nil {
			return nil, err
		}
		all = append(all, &s)
	}
	return all, err
}

// takenKey names a file by place and content.
func takenKey(f pipeline.ManifestFile) string {
	return hexOf(fmt.Appendf(nil, "%s\x00%d\x00%s", f.Path, f.Bytes, f.Footer))[:24]
}

// taken reports which files a finished run of the job has taken.
func (r *scheduleRecord) taken(job string, files []pipeline.ManifestFile) ([]bool, error) {
	s, err := r.job(job)
	if err != nil {
		return nil, err
	}
	known, found := map[string]bool{}, make([]bool, len(files))
	for _, key := range s.TakenFiles {
		known[key] = true
	}
	for i, f := range files {
		found[i] = known[takenKey(f)]
	}
	return found, nil
}

// run returns the record of a run.
func (r *scheduleRecord) run(number uint64) (*scheduledRun, error) {
	latest, err := r.latest()
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(latest, func(run *scheduledRun) bool { return run.Number == number }); i >= 0 {
		return latest[i], nil
	}
	run := &scheduledRun{}
	there, err := r.read(r.runFileOf(number), run)
	if err == nil && !there {
		err = fmt.Errorf("run %d: %w", number, fs.ErrNotExist)
	}
	return run, err
}

// kept is run of one that may have gone from the record; nil: it has, or cannot be read.
func (r *scheduleRecord) kept(number uint64) *scheduledRun {
	run, err := r.run(number)
	if err != nil {
		return nil
	}
	return run
}

// runs returns all runs, the first one first.
func (r *scheduleRecord) runs() ([]scheduledRun, error) {
	all := map[uint64]scheduledRun{}
	names, err := r.fs.List(r.folder)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		var run scheduledRun
		if !runName.MatchString(name) {
			continue
		}
		if _, err := r.read(filepath.Join(r.folder, name), &run); err != nil {
			return nil, err
		}
		all[run.Number] = run
	}
	latest, err := r.latest() // later than their files, if they have any
	for _, run := range latest {
		all[run.Number] = *run
	}
	sorted := make([]scheduledRun, 0, len(all))
	for _, run := range all {
		sorted = append(sorted, run)
	}
	slices.SortFunc(sorted, func(a, b scheduledRun) int { return cmp.Compare(a.Number, b.Number) })
	return sorted, err
}
