package console

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/certify/certifytest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/lake"
)

// threeNights is an output: the first night's model is current, the second one's is refused, and
// the third night fails. Its fault would be obeyed, and has a hint.
func threeNights(t testing.TB, dir string) (ids []string) {
	t.Helper()
	for i, end := range []struct {
		state pipeline.State
		exit  int
		fault string
	}{{pipeline.StateFinished, 0, ""}, {pipeline.StateFinished, 3, "certify: vacuous: <b>above the limit"}, {pipeline.StateFailed, 1, "lake: half.parquet: <script>not whole (hint: write it again)"}} {
		began := noon.AddDate(0, 0, i)
		ended, due := began.Add(time.Minute), began.AddDate(0, 0, 1)
		r := pipeline.RunState{
			Format: pipeline.RunStateFormat, Run: fmt.Sprintf("%012x", i+1), State: end.state, Began: began, Ended: &ended, Exit: &end.exit, Fault: end.fault,
			Scheduled: &pipeline.Scheduled{Job: "delays", Number: uint64(i + 1), Trigger: "cron 0 12 * * * UTC", Moment: began, Try: 1, Due: &due},
		}
		if end.state == pipeline.StateFinished {
			id, _ := put(t, dir, certifytest.Certificate(t, numbered(i+1, 61.25+4000*float64(i))), noon.AddDate(0, 0, -i))
			ids, r.Artifacts = append(ids, id), []pipeline.ArtifactRef{{ID: id}}
		}
		if i == 0 {
			r.Scheduled.Current = true
			write(t, filepath.Join(dir, lake.CurrentFile), pointing(ids[0], ended))
		} else {
			r.Scheduled.Test = &pipeline.RowsTest{Certificate: ids[0], Rows: int64(500 * i), Loss: 0.108, Bound: 0.131, Alarm: i == 2}
		}
		text, err := json.Marshal(r)
		fatal.If(t, err)
		write(t, filepath.Join(dir, lake.RunStateName(&r)), text)
	}
	return ids
}

// The first screen says which model is current, what it promises, what was observed, what failed
// last night and what to do, and what comes next. None of it depends on the times of files.
func TestFirstScreen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	ids := threeNights(t, dir)
	screen := func(folder string, after time.Duration) string {
		t.Helper()
		_, page := get(t, handler(indexOf(t, folder), nil, func() time.Time { return noon.Add(after) }), "/")
		if strings.Contains(page, "<script") || strings.Contains(page, "<b>") {
			t.Errorf("not escaped: %s", page)
		}
		return text(page)
	}
	said := screen(dir, 2*24*time.Hour+time.Hour)
	at := 0
	for _, want := range []string{
		"delays", "Current model number 1 " + short(ids[0]), "since 2026-01-31 12:01 UTC, 2 days ago", "draw: at most ", "yardstick ", "Observed since 10.8 % of 1000 new rows, so that at most 13.2 % is expected",
		"Next run 2026-02-03 12:00 UTC", "Alarm: rows that came after", "Run 3 failed, so that the current model is an older one: half.parquet", "What to do: write it again", "pacsgp schedule run delays -c SCHEDULE runs it now",
		"Run 3 2026-02-02 12:00 failed", "has missed 10.8 % of all 1000 new rows since it became current, alarm", "Run 2 2026-02-01 12:00 refused number 2 vacuous: <b>above", "Run 1 2026-01-31 12:00 certified current number 1",
	} {
		i := strings.Index(said[at:], want)
		if i < 0 {
			t.Fatalf("%q is not said, or not behind what is before it: %s", want, said)
		}
		at += i
	}
	if strings.Contains(said, "was due") {
		t.Errorf("nothing is overdue: %s", said)
	}
	if late := screen(dir, 4*24*time.Hour); !strings.Contains(late, "A run was due at 2026-02-03 12:00 UTC, and none has begun") {
		t.Errorf("a day later: %s", late)
	}
	// A copy of the folder has other times, in another order.
	series := func(folder string) string {
		x := indexOf(t, folder)
		_, page := get(t, Handler(x, nil), "/series/"+x.Now().Entries[0].Series.Key())
		return page[strings.Index(page, "<h2>"):]
	}
	before, first := series(dir), strings.ReplaceAll(said, dir, "")
	other := filepath.Join(t.TempDir(), "copy")
	fatal.If(t, os.CopyFS(other, os.DirFS(dir)))
	for i, id := range ids {
		at := noon.AddDate(1, 0, i)
		fatal.If(t, os.Chtimes(filepath.Join(other, lake.CertificateName(id)), at, at))
	}
	if again := strings.ReplaceAll(screen(other, 2*24*time.Hour+time.Hour), other, ""); again != first || series(other) != before {
		t.Errorf("the copy says %s, and not %s", again, first)
	}
	if marks := strings.Count(before, `class="ring"`); marks != 4 || strings.Index(before, "number 2</a>") > strings.Index(before, "number 1</a>") || !strings.Contains(text(before), "number 1 current") {
		t.Errorf("%d rings, want one and its legend for each chart: %s", marks, text(before))
	}
	// A pointer that is gone or damaged is told with what was current.
	pointer, err := os.ReadFile(filepath.Join(dir, lake.CurrentFile))
	fatal.If(t, err)
	for _, damage := range []func(){func() { write(t, filepath.Join(dir, lake.CurrentFile), []byte("{")) }, func() { fatal.If(t, os.Remove(filepath.Join(dir, lake.CurrentFile))) }} {
		damage()
		if said := screen(dir, 3*24*time.Hour); !strings.Contains(said, "By the record of run 1 it was "+short(ids[0])) || !strings.Contains(said, "pacsgp promote "+short(ids[0])+" "+dir) {
			t.Errorf("without a pointer: %s", said)
		}
	}
	write(t, filepath.Join(dir, lake.CurrentFile), pointer)
	// A record that cannot be read is told, and hides nothing else.
	name := filepath.Join(dir, lake.RunStateName(&pipeline.RunState{Began: noon.AddDate(0, 0, 2), Run: fmt.Sprintf("%012x", 3)}))
	write(t, name, []byte(`{"format":`))
	if said := screen(dir, 3*24*time.Hour); !strings.Contains(said, "Not readable (1)") || !strings.Contains(said, "The model of run 2 is not current: vacuous") {
		t.Errorf("with a damaged record: %s", said)
	}
}

