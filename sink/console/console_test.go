package console

import (
	"context"
	"encoding/json"
	"errors"
	"html"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/watch"
	"github.com/pacsgp/pacsgp/sink/lake"
)

// noon is when the pages are made.
var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	fatal.If(t, os.MkdirAll(filepath.Dir(path), 0o750))
	fatal.If(t, os.WriteFile(path, data, 0o600))
}

// model is the name of the file of the model that was put last.
var model string

// put writes a certificate, edited, with its model into a folder, makes it current, and returns its id.
func put(t testing.TB, folder string, edits ...string) (id string) {
	t.Helper()
	const of = "../../cmd/pacsgp/testdata/corpus/zero-one/"
	file, err := os.ReadFile(of + "model.parquet")
	text, fault := os.ReadFile(of + "certificate.json")
	fatal.If(t, errors.Join(err, fault))
	data := []byte(strings.NewReplacer(edits...).Replace(string(text)))
	id, model = digest.Of(data), lake.ModelName(digest.Of(file))
	write(t, filepath.Join(folder, lake.CertificateName(id)), data)
	write(t, filepath.Join(folder, model), file)
	fatal.If(t, lake.NewOutput(folder, nil).Point(pipeline.Current{ArtifactRef: pipeline.ArtifactRef{ID: id, Model: digest.Of(file)}, Verdict: pipeline.Verdict{Bound: 0.1}, Predictor: certify.PredictorMean, Since: noon}))
	return id
}

// ran writes the record of a run so many hours before noon.
func ran(t testing.TB, folder string, hours int, change func(*pipeline.RunState)) {
	t.Helper()
	ended, exit := noon.Add(-time.Duration(hours)*time.Hour+time.Minute), 0
	r := &pipeline.RunState{
		Format: pipeline.RunStateFormat, Run: "abc", State: pipeline.StateFinished, Began: noon.Add(-time.Duration(hours) * time.Hour), Ended: &ended, Exit: &exit,
	}
	change(r)
	data, err := json.Marshal(r)
	fatal.If(t, err)
	write(t, filepath.Join(folder, lake.RunStateName(r)), data)
}

// counted writes what a watch has counted of a certificate with a bound of 0.1: so many rows, and
// misses of them.
func counted(t testing.TB, folder, id string, rows, misses int) {
	t.Helper()
	alarm, err := certify.NewAlarm(0.1, watch.DefaultDelta)
	fatal.If(t, err)
	test := watch.Test{Certificate: id, Alarm: alarm, Where: "new/day=3/part.parquet"}
	for i := range rows {
		loss := uint64(0)
		if i < misses {
			loss = certify.UnitsPerLoss
		}
		fatal.If(t, errors.Join(test.Losses.AddUnits(loss), test.Alarm.Add([]uint64{loss})))
	}
	data, err := json.Marshal(watch.State{Format: watch.Format, Tests: []watch.Test{test}})
	fatal.If(t, err)
	write(t, filepath.Join(folder, watch.StateFile), data)
}

// anOutput is an output with a current model, a picture and three runs.
func anOutput(t testing.TB) (folder string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "out")
	id := put(t, folder)
	picture, err := os.Create(filepath.Join(folder, lake.PlotFile))
	fatal.If(t, err)
	fatal.If(t, png.Encode(picture, image.NewGray(image.Rect(0, 0, 30, 20))))
	fatal.If(t, picture.Close())
	ran(t, folder, 3, func(r *pipeline.RunState) { r.Artifacts = []pipeline.ArtifactRef{{ID: id}} })
	ran(t, folder, 2, func(r *pipeline.RunState) {
		r.Scheduled = &pipeline.Scheduled{Job: "waves"}
		r.State = pipeline.StateNothing
	})
	counted(t, folder, id, 1000, 51)
	ran(t, folder, 1, func(r *pipeline.RunState) {
		r.State, r.Fault = pipeline.StateFailed, "lake/part.parquet: it is half a file\nand more\nhint: write it whole"
	})
	return folder
}

// get asks for a page, and returns its words.
func get(t testing.TB, h http.Handler, address string) (status int, body string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodGet, address, nil))
	return w.Code, html.UnescapeString(w.Body.String())
}

func handled(folders ...string) http.Handler {
	return handler(folders, nil, func() time.Time { return noon })
}

