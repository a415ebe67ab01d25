package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// sequencesFile is where an output says which numbers of its sequences are taken. It is
// written before the record of a run, so that no two records, and no record that was lost,
// put back or made anew, give one number to two certificates.
const (
	sequencesFile   = "sequences.json"
	sequencesFormat = "pacsgp-sequences/1"
	maxSequences    = 16 << 20
	maxTaken        = 1 << 52 // beyond all that are ever taken
)

// A sequenceState is what all certificates of one name share δ by. The record of a schedule
// has one for each of its jobs, and so has the output.
type sequenceState struct {
	Identity string           `json:"identity"` // digest of the job, which its certificates have in common
	Numbers  map[string]int64 `json:"numbers"`  // of runs without a certificate, by what they take
	Taken    int64            `json:"taken"`    // the largest number that was ever taken

	Topic *config.TopicState `json:"topic,omitempty"` // of a job on a topic
}

// A sequences is the content of the file.
type sequences struct {
	Format    string                   `json:"format"`
	Sequences map[string]sequenceState `json:"sequences"`
}

// readSequences returns what an output says of its sequences: of none, if it has no file.
func readSequences(folder string) (sequences, error) {
	path := filepath.Join(folder, sequencesFile)
	data, err := durable.ReadSmall(path, "a list of sequences", maxSequences)
	if errors.Is(err, fs.ErrNotExist) {
		return sequences{sequencesFormat, map[string]sequenceState{}}, nil
	}
	var all sequences
	if err != nil {
		return all, err
	}
	err = json.Unmarshal(data, &all)
	if err == nil && all.Format != sequencesFormat {
		err = fmt.Errorf("its format is %q, this program knows %q", all.Format, sequencesFormat)
	}
	if err == nil && all.Sequences == nil {
		err = errors.New("it has no sequences")
	}
	for name, s := range all.Sequences {
		wrong := s.Taken < 0 || s.Taken > maxTaken
		for _, number := range s.Numbers {
			wrong = wrong || number < 1 || number > s.Taken
		}
		if wrong && err == nil {
			err = fmt.Errorf("sequence %q has numbers that were never taken", name)
		}
	}
	if err != nil {
		return all, fmt.Errorf("%s: %w (hint: it says which numbers the certificates of this output have taken; restore it from a copy, or give the job another name and output)", path, err)
	}
	return all, nil
}

// scheduledIn reports whether a schedule has run in an output.
func scheduledIn(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, sequencesFile))
	return err == nil
}

// agreed is what follows from the record of a schedule and an output that knows of no more
// numbers. If both know of the same, a run may have ended since one of them was written: what
// either no longer has is over.
func (s sequenceState) agreed(there sequenceState) sequenceState {
	if there.Taken < s.Taken || there.Taken == 0 {
		return s
	}
	s.Numbers = maps.Clone(s.Numbers)
	maps.DeleteFunc(s.Numbers, func(digest string, number int64) bool { return there.Numbers[digest] != number })
	if t := s.Topic; t != nil && t.Window != nil && there.Topic != nil && there.Topic.Window == nil {
		s.Topic = t.Without()
	}
	return s
}

// agree takes up what the output knows of a job's sequence and the record does not: numbers
// that were taken, and how far the windows are. It refuses another job.
func (s *scheduler) agree(ctx context.Context, j *scheduled, known *jobState, now time.Time) error {
	identity, err := j.prepared.Job.Identity()
	if err != nil {
		return err
	}
	all, err := readSequences(j.prepared.Output)
	if err != nil {
		return err
	}
	there := all.Sequences[j.Name]
	if there.Numbers == nil {
		there.Numbers = map[string]int64{}
	}
	for _, other := range []string{known.Identity, there.Identity} {
		if other != "" && other != identity.String() {
			return fmt.Errorf("%w: jobs: %s is another job than its first run had, with which it shares delta: give the new one another name and output", pipeline.ErrConfig, j.Name)
		}
	}
	known.Identity, known.there = identity.String(), there.Taken
	if there.Taken <= known.Taken {
		known.sequenceState = known.agreed(there)
		return nil
	}
	if there, err = there.uncertified(ctx, j); err != nil {
		return err
	}
	s.say(fmt.Sprintf("%s: %s tells of number %d of its sequence, and the record of %d: it is new, older or not the only one of this output, or its scheduler was killed. It goes on from there", j.Name, filepath.Join(j.prepared.Output, sequencesFile), there.Taken, known.Taken))
	known.sequenceState = there
	if t := there.Topic; t != nil && t.Window != nil && known.Retry == nil {
		known.Retry = &retry{At: now, Trigger: "unfinished window", Moment: now}
	}
	return s.record.save(j.Name, known, nil, nil)
}

