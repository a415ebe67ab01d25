package schedule_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/certify/certifytest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
)

// amended is a stage whose second night has failed, and whose job was changed then.
func amended(t *testing.T) *stage {
	t.Helper()
	s := newStage(t, declared(func(j *schedule.Job) {
		j.Triggers = []schedule.Trigger{{Key: "files 1", Files: 1}}
		of := certifytest.Certificate(t, nil).Delta
		j.Job.Delta, j.Job.Guarantees = of.Declared, of.Methods
	}))
	s.at(someDay)
	s.lake.add("e", 60)
	s.fail = errors.New("copies")
	s.at(someDay.Add(time.Hour))
	s.fail = nil
	s.job.Job.Inducing = []int{7}
	s.anew()
	return s
}

// An amended job has the next number, also on files of a failed one, and its certificates say from
// which number on. It keeps delta.
func TestAmendedJobGoesOn(t *testing.T) {
	s := amended(t)
	if _, err := s.Look(t.Context(), s.job, someDay.Add(2*time.Hour)); !errors.Is(err, pipeline.ErrConfig) || !strings.Contains(err.Error(), "pacsgp schedule amend waves") {
		t.Fatalf("without an amendment: %v", err)
	}
	if of := certifytest.Certificate(t, nil); !slices.Equal(of.Delta.Methods, s.job.Job.ForRows(of.Sample.Rows).Guarantees) {
		t.Errorf("%v are no methods of the job", of.Delta.Methods)
	}
	changed := s.job.Job
	for what, change := range map[string]func(j *pipeline.Job){
		"delta": func(j *pipeline.Job) { j.Delta /= 2 }, "target": func(j *pipeline.Job) { j.Target = "gust" }, "horizon": func(j *pipeline.Job) { j.Horizon = 30 },
		"guarantees": func(j *pipeline.Job) {
			j.Guarantees = []certify.MethodWeight{{ID: certify.MethodPACBayes, Weight: 2}, {ID: certify.MethodHoldout, Weight: 1}}
		},
	} {
		change(&s.job.Job)
		all := s.store.Certificates
		for _, s.store.Certificates = range [][][]byte{all, nil} { // without one the list of numbers knows what is kept
			if from, err := s.job.Amend(t.Context(), time.Now()); !errors.Is(err, pipeline.ErrConfig) || from != 0 || !strings.Contains(err.Error(), what) {
				t.Errorf("another %s: from %d, %v", what, from, err)
			}
		}
		s.job.Job, s.store.Certificates = changed, all
	}
	if at, err := s.job.Standing(); err != nil || at.Fault() == "" {
		t.Errorf("before: %+v, %v", at, err)
	}
	for i, want := range []int64{3, 0} {
		if from, err := s.job.Amend(t.Context(), time.Now()); err != nil || from != want {
			t.Fatalf("amended %d times: from %d, %v; want %d", i+1, from, err, want)
		}
	}
	if at, err := s.job.Standing(); err != nil || at.Fault() != "" {
		t.Errorf("after: %+v, %v", at, err)
	}
	s.Now = true
	s.lake.lacks = "temp" // which the job before had
	r := s.at(someDay.Add(2 * time.Hour))
	c := s.certificates()[3]
	if r == nil || r.Scheduled.Sequence != 3 || len(r.Scheduled.Files) != 4 || c.Delta.Sequence == nil || c.Delta.Sequence.Amended != 3 {
		t.Fatalf("%+v, %+v, %q", r, c.Delta.Sequence, s.said)
	}
	s.job.Job.Inducing = nil // the first job again is another family
	s.anew()
	if from, err := s.job.Amend(t.Context(), time.Now()); err != nil || from != 4 {
		t.Errorf("from %d, %v", from, err)
	}
	s.Now = true
	s.lake.add("f", 60)
	if s.at(someDay.Add(3 * time.Hour)); s.certificates()[4].Delta.Sequence.Amended != 4 {
		t.Errorf("%+v", s.certificates()[4].Delta.Sequence)
	}
}