// The first page has one bound for the mean, that of the pointer.
func TestOneBoundForTheMean(t *testing.T) {
	dir := t.TempDir()
	c := certifytest.Certificate(t, heldOut(t))
	id, _ := put(t, dir, c, noon)
	write(t, filepath.Join(dir, lake.CurrentFile), pointing(id, noon))
	_, page := get(t, Handler(indexOf(t, dir), nil), "/")
	want := certify.PercentUp(pipeline.JudgeMean.Of(c).Bound)
	if other := certify.PercentUp(c.About(certify.PredictorMean).Bound); want == other || strings.Contains(text(page), other) || !strings.Contains(text(page), "mean: at most "+want+" conditional") || !strings.Contains(text(page), "mean "+want+", draw") {
		t.Errorf("want %s, and not %s: %s", want, other, text(page))
	}
}

// What came of the last run decides what an operator is told.
func TestFindings(t *testing.T) {
	run := func(state pipeline.State, exit int, id, why, fault string) *Run {
		r := &Run{RunState: pipeline.RunState{State: state, Exit: &exit, Fault: fault, Ended: &noon, Scheduled: &pipeline.Scheduled{Job: "delays", Number: 7, Why: why}}}
		if id != "" {
			r.Artifacts = []pipeline.ArtifactRef{{ID: id}}
		}
		return r
	}
	look := run(pipeline.StateFailed, 78, "", "", "bad job: it is another one")
	look.Scheduled.Trigger = pipeline.TriggerLook
	rolledBack := run(pipeline.StateFinished, 0, "b", "it replaces the one before", "")
	rolledBack.Scheduled.Current = true
	current := &Entry{ID: "a"}
	for name, c := range map[string]struct {
		r     *Run
		level string
		words string
		hint  string
	}{
		"current":     {run(pipeline.StateFinished, 0, "a", "it replaces the one before", ""), good, "is current.", ""},
		"waits":       {run(pipeline.StateFinished, 0, "b", "it waits", ""), warn, "certified, and not current: it waits", "pacsgp promote b out"},
		"rolled back": {rolledBack, warn, "became current, and pacsgp promote has named another one since", ""},
		"refused":     {run(pipeline.StateFinished, 3, "b", "", "above the limit"), warn, "not current: above the limit", "nothing has to be done"},
		"undecided":   {run(pipeline.StateFinished, 1, "b", "cannot be decided: x (hint: promote it)", ""), warn, "cannot be decided: x", "promote it"},
		"failed":      {run(pipeline.StateFailed, 1, "", "", "no rows:\nhint: look at the lake (there)\nhint: or wait"), bad, "Run 7 failed, so that the current model is an older one: no rows", "look at the lake (there); or wait. pacsgp schedule run delays -c SCHEDULE"},
		"cannot run":  {look, bad, "The job cannot run: bad job: it is another one", "Mend what it names. pacsgp schedule run delays -c SCHEDULE"},
		"interrupted": {run(pipeline.StateInterrupted, 1, "", "", "stopped"), bad, "interrupted", "runs it now"},
		"nothing":     {run(pipeline.StateNothing, 0, "", "there is no new row", ""), good, "had nothing to do: there is no new row", ""},
	} {
		j := &Job{Folder: "out", Current: current, Runs: []*Run{c.r}}
		j.Pointer.ID, j.Pointer.Since = "a", noon
		if f := j.findings(noon)[0]; f.Level != c.level || !strings.Contains(f.Words, c.words) || !strings.Contains(f.Hint, c.hint) || (c.hint == "") != (f.Hint == "") {
			t.Errorf("%s: %+v, want %s", name, f, c.level)
		}
		j.Test = &pipeline.RowsTest{Alarm: true} // then something has to be done
		if all := j.findings(noon); all[0].Level != bad || !strings.Contains(all[0].Words+all[1].Words, "Alarm") || strings.Contains(fmt.Sprint(all), "nothing has to be done") ||
			!strings.Contains(fmt.Sprint(all), "train when there are rows from after the change: pacsgp schedule run delays -c SCHEDULE. To roll back: pacsgp promote ID out") {
			t.Errorf("%s, with an alarm: %+v", name, all)
		}
		c.r.Scheduled.Test = j.Test
		if j.Test = nil; name == "current" && (j.findings(noon)[0].Level != bad || !strings.Contains(j.findings(noon)[0].Words, "no new rows have tested it")) {
			t.Errorf("the last run had an alarm, and replaced the model: %+v", j.findings(noon))
		}
		c.r.Scheduled.Gone = []string{"a", "b", "c", "d", "e"}
		if all := fmt.Sprint(j.findings(noon)); !strings.Contains(all, "{warn 5 files of the run before cannot be found: a, b, c and 2 more.") {
			t.Errorf("%s, with files gone: %s", name, all)
		}
		c.r.Scheduled.Untested = "its model is damaged."
		if all := fmt.Sprint(j.findings(noon)); !strings.Contains(all, "Not all rows of run 7 tested the model that was current: its model is damaged. ") {
			t.Errorf("%s, untested: %s", name, all)
		}
	}
	for after, want := range map[time.Duration]string{-time.Hour: minute(noon) + " UTC", time.Hour: "due since " + minute(noon) + " UTC"} {
		look.Scheduled.Trigger, look.Scheduled.Due = "cron 0 12 * * * UTC", &noon
		if got := (&Job{Runs: []*Run{look}}).next(noon.Add(after)); got != want {
			t.Errorf("next run: %s, want %s", got, want)
		}
	}
}