// The page of an output has its promise, what new rows showed, its runs and its picture.
func TestPageOfAnOutput(t *testing.T) {
	h := handled(anOutput(t))
	status, page := get(t, h, "/")
	for _, want := range []string{
		"<h1>waves</h1>", "off by more than", "current since 2026-01-31 12:00 UTC", "5.1 % is the mean loss on 1,000 rows",
		"The last run failed; the model before it stays current: lake/part.parquet: it is half a file; and more</p>", "<p>write it whole</p>",
		"2026-01-31 09:00", "nothing",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("status %d, and no %q in %s", status, want, page)
		}
	}
	picture := regexp.MustCompile(`src="(/run.png[^"]*)"`).FindStringSubmatch(page)
	if picture == nil {
		t.Fatal("no picture")
	}
	if status, body := get(t, h, picture[1]); status != http.StatusOK || !strings.Contains(body, "PNG") {
		t.Errorf("the picture: %d", status)
	}
	for _, address := range []string{"/output?folder=/etc", "/run.png?folder=/etc", "/output", "/other"} {
		if status, _ := get(t, h, address); status != http.StatusNotFound {
			t.Errorf("%s: status %d", address, status)
		}
	}
}

// Several outputs are a list, the worst first.
func TestListOfOutputs(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a"))
	put(t, filepath.Join(dir, "b"))
	fatal.If(t, os.Remove(filepath.Join(dir, "b", model)))
	put(t, filepath.Join(dir, "c"))
	write(t, filepath.Join(dir, "_hidden", lake.CurrentFile), []byte("{}"))
	_, page := get(t, handled(dir), "/")
	links := regexp.MustCompile(`/output\?folder=([^"]*)"`).FindAllStringSubmatch(page, -1)
	if len(links) != 3 || !strings.HasSuffix(links[0][1], "b") || !strings.Contains(page, "is missing") {
		t.Errorf("%q in %s", links, page)
	}
	for words, h := range map[string]http.Handler{"no model yet": handled(t.TempDir()), "are on topics": handled()} {
		if _, page := get(t, h, "/"); !strings.Contains(page, words) {
			t.Errorf("want %q: %s", words, page)
		}
	}
}

// refused writes the record of a run whose bound is above the limit.
func refused(t testing.TB, folder string, hours int) {
	t.Helper()
	ran(t, folder, hours, func(r *pipeline.RunState) {
		r.Fault, r.Artifacts, *r.Exit = "finished, but above the limit", []pipeline.ArtifactRef{{ID: "other"}}, pipeline.ExitNotCertified
		r.Record = &pipeline.RunRecord{Bound: .679, Limit: .2, Status: certify.StatusCertified}
	})
}

// promoted makes a record that of a run of a schedule whose model has become current.
func promoted(r *pipeline.RunState, why string) {
	r.Scheduled, r.Artifacts = &pipeline.Scheduled{Job: "waves", Current: true, Why: why}, []pipeline.ArtifactRef{{ID: "other"}}
}

// begun makes a record that of a run without an end.
func begun(r *pipeline.RunState) { r.State, r.Ended, r.Exit = pipeline.StateRunning, nil, nil }

// Where the pointer cannot be read, no run is said to be current or not; a run of a process at work is open.
func TestWhatIsUnknownIsNotSaid(t *testing.T) {
	folder := t.TempDir()
	put(t, folder)
	write(t, filepath.Join(folder, lake.CurrentFile), []byte("{}"))
	ran(t, folder, 2, func(r *pipeline.RunState) { promoted(r, "the first") })
	ran(t, folder, 1, begun)
	release, err := lake.NewOutput(folder, nil).Hold()
	fatal.If(t, err)
	_, page := get(t, handled(folder), "/")
	fatal.If(t, release())
	if strings.Contains(page, "is not current") || strings.Contains(page, "at work") || !strings.Contains(page, "<p>pacsgp promote other /") {
		t.Error(page)
	}
	if _, page := get(t, handled(filepath.Join(folder, "none")), "/"); !strings.Contains(page, "/none does not exist.") || strings.Contains(page, "no model yet") {
		t.Error(page)
	}
}