// A number is silent if no run has a certificate of it, whatever the list of numbers says, and one of
// a window that was given up.
func TestSilentNumbers(t *testing.T) {
	s := amended(t)
	at, err := s.store.Sequence("waves")
	fatal.If(t, err)
	at.Numbers["of the first run"] = 1
	fatal.If(t, s.store.PutSequence("waves", at))
	s.store.Certificates = nil
	_, err = s.job.Amend(t.Context(), time.Now())
	fatal.If(t, err)
	if at, err = s.store.Sequence("waves"); err != nil || len(at.Numbers) != 1 {
		t.Errorf("%+v, %v", at.Numbers, err)
	}

	s, log := onTopic(t, 1, 60)
	s.fail = errors.New("no luck")
	s.at(someDay)
	s.at(someDay.Add(10 * time.Minute))
	log.rows[0] += 60
	s.fail = nil
	s.at(someDay.Add(time.Hour))
	if at, err = s.store.Sequence("waves"); err != nil || at.Taken != 2 || len(at.Numbers) != 1 || !slices.Contains(slices.Collect(maps.Values(at.Numbers)), 1) {
		t.Errorf("%+v, %v", at, err)
	}
}

// A list of numbers that hides an amendment, by hand or because it was lost, is refused.
func TestForgedAmendment(t *testing.T) {
	for name, forge := range map[string]func(at *pipeline.Sequence){
		"hidden":   func(at *pipeline.Sequence) { at.Former = nil },
		"too late": func(at *pipeline.Sequence) { at.Former[0].Last = 1 },
		"lost":     func(at *pipeline.Sequence) { *at = pipeline.Sequence{} },
	} {
		s := amended(t)
		_, err := s.job.Amend(t.Context(), time.Now())
		fatal.If(t, err)
		at, err := s.store.Sequence("waves")
		fatal.If(t, err)
		forge(&at)
		fatal.If(t, s.store.PutSequence("waves", at))
		s.Now = true
		if r := s.at(someDay.Add(2 * time.Hour)); r == nil || r.State != pipeline.StateFailed || !strings.Contains(r.Fault, "was of another job than its list of numbers says") {
			t.Errorf("%s: %+v, %q", name, r, s.said)
		}
		if _, err := s.job.Amend(t.Context(), time.Now()); (err == nil) != (name == "lost") { // lost before the job has run
			t.Errorf("%s: amended again: %v", name, err)
		}
	}
	s := amended(t)
	_, err := s.job.Amend(t.Context(), time.Now())
	fatal.If(t, err)
	s.Now = true
	if r := s.at(someDay.Add(2 * time.Hour)); r == nil || r.State != pipeline.StateFinished {
		t.Fatalf("%+v, %q", r, s.said)
	}
	fatal.If(t, s.store.PutSequence("waves", pipeline.Sequence{}))
	if _, err := s.job.Amend(t.Context(), time.Now()); err == nil || !strings.Contains(err.Error(), "restore the list, sequences.json") {
		t.Errorf("lost behind a run of the amended job: %v", err)
	}
	if (pipeline.Sequence{Taken: 3, Former: []pipeline.FormerJob{{Last: 4}}}).Check() == nil {
		t.Error("a job has ended with a number that was never taken")
	}
}

// Whenever the process dies, the job is amended or it is not.
func TestAmendmentKilled(t *testing.T) {
	for _, done := range []bool{false, true} {
		s := amended(t)
		s.op = func(effect func() error) error {
			if done {
				fatal.If(t, effect())
			}
			return errDies
		}
		if _, err := s.job.Amend(t.Context(), time.Now()); !errors.Is(err, errDies) {
			t.Fatal(err)
		}
		s.anew()
		want := int64(3)
		if done {
			want = 0
		}
		if from, err := s.job.Amend(t.Context(), time.Now()); err != nil || from != want {
			t.Errorf("again: from %d, %v; want %d", from, err, want)
		}
		s.Now = true
		if r := s.at(someDay.Add(2 * time.Hour)); r == nil || r.Scheduled.Sequence != 3 || r.State != pipeline.StateFinished {
			t.Errorf("%+v, %q", r, s.said)
		}
	}
}
