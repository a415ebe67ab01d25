package console

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/lake"
	"github.com/pacsgp/pacsgp/sink/report"
)

// A Job is an output, or a stream with the outputs of its windows.
type Job struct {
	Folder  string
	Name    string // of the schedule's job, or the target, or the folder
	Pointer pointer
	Current *Entry             // that the pointer names; nil: none, or it is not here
	Series  []Series           // that of the current certificate first
	Runs    []*Run             // the newest first
	Test    *pipeline.RowsTest // of the current certificate, by rows that came after it; or nil
	Until   string             // when rows began to test another one; "": they have not

	level int // of its worst finding, 0 for the worst of all
}

// words are the folder in a command.
func (j *Job) words() string { return report.Shell(j.Folder) }

// Key names the job in addresses.
func (j *Job) Key() string { return keyOf(j.Folder) }

// complete fills in what follows from a snapshot's certificates and from the tests of watch.
func (j *Job) complete(s *Snapshot, tests map[string]pipeline.RowsTest) {
	slices.SortFunc(j.Runs, func(a, b *Run) int { return cmp.Or(b.Began.Compare(a.Began), cmp.Compare(b.Run, a.Run)) })
	if j.Current != nil {
		j.Series = []Series{j.Current.Series}
		if t, ok := tests[j.Current.ID]; ok {
			j.Test = &t
		}
	}
	i, _ := slices.BinarySearchFunc(s.Entries, j.Folder, func(e *Entry, folder string) int { return cmp.Compare(e.Series.Folder, folder) })
	for ; i < len(s.Entries) && s.Entries[i].Series.Folder == j.Folder; i++ {
		if of := s.Entries[i].Series; !slices.Contains(j.Series, of) {
			j.Series = append(j.Series, of)
		}
	}
	j.Name = filepath.Base(j.Folder)
	if len(j.Series) > 0 {
		j.Name = j.Series[0].Target
	}
	tested := false // by runs
	for _, r := range slices.Backward(j.Runs) {
		if r.Scheduled == nil {
			continue
		}
		j.Name = r.Scheduled.Job
		if t := r.Scheduled.Test; t != nil && j.Pointer.ID != "" && t.Certificate == j.Pointer.ID {
			j.Test, j.Until = t, ""
			tested = true
		} else if t != nil && tested && j.Until == "" {
			j.Until = minute(r.Began.UTC()) + " UTC"
		}
	}
	j.level = rank(j.findings(time.Time{})[0].Level)
}

// latest is when the newest run began.
func (j *Job) latest() time.Time {
	if len(j.Runs) == 0 {
		return time.Time{}
	}
	return j.Runs[0].Began
}

// ended is the newest run that has ended, nil without one.
func (j *Job) ended() *Run {
	for _, r := range j.Runs {
		if r.Ended != nil {
			return r
		}
	}
	return nil
}

// A Finding is something that an operator has to know of a job, and what to do about it.
type Finding struct {
	Level string // class of its colours: bad, warn or good
	Words string
	Hint  string
}

// Levels of findings, the worst first.
const (
	bad  = "bad"
	warn = "warn"
	good = "good"
)

func rank(level string) int { return slices.Index([]string{bad, warn, good}, level) }

