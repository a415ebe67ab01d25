package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/docs"
	"github.com/pacsgp/pacsgp/internal/durable/durabletest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
	"github.com/pacsgp/pacsgp/sink/console"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// Nights are those of a job over all files of a lake, one file a night, whose run is due at half past
// two in Berlin. The first one is that of the 29th of January 2026, the 60th that of the 29th of March.
type nights struct {
	*stage

	t          *testing.T
	dir, path  string
	night      int
	full, dead bool // the disk, and the process
	ended      []string
	spoilt     string // the file that a trouble has spoilt
	metrics    *scheduleMetrics
}

// begin starts the scheduler, as after the end of the one before.
func (n *nights) begin() {
	if n.stage != nil {
		_ = n.record.Close()
	}
	n.dead = false
	n.stage = onDisk(n.t, n.path, hooked(func(op durabletest.Operation, effect func() error) error {
		switch {
		case n.full && (op.Kind == durabletest.Write || op.Kind == durabletest.Create):
			return &os.PathError{Op: op.Kind, Path: op.Name, Err: syscall.ENOSPC}
		case n.dead:
			return errors.New("the process has ended")
		}
		return effect()
	}))
	n.metrics = newScheduleMetrics([]*config.ScheduledTask{n.job})
	n.Tested, n.Seen = n.metrics.tested, n.metrics.seen
	n.Ended = func(j *schedule.Job, r *pipeline.RunState) {
		n.metrics.ended(j, r)
		if !n.dead {
			n.ended = append(n.ended, strings.TrimSuffix(fmt.Sprintf("`%s` `%s`", r.State, schedule.Cause(r)), " ``"))
		}
	}
}

// file is the file of a night.
func (n *nights) file(night int, name string) string {
	return filepath.Join(n.dir, "lake", n.day(night).Format("day="+time.DateOnly), name+".parquet")
}

func (n *nights) day(night int) time.Time { return time.Date(2026, 1, 28+night, 0, 0, 0, 0, time.UTC) }

func (n *nights) rows(night int) table {
	columns := smallRows(n.t).Rows(int64(60*night), 60)
	return table{"x1": columns[0], "x2": columns[1], "y": columns[2]}
}

// look looks at the job at a time of the night. A fault of the output is no fault of the test.
func (n *nights) look(at time.Duration) {
	writtenBy(n.t, n.lake, n.day(n.night).Add(at))
	_, err := n.Look(n.t.Context(), n.job.Job, n.day(n.night).Add(at))
	if err != nil && !n.dead && !n.full {
		n.t.Errorf("night %d: %v", n.night, err)
	}
}

// pass lets a night pass. It returns its runs, whether the metrics say that the job fails, and the
// first page of the console.
func (n *nights) pass(trouble func()) (runs, failing, page string) {
	n.night++
	n.ended = nil
	n.rows(n.night).write(n.t, n.file(n.night, "part"))
	trouble()
	n.look(30 * time.Minute)
	if n.look(210 * time.Minute); n.dead {
		n.begin()
		n.look(211 * time.Minute)
	}
	answer := httptest.NewRecorder()
	console.Handler([]string{n.job.Out.Folder()}).ServeHTTP(answer, httptest.NewRequestWithContext(n.t.Context(), "GET", "http://localhost/", nil))
	metrics := filepath.Join(n.t.TempDir(), "metrics")
	fatal.If(n.t, writeMetrics(metrics, n.metrics.registry))
	for text := range strings.Lines(string(readFile(n.t, metrics))) {
		if value, ok := strings.CutPrefix(text, `pacsgp_scheduled_failing{job="waves"} `); ok {
			failing = strings.TrimSpace(value)
		}
	}
	for _, end := range n.ended {
		label, cause, _ := strings.Cut(strings.ReplaceAll(end, "`", ""), " ")
		if counter := fmt.Sprintf(`pacsgp_scheduled_runs_total{cause="%s",job="waves",state="%s"}`, cause, label); !strings.Contains(string(readFile(n.t, metrics)), counter) {
			n.t.Errorf("night %d: no %s", n.night, counter)
		}
	}
	return cmp.Or(strings.Join(n.ended, ", "), "none"), failing, html.UnescapeString(answer.Body.String())
}

