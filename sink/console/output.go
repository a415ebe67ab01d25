package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
	"github.com/pacsgp/pacsgp/pipeline/watch"
	"github.com/pacsgp/pacsgp/sink/lake"
	"github.com/pacsgp/pacsgp/sink/report"
)

// Limits that bound the work for one page.
const (
	maxNames = 100_000
	maxDepth = 16
	maxRuns  = 20
)

// An output is what a page shows of an output directory.
type output struct {
	Folder  string
	Name    string // of the schedule's job, the sequence, the target or the folder, whichever is known first
	State   []remark
	Current pipeline.Current
	Promise *report.Page         // of the current certificate; nil without one
	Test    *watch.Test          // of the current model on new rows; nil without one
	Runs    []*pipeline.RunState // newest first
	Plot    string               // path of the last run's plot; "" without one

	certificate certify.Certificate // that is current; zero without one
}

// A remark is a sentence that an operator needs, with a hint of what to do.
type remark struct {
	Level       level
	Words, Hint string
}

// A level is the severity of a remark, which its colour shows.
type level string

// Levels, worst first.
const (
	bad  level = "bad"
	warn level = "warn"
	good level = "good"
)

func rank(l level) int { return slices.Index([]level{bad, warn, good}, l) }

// find returns the sorted folders of the outputs in roots and below, with warnings about folders
// that were not searched. It follows no links, and skips names that begin with _ or a dot.
func find(roots []string) (folders, warnings []string) {
	names := 0
	var in func(folder string, depth int)
	in = func(folder string, depth int) {
		entries, err := os.ReadDir(folder)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			warnings = append(warnings, folder+" does not exist.")
		case err != nil:
			warnings = append(warnings, err.Error())
		}
		is := false
		var below []string
		for _, e := range entries {
			names++
			switch name := e.Name(); {
			case e.IsDir() && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "_"):
				below = append(below, filepath.Join(folder, name))
			case name == lake.CurrentFile || name == lake.RunFile || lake.IsRunState(name):
				is = true
			}
		}
		if is {
			folders = append(folders, folder)
		}
		for _, path := range below {
			if names > maxNames || depth == maxDepth {
				warnings = append(warnings, folder+": not all folders were searched")
				return
			}
			in(path, depth+1)
		}
	}
	for _, root := range roots {
		in(root, 0)
	}
	slices.Sort(folders)
	return slices.Compact(folders), warnings
}

// read reads an output. now decides whether a scheduled run is overdue.
func read(ctx context.Context, folder string, now time.Time) *output {
	o := &output{Folder: folder}
	o.addRuns(folder)
	promoted := o.newest(func(r *pipeline.RunState) bool { return r.Promoted() != "" })
	again := "pacsgp promote ID " + report.Shell(folder)
	if promoted != nil {
		again = fmt.Sprintf("pacsgp promote %.12s %s", promoted.Promoted(), report.Shell(folder))
	}
	current, err := lake.NewOutput(folder, nil).Current()
	switch {
	case err != nil:
		o.find(bad, "Which model is current is unknown: "+err.Error(), again+" writes the pointer again.")
	case current != nil:
		o.Current = *current
		if err := o.promise(ctx, folder); err != nil {
			o.find(bad, "The current certificate cannot be read: "+err.Error(), "Restore it from a copy, or make another one current: pacsgp promote ID "+report.Shell(folder))
		}
		if err := lake.Damaged(folder); err != nil {
			o.find(bad, "T"+strings.TrimPrefix(err.Error(), "t"), "Restore the file from a copy, or make another model current: pacsgp promote ID "+report.Shell(folder))
		}
	case promoted != nil:
		o.find(bad, "The pointer to the current model is gone.", again+" writes it again.")
	}
	o.Name = cmp.Or(o.Name, filepath.Base(folder))
	plot := filepath.Join(folder, lake.PlotFile)
	if info, err := os.Stat(plot); err == nil && info.Mode().IsRegular() {
		o.Plot = plot
	}
	if s, err := lake.ReadWatch(durable.OS{}, folder); err == nil {
		if t := s.Test(o.Current.ID); t != nil && t.Labelled() > 0 {
			o.Test = t
		}
	}
	o.explain(now, err == nil && (current != nil || promoted == nil))
	slices.SortStableFunc(o.State, func(a, b remark) int { return cmp.Compare(rank(a.Level), rank(b.Level)) })
	return o
}

func (o *output) find(l level, words, hint string) {
	o.State = append(o.State, remark{l, words, hint})
}

// checked are the certificates and models that have been checked: that takes tenths of a second, and [lake.Damaged] sees damage.
var checked sync.Map

// promise reads the current certificate. Its content must have the digest in its name, and its
// numbers must follow from its evidence and its model.
func (o *output) promise(ctx context.Context, folder string) error {
	out := lake.NewOutput(folder, nil)
	c, err := out.GetCertificate(ctx, o.Current.ID)
	if _, known := checked.Load(o.Current.ArtifactRef); err == nil && !known {
		err = out.CheckCertificate(ctx, c, o.Current.Model)
	}
	if err != nil {
		return err
	}
	checked.Store(o.Current.ArtifactRef, true)
	o.certificate = c
	page, err := report.PageOf(c)
	if err == nil {
		o.Promise = &page
		if c.Delta.Sequence != nil {
			o.Name = cmp.Or(o.Name, c.Delta.Sequence.Name)
		}
		o.Name = cmp.Or(o.Name, c.Loss.Target)
	}
	return err
}