// findings are the answers to: is the current model from the last run, and if not, why? The worst
// comes first. A zero now leaves out what depends on the clock.
func (j *Job) findings(now time.Time) (all []Finding) {
	add := func(level, words, hint string) { all = append(all, Finding{level, words, hint}) }
	was, by := j.promoted()
	switch p := j.Pointer; {
	case was != "" && p.ID == "":
		add(bad, fmt.Sprintf("Which model is current cannot be told: %s. By the record of %s it was %s.", cmp.Or(p.Fault, "the pointer, "+lake.CurrentFile+", is gone"), lowered(by), short(was)), fmt.Sprintf("If pacsgp promote has named none since then: pacsgp promote %s %s writes the pointer anew. Else name that one.", short(was), j.words()))
	case p.Fault != "":
		add(bad, "Which model is current cannot be told: "+p.Fault, "pacsgp promote ID "+j.words()+" writes the pointer anew. ID is a certificate below that is certified.")
	case p.ID != "" && j.Current == nil:
		add(bad, "The pointer names certificate "+short(p.ID)+", which is not here, or cannot be read.", "Restore it from a copy, or name another one: pacsgp promote ID "+j.words())
	}
	if fault := j.Pointer.ModelFault; fault != "" {
		add(bad, "The current model cannot be used: "+fault, "Restore the file from a copy, or make another model current: pacsgp promote ID "+j.words())
	}
	if t := j.Test; t != nil && t.Alarm {
		add(bad, "Alarm: rows that came after the current model contradict its certificate.", "Do not rely on its bound, and see whether the source has changed. If it has, train when there are rows from after the change: "+j.again()+". To roll back: pacsgp promote ID "+j.words())
	}
	last := j.ended()
	if last != nil {
		if of := last.Scheduled; of != nil && of.Due != nil && last == j.Runs[0] && !now.IsZero() && now.Sub(*of.Due) > 10*time.Minute {
			add(bad, fmt.Sprintf("A run was due at %s UTC, and none has begun.", minute(of.Due.UTC())), "Is the scheduler at work? Its log says what it waits for.")
		}
		all = append(all, j.fromRun(last, all == nil))
		if of := last.Scheduled; of != nil && of.Untested != "" {
			why, hint := hinted(of.Untested)
			add(warn, fmt.Sprintf("Not all rows of %s tested the model that was current: %s", lowered(last.Title()), sentence(why)), cmp.Or(hint, "Whether that model was still good when they came is not known."))
		}
		if of := last.Scheduled; of != nil && of.Missing() != "" {
			add(warn, of.Missing()+".", "Restore them, unless they were removed on purpose: rows behind them have other roles now, and certificates of them cannot be verified.")
		}
	}
	if n := j.unmoved(); n > 1 {
		add(warn, fmt.Sprintf("%s since the current model became current, and none has replaced it.", certify.Count(n, "finished run")), "")
	}
	if all == nil && j.Current != nil {
		add(good, "There is no record of runs.", "")
	} else if all == nil {
		add(warn, "No model is current, and there is no record of runs.", "pacsgp promote ID "+j.words()+" makes a certified one current.")
	}
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Compare(rank(a.Level), rank(b.Level))
	})
	return all
}

// promoted is the certificate that was made current by the newest run that has moved the pointer,
// and the title of that run, "" without one.
func (j *Job) promoted() (id, by string) {
	for _, r := range j.Runs {
		if id := r.Promoted(); id != "" {
			return id, r.Title()
		}
	}
	return "", ""
}

// again is the command that runs the job.
func (j *Job) again() string {
	if len(j.Runs) > 0 && j.Runs[0].Scheduled != nil {
		return "pacsgp schedule run " + j.Runs[0].Scheduled.Job + " -c SCHEDULE"
	}
	return "pacsgp train -c JOB"
}

// fromRun says what came of the last run. quiet: nothing else is wrong with the current model.
func (j *Job) fromRun(r *Run, quiet bool) Finding {
	why, hint := r.reason()
	again := j.again() + " runs it now."
	if of := r.Scheduled; of != nil && of.Due != nil {
		again = "The next run tries again; " + again
	}
	stays := "The current model stays."
	if quiet {
		stays = "The current model stays, and nothing has to be done tonight."
	}
	promote := fmt.Sprintf("The current model stays. pacsgp promote %s %s makes this one current.", short(r.certificate()), j.words())
	if why != "" {
		why = ": " + why
	}
	switch id := r.certificate(); {
	case r.cannotRun():
		return Finding{bad, "The job cannot run" + why, cmp.Or(hint, "Mend what it names.") + " " + again}
	case r.State == pipeline.StateFailed || r.State == pipeline.StateInterrupted:
		return Finding{bad, fmt.Sprintf("%s %s, so that the current model is an older one%s", r.Title(), r.State, why), cmp.Or(hint, "Mend what it names.") + " " + again}
	case id == "":
		return Finding{good, fmt.Sprintf("%s had nothing to do%s", r.Title(), why), hint}
	case id == j.Pointer.ID && j.raised(r):
		return Finding{
			bad, fmt.Sprintf("Alarm: the rows of %s contradict the model before. The one that it made is current, and no new rows have tested it.", lowered(r.Title())),
			"See whether the source has changed. If it has, take the files from before the change out of the source, or the faulty ones, and run again: " + j.again() + ". To roll back: pacsgp promote ID " + j.words(),
		}
	case id == j.Pointer.ID:
		return Finding{good, "The model of the last run is current.", ""}
	case r.Exit != nil && *r.Exit != 0:
		return Finding{warn, fmt.Sprintf("The model of %s is not current%s", lowered(r.Title()), why), cmp.Or(hint, stays)}
	case r.Scheduled != nil && r.Scheduled.Current && j.Pointer.ID == "":
		return Finding{good, fmt.Sprintf("The model of %s became current.", lowered(r.Title())), ""}
	case r.Scheduled != nil && r.Scheduled.Current:
		return Finding{warn, fmt.Sprintf("The model of %s became current, and pacsgp promote has named another one since.", lowered(r.Title())), ""}
	default:
		return Finding{warn, fmt.Sprintf("The model of %s is certified, and not current%s", lowered(r.Title()), why), cmp.Or(hint, promote)}
	}
}