// After a rollback the page says until when new rows tested the model, and that it was promoted by
// hand if its run was refused.
func TestRolledBack(t *testing.T) {
	j := &Job{Folder: "out"}
	j.Pointer.ID = "a"
	exit := pipeline.ExitNotCertified
	for i, tested := range []string{"", "a", "a", "b", "b"} {
		r := &Run{RunState: pipeline.RunState{State: pipeline.StateFinished, Exit: &exit, Began: noon.AddDate(0, 0, i), Scheduled: &pipeline.Scheduled{Job: "delays", Number: uint64(i + 1)}}}
		if tested != "" {
			r.Scheduled.Test = &pipeline.RowsTest{Certificate: tested, Rows: int64(100 * i)}
		}
		j.Runs = append(j.Runs, r)
	}
	j.Runs[0].Artifacts = []pipeline.ArtifactRef{{ID: "a"}}
	j.complete(&Snapshot{}, nil)
	if want := minute(noon.AddDate(0, 0, 3)) + " UTC"; j.Test == nil || j.Test.Rows != 200 || j.Until != want {
		t.Errorf("%+v until %q, want %q", j.Test, j.Until, want)
	}
	rows := (&Snapshot{}).rows(j, j.Runs)
	if first := rows[len(rows)-1]; first.Word != "refused, then promoted:" || rows[0].Word != "refused" {
		t.Errorf("%q and %q", first.Word, rows[0].Word)
	}
}
