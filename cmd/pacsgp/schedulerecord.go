package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
)

// A scheduleRecord is the record of runs of a schedule: a file of bbolt, which one process
// at a time has. Everything that a scheduler decides follows from it and from the time.
//
// What others may read while a scheduler has it is a copy, which is made anew with each
// change.
type scheduleRecord struct {
	db   *bbolt.DB
	path string // of the copy; "": this is one
	// step takes each step towards a durable record; tests end the process there.
	step func(effect func() error) error
}

// copyOf is where the copy of a record stands.
func copyOf(path string) string { return path + ".copy" }

// readRecord opens a record to be read: the copy, where a scheduler has the record.
func readRecord(path string) (*scheduleRecord, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: there is no record yet (hint: the first run makes it)", path)
	}
	r, err := openRecord(path)
	if !errors.Is(err, durable.ErrLocked) {
		return r, err
	}
	db, err := bbolt.Open(copyOf(path), 0o644, &bbolt.Options{Timeout: time.Second, ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("%s: a scheduler has the record, and its copy cannot be read: %w", path, err)
	}
	return &scheduleRecord{db: db}, nil
}

// copy makes the copy anew, in one step.
func (r *scheduleRecord) copy() error {
	file, err := durable.Create(durable.OS{}, r.path)
	if err != nil {
		return err
	}
	defer file.Abort()
	if err := r.db.View(func(tx *bbolt.Tx) error { _, err := tx.WriteTo(file); return err }); err != nil {
		return err
	}
	return file.Commit()
}

// A jobState is what is known of a job between its runs.
type jobState struct {
	sequenceState

	Last    map[string]time.Time    `json:"last"` // moment that was dealt with last, by trigger
	Open    uint64                  `json:"open"` // the run that has begun and not ended; 0: none
	Retry   *retry                  `json:"retry,omitempty"`
	Files   []pipeline.ManifestFile `json:"files"`   // of the run that began last
	Done    string                  `json:"done"`    // digest of what the run that finished last took
	Waiting string                  `json:"waiting"` // id of a certificate that waits for rows to be compared on

	WaitingRun uint64    `json:"waiting_run,omitempty"` // that it is of
	Unchosen   int       `json:"unchosen,omitempty"`    // runs in a row whose files, or window, could not be chosen
	NotBefore  time.Time `json:"not_before,omitzero"`   // rows, files and offsets are not counted again
	Fault      string    `json:"fault,omitempty"`       // why

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

var (
	bucketJobs  = []byte("jobs")
	bucketRuns  = []byte("runs")
	bucketTaken = []byte("taken") // files that finished runs have taken
)

// openRecord opens the record, and holds its lock until Close.
func openRecord(path string) (*scheduleRecord, error) {
	if err := (durable.OS{}).MkdirAll(filepath.Dir(path)); err != nil {
		return nil, err
	}
	db, err := bbolt.Open(path, 0o644, &bbolt.Options{Timeout: 100 * time.Millisecond})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fmt.Errorf("%s: %w\nhint: one scheduler has the record; wait until it has ended, or end it", path, durable.ErrLocked)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w (hint: if it is damaged, put its copy, %s, in its place)", path, err, copyOf(path))
	}
	r := &scheduleRecord{db: db, path: copyOf(path), step: func(effect func() error) error { return effect() }}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{bucketJobs, bucketRuns, bucketTaken} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), db.Close())
	}
	return r, nil
}

// Close gives the record back.
func (r *scheduleRecord) Close() error { return r.db.Close() }

// job returns what is known of a job.
func (r *scheduleRecord) job(name string) (*jobState, error) {
	s := &jobState{}
	err := r.db.View(func(tx *bbolt.Tx) error {
		if text := tx.Bucket(bucketJobs).Get([]byte(name)); text != nil {
			return json.Unmarshal(text, s)
		}
		return nil
	})
	if s.Last == nil {
		s.Last = map[string]time.Time{}
	}
	if s.Numbers == nil {
		s.Numbers = map[string]int64{}
	}
	return s, err
}

// save writes the state of a job, and a run and the files that it has taken if there is
// one, in one step. A run without a number gets the next.
func (r *scheduleRecord) save(name string, s *jobState, run *scheduledRun, taken []pipeline.ManifestFile) error {
	err := r.step(func() error { return r.db.Update(func(tx *bbolt.Tx) error { return write(tx, name, s, run, taken) }) })
	if err != nil {
		return err
	}
	return r.step(r.copy)
}

// write is what save does in one step.
func write(tx *bbolt.Tx, name string, s *jobState, run *scheduledRun, taken []pipeline.ManifestFile) error {
	if run != nil {
		runs := tx.Bucket(bucketRuns)
		if run.Number == 0 {
			n, err := runs.NextSequence()
			if err != nil {
				return err
			}
			run.Number = n
			if run.State == pipeline.StateRunning {
				s.Open = n
			}
		}
		if run.Number > mostRuns {
			if err := runs.Delete(binary.BigEndian.AppendUint64(nil, run.Number-mostRuns)); err != nil {
				return err
			}
		}
		if err := put(runs, binary.BigEndian.AppendUint64(nil, run.Number), run); err != nil {
			return err
		}
	}
	for _, f := range taken {
		if err := tx.Bucket(bucketTaken).Put(takenKey(name, f), []byte{}); err != nil {
			return err
		}
	}
	return put(tx.Bucket(bucketJobs), []byte(name), s)
}

func put(b *bbolt.Bucket, key []byte, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return b.Put(key, text)
}

// takenKey names a file of a job by place and content.
func takenKey(job string, f pipeline.ManifestFile) []byte {
	return fmt.Appendf(nil, "%s\x00%s\x00%d\x00%s", job, f.Path, f.Bytes, f.Footer)
}

// taken reports which files a finished run of the job has taken.
func (r *scheduleRecord) taken(job string, files []pipeline.ManifestFile) ([]bool, error) {
	found := make([]bool, len(files))
	err := r.db.View(func(tx *bbolt.Tx) error {
		for i, f := range files {
			found[i] = tx.Bucket(bucketTaken).Get(takenKey(job, f)) != nil
		}
		return nil
	})
	return found, err
}

// run returns the record of a run.
func (r *scheduleRecord) run(number uint64) (*scheduledRun, error) {
	run := &scheduledRun{}
	err := r.db.View(func(tx *bbolt.Tx) error {
		return json.Unmarshal(tx.Bucket(bucketRuns).Get(binary.BigEndian.AppendUint64(nil, number)), run)
	})
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
	all := []scheduledRun{}
	err := r.db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(bucketRuns).ForEach(func(_, text []byte) error {
			var run scheduledRun
			err := json.Unmarshal(text, &run)
			all = append(all, run)
			return err
		})
	})
	return all, err
}