func (o *output) addRuns(folder string) {
	runs, err := lake.NewOutput(folder, nil).Runs()
	if err != nil {
		o.find(warn, err.Error(), "")
		return
	}
	for r := range runs {
		if of := r.Scheduled; of != nil {
			o.Name = of.Job
		}
		if o.Runs = append(o.Runs, r); len(o.Runs) == maxRuns {
			return
		}
	}
}

// newest returns the newest run that satisfies a condition, or nil.
func (o *output) newest(is func(r *pipeline.RunState) bool) *pipeline.RunState {
	if i := slices.IndexFunc(o.Runs, is); i >= 0 {
		return o.Runs[i]
	}
	return nil
}

// explain adds remarks: is the current model from the last run, and if not, why? known means that the pointer exists.
func (o *output) explain(now time.Time, known bool) {
	if why := o.Test.Raised(o.certificate); why != "" {
		o.find(bad, "Alarm: rows that came after the current model contradict its certificate: "+why+".", watch.Ends)
	}
	open := len(o.Runs) > 0 && o.Runs[0].State == pipeline.StateRunning
	if held, _ := lake.AtWork(o.Folder, lake.OutputLock); open && !held {
		o.find(bad, fmt.Sprintf("The run of %s UTC has not ended, and no process is at work.", minute(o.Runs[0].Began.UTC())), "Start it again: it goes on where it was.")
	}
	if held, ever := lake.AtWork(o.Folder, lake.StreamLock); ever && !held {
		o.find(warn, "No process streams into this folder.", "If one is to, its log says why it ended.")
	}
	last := o.newest(func(r *pipeline.RunState) bool { return r.Ended != nil })
	if last == nil {
		if o.State == nil {
			o.find(map[bool]level{true: good, false: warn}[o.Promise != nil], "There is no record of a finished run.", "")
		}
		return
	}
	switch {
	case open && last.State == pipeline.StateFailed && last.Exit == nil:
		o.find(warn, fmt.Sprintf("The run of %s UTC ended without a record, killed or on a full disk, and goes on.", minute(last.Began.UTC())), "")
	case last.State == pipeline.StateFailed || last.State == pipeline.StateInterrupted:
		ended := map[pipeline.State]string{pipeline.StateFailed: "failed", pipeline.StateInterrupted: "was interrupted"}[last.State]
		model := map[bool]string{true: "no model is current", false: "the model before it stays current"}[o.Current.ID == ""]
		o.because(bad, fmt.Sprintf("The last run %s; %s", ended, model), last)
	case known:
		o.trained(last)
	}
	of := last.Scheduled
	if of == nil {
		return
	}
	if of.Due != nil && !open && now.Sub(*of.Due) > 10*time.Minute {
		o.find(bad, fmt.Sprintf("A run was due at %s UTC, and none has begun.", minute(of.Due.UTC())), "Is the scheduler at work? Its log says what it waits for.")
	}
	if of.Rewritten() != "" {
		o.find(warn, of.Rewritten()+".", "Their rows count as new ones: put new rows into new files.")
	}
}

// because adds a remark with the reason for a run's end, and what to do.
func (o *output) because(l level, words string, r *pipeline.RunState) {
	reason, hint := split(r.Reason())
	if r.State == pipeline.StateFailed && r.Scheduled != nil {
		hint = strings.TrimPrefix(hint+"; "+schedule.TryAgain(r.Scheduled.Job, nil), "; ")
	}
	o.find(l, strings.TrimSuffix(words+": "+reason, ": "), hint)
}

// trained adds a remark that says whether the newest model is current, and if not, why.
func (o *output) trained(last *pipeline.RunState) {
	made, which := o.newest(func(r *pipeline.RunState) bool { return len(r.Artifacts) > 0 }), "The model of the last run"
	if made != last {
		which = "The last model that was trained"
	}
	switch is := made == nil || made.Artifacts[0].ID == o.Current.ID; {
	case is && made == last:
		o.find(good, "The model of the last run is current.", "")
	case is:
		o.because(good, "The last run had nothing to do", last)
	case made.Promoted() != "" || made.Exit != nil && *made.Exit == pipeline.ExitFailure && o.Current.Since.After(*made.Ended):
		o.find(warn, which+" is not current: another one was made current after it.", "")
	default:
		o.because(warn, which+" is not current", made)
	}
}

// why returns the reason for a run's end, without hints.
func why(r *pipeline.RunState) string {
	reason, _ := split(r.Reason())
	return reason
}

// split separates the reason in an error's text from the hints.
func split(text string) (reason, hint string) {
	reason, rest, _ := strings.Cut(text, "hint: ")
	hints := strings.Split(rest, "hint: ")
	for i := range hints {
		hints[i] = strings.TrimRight(hints[i], " ()\n")
	}
	return strings.ReplaceAll(strings.TrimRight(reason, " (\n"), "\n", "; "), strings.Join(hints, "; ")
}

// faults returns a remark for each line of the error that says why a service is not ready.
func faults(err error) (found []remark) {
	if err == nil {
		return nil
	}
	for line := range strings.SplitSeq(strings.ReplaceAll(err.Error(), "\nhint: ", " hint: "), "\n") {
		reason, hint := split(line)
		found = append(found, remark{bad, "This service is not ready: " + reason, hint})
	}
	return found
}

// shows reports whether the output's own remarks already have the reason of r.
func (o *output) shows(r remark) bool {
	return o != nil && slices.ContainsFunc(o.State, func(own remark) bool {
		_, reason, found := strings.Cut(own.Words, ": ")
		return found && strings.Contains(r.Words, reason)
	})
}

func minute(t time.Time) string { return t.Format("2006-01-02 15:04") }