// uncertified leaves out what has got its certificate: a number is for one.
func (s sequenceState) uncertified(ctx context.Context, j *scheduled) (sequenceState, error) {
	done := map[int64]bool{}
	err := issued(ctx, j.prepared.Output, j.Name, func(_ string, c certify.Certificate) { done[c.Delta.Sequence.Number] = true })
	if err != nil {
		return s, err
	}
	s.Numbers = maps.Clone(s.Numbers)
	maps.DeleteFunc(s.Numbers, func(_ string, number int64) bool { return done[number] })
	if t := s.Topic; t != nil && t.Window != nil && done[s.Taken] {
		s.Topic = t.Without()
	}
	return s, nil
}

// errTaken says that another scheduler was faster.
var errTaken = errors.New("another scheduler has taken a number of its sequence at this moment; it is looked again")

// number gives what a run takes its number in the sequence: before anything is known of a
// bound, and for one certificate. The output knows of it, durably, before the record does.
func (s *scheduler) number(ctx context.Context, out *sinklake.Output, j *scheduled, known *jobState, run *scheduledRun, take taking) error {
	all, err := readSequences(j.prepared.Output)
	if err != nil {
		return err
	}
	if all.Sequences[j.Name].Taken != known.there {
		return errTaken
	}
	next := known.sequenceState
	next.Numbers = maps.Clone(next.Numbers)
	if _, same := next.Numbers[take.number]; !same {
		last, err := lastNumber(ctx, j.prepared.Output, j.Name)
		if err != nil {
			return err
		}
		if next.Taken > 0 && last > next.Taken { // with none taken all is new
			return fmt.Errorf("%s has certificate number %d of sequence %q, and the record and %s tell of %d: they are older (hint: restore those that have them, or give the job another name and output)", j.prepared.Output, last, j.Name, sequencesFile, next.Taken)
		}
		next.Taken = max(next.Taken, last) + 1
		next.Numbers[take.number] = next.Taken
	}
	if run.Window != nil {
		next.Topic = next.Topic.With(*run.Window)
	}
	all.Sequences[j.Name] = next
	doc, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if err := out.Put(sequencesFile, append(doc, '\n')); err != nil {
		return err
	}
	known.sequenceState = next
	return nil
}

// An ownNumber is a sink that gives a number of a sequence to one certificate.
type ownNumber struct {
	pipeline.Sink

	folder string
}

// PutCertificate refuses a certificate of which another one in the folder has the number: a
// killed run was tried again, and what it reads, or the program, is no longer the same.
func (s ownNumber) PutCertificate(ctx context.Context, c certify.Certificate) (string, error) {
	if of := c.Delta.Sequence; of != nil {
		document, err := certify.Marshal(c)
		if err != nil {
			return "", err
		}
		other, err := certified(ctx, s.folder, of.Name, of.Number)
		if err == nil && other != "" && other != hexOf(document) {
			err = fmt.Errorf("certificate %s in %s has number %d of sequence %q already, and this run ends with another: rows or program are not the same as when it was made", other, s.folder, of.Number, of.Name)
		}
		if err != nil {
			return "", err
		}
	}
	return s.Sink.PutCertificate(ctx, c)
}

// certified is the id of the certificate with a number of a sequence, or "".
func certified(ctx context.Context, folder, name string, number int64) (id string, err error) {
	err = issued(ctx, folder, name, func(found string, c certify.Certificate) {
		if c.Delta.Sequence.Number == number {
			id = found
		}
	})
	return id, err
}

// standing is the outcome of a run that failed, if an earlier try of it has published its
// certificate: a number has one, and that is what the run came to.
func (s *scheduler) standing(ctx context.Context, p prepared, o *outcome, fault error) (*outcome, error) {
	of := p.Job.Sequence()
	if p.Shelf != nil || of == nil { // what is on its topics is not known here
		return o, fault
	}
	id, err := certified(ctx, p.Output, of.Name, of.Number)
	if err != nil || id == "" {
		return o, fault
	}
	found, err := contenderAt(ctx, p.Output, id)
	if err != nil {
		return o, errors.Join(fault, err)
	}
	m, digest, err := readModel(ctx, filepath.Join(p.Output, sinklake.ModelName(found.Model)))
	if err == nil {
		_, err = pipeline.Verify(ctx, found.certificate, m, digest, nil, p.Resources)
	}
	if err != nil { // it is not what a run has published
		return o, errors.Join(fault, fmt.Errorf("certificate %s of an earlier try: %w", id, err))
	}
	s.say(fmt.Sprintf("certificate %.12s… of an earlier try stands, though this one failed: %v", id, fault))
	return &outcome{&pipeline.Outcome{Result: &pipeline.Result{Certificate: found.certificate, ID: id, ModelDigest: found.Model, Model: m}}, p.Output, p.Source}, nil
}