// raised reports whether the alarm over a model was first raised in a run.
func (j *Job) raised(r *Run) bool {
	alarm := func(of *Run) bool { return of.Scheduled != nil && of.Scheduled.Test != nil && of.Scheduled.Test.Alarm }
	return alarm(r) && !slices.ContainsFunc(j.Runs, func(of *Run) bool {
		return of != r && alarm(of) && of.Scheduled.Test.Certificate == r.Scheduled.Test.Certificate
	})
}

func lowered(title string) string { return strings.ToLower(title[:1]) + title[1:] }

// unmoved counts finished runs since the current certificate became current.
func (j *Job) unmoved() (n int) {
	if j.Pointer.ID == "" {
		return 0
	}
	for _, r := range j.Runs {
		if r.certificate() == j.Pointer.ID || r.Ended != nil && r.Ended.Before(j.Pointer.Since) {
			break
		}
		if r.State == pipeline.StateFinished {
			n++
		}
	}
	return n
}

// next says when the job runs next.
func (j *Job) next(now time.Time) string {
	if len(j.Runs) == 0 || j.Runs[0].Scheduled == nil {
		return ""
	}
	switch r := j.Runs[0]; {
	case r.cannotRun():
		return "none until the job can run"
	case r.State == pipeline.StateRunning:
		return "a run is at work since " + minute(r.Began) + " UTC"
	case r.Scheduled.Due != nil && now.After(*r.Scheduled.Due):
		return "due since " + minute(r.Scheduled.Due.UTC()) + " UTC"
	case r.Scheduled.Due != nil:
		return minute(r.Scheduled.Due.UTC()) + " UTC"
	default:
		return "when enough has come (its last trigger: " + r.Scheduled.Trigger + ")"
	}
}

// Title names a run for people.
func (r *Run) Title() string {
	if r.Scheduled != nil {
		return fmt.Sprintf("Run %d", r.Scheduled.Number)
	}
	return "The run of " + minute(r.Began)
}

// cannotRun reports whether it is no run, but says why there is none.
func (r *Run) cannotRun() bool {
	return r.Scheduled != nil && r.Scheduled.Trigger == pipeline.TriggerLook && r.State == pipeline.StateFailed
}

func (r *Run) certificate() string {
	if len(r.Artifacts) == 0 {
		return ""
	}
	return r.Artifacts[0].ID
}

// sentence ends a text with a full stop.
func sentence(text string) string { return strings.TrimSuffix(text, ".") + "." }

// withHints is a text with hints at its end.
var withHints = regexp.MustCompile(`(?s)^(.*?)\s*(?:\(hint: (.*)\)|\bhint: (.*))$`)

// packageName begins errors of a package.
var packageName = regexp.MustCompile(`^(lake|ingest|pipeline|certify|sink|model): `)

// reason says why a run ended as it did, and what to do.
func (r *Run) reason() (why, hint string) {
	why = r.Fault
	if r.Scheduled != nil && r.Scheduled.Why != "" {
		why = strings.TrimPrefix(r.Scheduled.Why+": "+r.Fault, ": ")
		why = strings.TrimSuffix(why, ": ")
	}
	return hinted(why)
}

// hinted parts a text from the hints at its end.
func hinted(text string) (why, hint string) {
	text = packageName.ReplaceAllString(text, "")
	if m := withHints.FindStringSubmatch(text); m != nil {
		return m[1], sentence(strings.ReplaceAll(m[2]+m[3], "\nhint: ", "; "))
	}
	return text, ""
}

// A RunRow is a run in a table.
type RunRow struct {
	*Run

	Class       string // of its colours, and its sign
	Word        string
	Why, Hint   string
	Certificate *Entry
	Current     bool
}

// rows are runs for a table.
func (s *Snapshot) rows(j *Job, runs []*Run) (rows []RunRow) {
	for _, r := range runs {
		row := RunRow{Run: r, Word: string(r.State), Certificate: s.byID[r.certificate()], Class: "vacuous"}
		row.Current = r.certificate() != "" && r.certificate() == j.Pointer.ID
		row.Why, row.Hint = r.reason()
		switch {
		case r.State == pipeline.StateFailed || r.State == pipeline.StateInterrupted:
			row.Class = "indicative"
		case r.State == pipeline.StateFinished && r.Exit != nil && *r.Exit != 0:
			row.Class, row.Word = "conditional", "refused"
			if row.Current {
				row.Word = "refused, then promoted:"
			}
		case r.State == pipeline.StateFinished:
			row.Class, row.Word = "certified", "certified"
		}
		rows = append(rows, row)
	}
	return rows
}

// ago is a time since, in words.
func ago(now, then time.Time) string {
	switch d := now.Sub(then); {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days ago", int(d/(24*time.Hour)))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d hours ago", int(d/time.Hour))
	default:
		return fmt.Sprintf("%d minutes ago", max(0, int(d/time.Minute)))
	}
}