// well reports whether the last night's model is current, and nothing fails.
func well(runs, failing, page string) bool {
	return strings.HasSuffix(runs, "`finished`") && failing == "0" && strings.Contains(page, "The model of the last run is current.")
}

// A trouble comes before a night's run. Unless it ends by itself, the operator mends it.
type trouble struct {
	name       string
	come, mend func()
}

// The table of docs/schedule.md says what comes of each trouble, and what has to be done: nights with
// each of them one after the other, and one without before the next.
func TestTroublesOfNights(t *testing.T) {
	if testing.Short() {
		t.Skip("thirty nights and more")
	}
	dir := t.TempDir()
	job := tiny(jobFile{"guarantees": "pac-bayes", "features": "[x1, x2]", "limit": "0.25"}).write(t, dir)
	n := &nights{t: t, dir: dir, path: writeSchedule(t, dir, job, `triggers: [{cron: "30 2 * * *", zone: Europe/Berlin}]`)}
	for night := -3; night <= 0; night++ {
		n.rows(80+night).write(t, n.file(night, "part"))
	}
	n.begin()
	said := troubleTable(t)
	if a, b, c := n.pass(func() {}); !well(a, b, c) {
		t.Fatalf("the first night: %s, failing %s", a, b)
	}
	for _, of := range append(n.troublesOfFiles(), n.troublesOfServices()...) {
		row := said[of.name]
		delete(said, of.name)
		if row == nil {
			t.Errorf("docs/schedule.md has no row %q", of.name)
			row = []string{"", "", "", ""}
		}
		runs, failing, page := n.pass(of.come)
		if runs != row[0] || failing != row[1] || !strings.Contains(page, row[2]) || row[2] == "" {
			t.Errorf("night %d, %s: runs %q, want %q; failing %s, want %s; the console has to say %q:\n%s", n.night, of.name, runs, row[0], failing, row[1], row[2], findings(page))
		}
		if (of.mend == nil) != strings.HasPrefix(row[3], "by itself") {
			t.Errorf("%s: it ends %q", of.name, row[3])
		}
		again := func() { n.full = false }
		if of.mend != nil {
			if a, b, c := n.pass(again); well(a, b, c) {
				t.Errorf("%s: it ends by itself", of.name)
			}
			again = of.mend
		}
		if a, b, c := n.pass(again); !well(a, b, c) {
			t.Fatalf("night %d, after %s: %s, failing %s:\n%s", n.night, of.name, a, b, findings(c))
		}
	}
	for name := range said {
		t.Errorf("docs/schedule.md has a row %q, which no night has", name)
	}
}

// findings are the words of a page's findings.
func findings(page string) string {
	_, page, _ = strings.Cut(page, "<main")
	var text strings.Builder
	for part := range strings.SplitSeq(page, "<") {
		_, words, _ := strings.Cut(part, ">")
		text.WriteString(strings.TrimSpace(words) + " ")
	}
	return text.String()
}

// troubleTable is the table of docs/schedule.md by its first column.
func troubleTable(t *testing.T) map[string][]string {
	t.Helper()
	_, text, found := strings.Cut(docs.Schedule, "| trouble |")
	if !found {
		t.Fatal("docs/schedule.md has no table of troubles")
	}
	text, _, _ = strings.Cut(text, "\n\n")
	rows := map[string][]string{}
	for line := range strings.SplitSeq(text, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) == 5 && !strings.Contains(line, "|---|") {
			rows[cells[0]] = cells[1:]
		}
	}
	return rows
}

// extra adds a second file to a night's folder, the file that is mended.
func (n *nights) extra(night int, rows table) {
	n.spoilt = n.file(night, "more")
	rows.write(n.t, n.spoilt)
}

// today replaces the file of the night.
func (n *nights) today(rows table) {
	n.spoilt = n.file(n.night, "part")
	rows.write(n.t, n.spoilt)
}