// What is wrong with an output is on its page.
func TestFaultsOfAnOutput(t *testing.T) {
	for want, spoil := range map[string]func(folder, id string){
		"is damaged: its content is not what its name says": func(folder, _ string) { write(t, filepath.Join(folder, model), []byte("another")) },
		"Which model is current is unknown":                 func(folder, _ string) { write(t, filepath.Join(folder, lake.CurrentFile), []byte("{}")) },
		"The current certificate cannot be read":            func(folder, id string) { write(t, filepath.Join(folder, lake.CertificateName(id)), []byte("{}")) },
		"contradict its certificate":                        func(folder, id string) { counted(t, folder, id, 30, 30) },
		"in new/day=3/part.parquet":                         func(folder, id string) { counted(t, folder, id, 30, 30) },
		"The alarm ends when another model becomes current": func(folder, id string) { counted(t, folder, id, 30, 30) },
		".loss.epsilon is 0.06, but":                        func(folder, _ string) { put(t, folder, "\n    \"epsilon\": 0.6", "\n    \"epsilon\": 0.06") },
		"none has begun": func(folder, _ string) {
			due := noon.Add(-time.Hour)
			ran(t, folder, 1, func(r *pipeline.RunState) { r.Scheduled = &pipeline.Scheduled{Due: &due} })
		},
		"is not current: above the limit":         func(folder, _ string) { refused(t, folder, 1) },
		"<td class=\"number\">68.0 %, above 20 %": func(folder, _ string) { refused(t, folder, 1) },
		"warn\"><p>The last model that was trained is not current: above the limit": func(folder, _ string) {
			refused(t, folder, 2)
			ran(t, folder, 1, func(r *pipeline.RunState) { r.State = pipeline.StateNothing })
		},
		"is not current: another one was made current after it.": func(folder, _ string) {
			ran(t, folder, 1, func(r *pipeline.RunState) { promoted(r, "the first") })
		},
		"<p>The current model cannot be used: /": func(folder, _ string) { fatal.If(t, os.Remove(filepath.Join(folder, model))) },
		"<p>pacsgp promote other /": func(folder, _ string) {
			ran(t, folder, 1, func(r *pipeline.RunState) { promoted(r, "the first") })
			fatal.If(t, os.Remove(filepath.Join(folder, lake.CurrentFile)))
		},
		"<p>pacsgp schedule run waves -c FILE tries it again now</p>": func(folder, _ string) {
			ran(t, folder, 1, func(r *pipeline.RunState) {
				promoted(r, "")
				r.State, r.Artifacts = pipeline.StateFailed, nil
			})
		},
		"The run of 2026-01-31 11:00 UTC has not ended, and no process is at work.": func(folder, _ string) { ran(t, folder, 1, begun) },
		"No process streams into this folder.":                                      func(folder, _ string) { write(t, filepath.Join(folder, lake.StreamLock), nil) },
		"The run of 2026-01-31 10:00 UTC ended without a record, killed or on a full disk, and goes on.": func(folder, _ string) {
			ran(t, folder, 2, func(r *pipeline.RunState) { r.State, r.Exit = pipeline.StateFailed, nil })
			ran(t, folder, 1, begun)
		},
	} {
		folder := t.TempDir()
		spoil(folder, put(t, folder))
		if _, page := get(t, handled(folder), "/"); !strings.Contains(page, want) {
			t.Errorf("no %q in %s", want, page)
		}
	}
}

// A service says on each page why it is not ready, once.
func TestFaultsOfAService(t *testing.T) {
	h := handler([]string{anOutput(t)}, func() error {
		return errors.New("a: half a file (hint: whole)\nhint: now\nb: <away>\nwaves: lake/part.parquet: it is half a file; and more")
	}, time.Now)
	for _, address := range []string{"/", "/none"} {
		_, page := get(t, h, address)
		for _, want := range []string{`bad"><p>This service is not ready: a: half a file</p><p>whole; now</p>`, "This service is not ready: b: <away></p></div>"} {
			if !strings.Contains(page, want) {
				t.Errorf("%s: no %q in %s", address, want, page)
			}
		}
		if strings.Contains(page, "not ready: waves: ") != (address == "/none") {
			t.Errorf("%s: what the page says of the last run is not to be repeated: %s", address, page)
		}
	}
}

// Names are never obeyed, by a browser or by a terminal that shows the page's source.
func TestNamesAreEscaped(t *testing.T) {
	const evil = "<script>alert(1)</script>"
	folder := filepath.Join(t.TempDir(), "<img src=x>")
	put(t, folder, "\n    \"target\": \"y\"", "\n    \"target\": \""+evil+"\"", "\"y\"\n", "\""+evil+"\"\n")
	fatal.If(t, os.Remove(filepath.Join(folder, model))) // which is about y
	ran(t, folder, 1, func(r *pipeline.RunState) { r.State, r.Fault = pipeline.StateFailed, evil+"\x1b[31m\u202e" })
	w := httptest.NewRecorder()
	handled(folder).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	if page := w.Body.String(); strings.Contains(page, "<script") || strings.Contains(page, "<img src=x") || strings.ContainsAny(page, "\x1b\u202e") || !strings.Contains(page, "Predictions of &#34;&lt;script&gt;") {
		t.Error(page)
	}
}