func (n *nights) remove(path string) { fatal.If(n.t, os.Remove(path)) }

func (n *nights) troublesOfFiles() []trouble {
	whole := func() { n.rows(n.night-2).write(n.t, n.spoilt) } // the second night after
	return []trouble{
		{"a file comes late", func() { n.extra(n.night-2, n.rows(90)) }, nil},
		{"a night has no file", func() { n.remove(n.file(n.night, "part")) }, nil},
		{"a file comes twice", func() { n.extra(n.night, n.rows(n.night-1)) }, func() { n.remove(n.spoilt) }},
		{"a file is half-written", func() {
			n.spoilt = n.file(n.night, "part")
			writeFile(n.t, n.spoilt, readFile(n.t, n.spoilt)[:300])
		}, whole},
		{"a file is written again with other rows", func() { n.rows(91).write(n.t, n.file(n.night-2, "part")) }, nil},
		{"a file is removed", func() { n.remove(n.file(n.night-1, "part")) }, nil},
		{"a null in a column", func() {
			rows, x2 := n.rows(n.night), make([]any, 60)
			for i, v := range rows["x2"].([]float64) {
				x2[i] = v
			}
			x2[7] = nil
			n.today(rows.with("x2", x2))
		}, whole},
		{"a column turns into text", func() {
			rows, text := n.rows(n.night), make([]string, 60)
			for i, v := range rows["x1"].([]float64) {
				text[i] = strconv.FormatFloat(v, 'g', -1, 64)
			}
			n.today(rows.with("x1", text))
		}, whole},
		{"rows of another source", func() {
			noise := rand.New(rand.NewPCG(1, 2))
			x1, x2, y := make([]float64, 3000), make([]float64, 3000), make([]float64, 3000)
			for i := range y {
				x1[i], x2[i], y[i] = noise.NormFloat64(), noise.NormFloat64(), 3*noise.NormFloat64()
			}
			n.extra(n.night, table{"x1": x1, "x2": x2, "y": y})
		}, func() { n.remove(n.spoilt) }},
	}
}

func (n *nights) troublesOfServices() []trouble {
	out, kept := filepath.Join(n.dir, "out"), filepath.Join(n.dir, "kept")
	return []trouble{
		{"the disk is full", func() { n.full = true }, nil},
		{"the scheduler is killed during a run", func() {
			train := n.Train
			n.Train = func(ctx context.Context, j *schedule.Job, job pipeline.Job, rows pipeline.Rows, how pipeline.RunConfig) (*pipeline.Outcome, error) {
				n.dead = true
				return train(ctx, j, job, rows, how)
			}
		}, nil},
		{"the scheduler is away for two nights", func() { n.night += 2 }, nil},
		{"the clocks skip the moment", func() {
			n.night = 59
			n.look(210 * time.Minute)
			n.ended, n.night = nil, 60
			n.rows(60).write(n.t, n.file(60, "part"))
		}, nil},
		{"the clock is put back for a while", func() { n.look(-23 * time.Hour) }, nil},
		{"the record of the scheduler is lost", func() {
			fatal.If(n.t, n.record.Close())
			fatal.If(n.t, os.RemoveAll(filepath.Join(n.dir, "schedule.db")))
			n.begin()
			n.look(-4 * time.Hour)
		}, nil},
		{"the record of the last run is lost", func() {
			found, err := filepath.Glob(filepath.Join(out, "run-*-"+lastRun(n.t, out).Run+".json"))
			fatal.If(n.t, err)
			n.spoilt = found[0]
			fatal.If(n.t, os.Rename(n.spoilt, kept))
		}, func() { fatal.If(n.t, os.Rename(kept, n.spoilt)) }},
		{"the pointer is damaged", func() { writeFile(n.t, filepath.Join(out, "current.json"), []byte("{")) }, func() {
			succeed(n.t, "promote", schedule.Certificate(lastRun(n.t, out))[:12], out)
		}},
		{"`sequences.json` is lost", func() { n.remove(filepath.Join(out, sinklake.SequencesFile)) }, nil},
	}
}
