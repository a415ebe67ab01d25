package console

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/report"
)

//go:embed assets/*
var assets embed.FS

//go:embed pages/*.html
var pages embed.FS

// Handler serves the pages of an index and, unless live is nil, a page with the current work of a
// service. It does not authenticate; /login shows the form for a token.
func Handler(x *Index, live func() Live) http.Handler { return handler(x, live, time.Now) }

func handler(x *Index, live func() Live, now func() time.Time) http.Handler {
	s := &server{index: x, pages: parsePages(), live: live, now: now}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.overview)
	if live != nil {
		mux.HandleFunc("GET /live", s.livePage)
	}
	mux.HandleFunc("GET /job/{key}", s.jobPage)
	mux.HandleFunc("GET /runs/{key}", s.runsPage)
	mux.HandleFunc("GET /series/{key}", s.seriesPage)
	mux.HandleFunc("GET /certificate/{id}", s.certificate)
	mux.HandleFunc("GET /compare", s.compare)
	mux.HandleFunc("GET /unreadable", s.unreadable)
	mux.HandleFunc("GET /about", s.about)
	mux.HandleFunc("/login", func(w http.ResponseWriter, r *http.Request) {
		s.show(w, http.StatusUnauthorized, "login", page{Title: "Token", Data: r.Method == http.MethodPost})
	})
	files := http.FileServerFS(assets)
	mux.HandleFunc("GET /assets/{name}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		files.ServeHTTP(w, r)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		s.refuse(w, http.StatusNotFound, "Not found", "There is no such page.")
	})
	return mux
}

type server struct {
	index *Index
	pages map[string]*template.Template
	live  func() Live // nil without a service
	now   func() time.Time
}

// A page has the data for a template inside the common frame.
type page struct {
	Title   string
	Now     *Snapshot
	Notices []string
	Data    any
	Live    bool // there is a page of a service
	Renewed int  // seconds until a browser reloads the page; 0 means never
}

func parsePages() map[string]*template.Template {
	frame := template.Must(template.New("frame").Funcs(template.FuncMap{
		"safe": report.Escape, "percent": certify.PercentUp, "near": certify.PercentNear, "declared": certify.PercentDeclared, "sign": func(class, word string) [2]string { return [2]string{class, word} }, "rows": func(rows []RunRow, name string) []any { return []any{rows, name} }, "count64": certify.Count[int64], "day": day, "minute": minute, "clock": clock, "short": short, "count": certify.Count[int], "next": func(n int) int { return n + 1 }, "cut": cut,
	}).ParseFS(pages, "pages/frame.html", "pages/parts.html", "pages/cards.html"))
	all := map[string]*template.Template{}
	for _, name := range []string{"overview", "job", "runs", "series", "certificate", "compare", "unreadable", "about", "message", "login", "live"} {
		all[name] = template.Must(template.Must(frame.Clone()).ParseFS(pages, "pages/"+name+".html"))
	}
	return all
}

// short returns the beginning of an id.
func short(id string) string { return id[:min(12, len(id))] }

// cut returns the beginning of a reason, escaped: it may quote a file.
func cut(text string) string {
	const most = 1200
	if text = report.Escape(text); len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// refuse shows a page with the reasons why there is no other.
func (s *server) refuse(w http.ResponseWriter, status int, title string, reasons ...string) {
	s.show(w, status, "message", page{Title: title, Now: s.index.Now(), Data: reasons})
}

// show writes a page, whole or not at all.
func (s *server) show(w http.ResponseWriter, status int, name string, p page) {
	if p.Now == nil {
		p.Now = snapshotOf(nil, nil, nil, true)
	}
	p.Live = s.live != nil
	for _, text := range p.Now.Notices {
		p.Notices = append(p.Notices, report.Escape(text))
	}
	var text bytes.Buffer
	if err := s.pages[name].ExecuteTemplate(&text, "frame", p); err != nil {
		http.Error(w, "the page could not be made: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes())
}

// The largest number of entries in a list, of jobs on a page, and of runs of a job on it.
const (
	perPage  = 100
	mostJobs = 20
	mostRuns = 5
)

// A Part is a range of a list that is divided among pages: entries From to To, exclusive, of All.
type Part struct {
	From, To, All int
	Before, After string // addresses of the neighbours, or ""
}

// partOf returns the part that a request asks for.
func partOf(r *http.Request, all, perPage int) Part {
	number, err := strconv.Atoi(r.URL.Query().Get("page"))
	last := max(1, (all+perPage-1)/perPage)
	if err != nil || number < 1 {
		number = 1
	}
	number = min(number, last)
	p := Part{From: (number - 1) * perPage, To: min(number*perPage, all), All: all}
	address := func(n int) string {
		query := r.URL.Query()
		query.Set("page", strconv.Itoa(n))
		return r.URL.Path + "?" + query.Encode()
	}
	if number > 1 {
		p.Before = address(number - 1)
	}
	if number < last {
		p.After = address(number + 1)
	}
	return p
}

// A card is what the first screen says of a job.
type card struct {
	*Job

	Findings []Finding
	Since    string // how long the current certificate is current
	Next     string
	Latest   []RunRow
	Series   []seriesRow
	Alone    bool // on a page of its own
}

// A seriesRow is a series of a job.
type seriesRow struct {
	Series  Series
	Latest  *Entry
	Count   int
	Outline string // of the latest bounds
}

// mostSeries bounds the series of a card.
const mostSeries = 50

func (s *server) card(now *Snapshot, j *Job) card {
	at := s.now()
	c := card{Job: j, Findings: j.findings(at), Next: j.next(at), Latest: now.rows(j, j.Runs[:min(len(j.Runs), mostRuns)])}
	if !j.Pointer.Since.IsZero() {
		c.Since = fmt.Sprintf("%s UTC, %s", minute(j.Pointer.Since.UTC()), ago(at, j.Pointer.Since))
	}
	for _, of := range j.Series[:min(len(j.Series), mostSeries)] {
		all := now.bySeries[of.Key()]
		if all == nil { // its certificates are listed in another folder
			continue
		}
		var bounds []float64
		for _, e := range slices.Backward(all[:min(len(all), 40)]) {
			bounds = append(bounds, e.Draw.Bound)
		}
		c.Series = append(c.Series, seriesRow{of, all[0], len(all), outline(bounds)})
	}
	return c
}

func (s *server) overview(w http.ResponseWriter, r *http.Request) {
	now := s.index.Now()
	part := partOf(r, len(now.Jobs), mostJobs)
	var cards []card
	for _, j := range now.Jobs[part.From:part.To] {
		cards = append(cards, s.card(now, j))
	}
	doing := ""
	if s.live != nil {
		doing = s.live().Doing
	}
	s.show(w, http.StatusOK, "overview", page{Title: "Models", Now: now, Data: struct {
		Cards []card
		Roots []string
		Part  Part
		Doing string
		Whole bool // all files were read
	}{cards, s.index.roots, part, doing, now.Whole}})
}

// job finds the job that a request is about, or refuses the request.
func (s *server) job(w http.ResponseWriter, r *http.Request) (*Snapshot, *Job) {
	now := s.index.Now()
	j := now.byJob[r.PathValue("key")]
	if j == nil {
		s.refuse(w, http.StatusNotFound, "Not found", "There is no such job (any more).")
	}
	return now, j
}

func (s *server) jobPage(w http.ResponseWriter, r *http.Request) {
	if now, j := s.job(w, r); j != nil {
		c := s.card(now, j)
		c.Alone = true
		s.show(w, http.StatusOK, "job", page{Title: report.Escape(j.Name), Now: now, Data: c})
	}
}

func (s *server) runsPage(w http.ResponseWriter, r *http.Request) {
	if now, j := s.job(w, r); j != nil {
		part := partOf(r, len(j.Runs), perPage)
		s.show(w, http.StatusOK, "runs", page{Title: "Runs of " + report.Escape(j.Name), Now: now, Data: struct {
			Job  *Job
			Rows []RunRow
			Part Part
		}{j, now.rows(j, j.Runs[part.From:part.To]), part}})
	}
}

func (s *server) seriesPage(w http.ResponseWriter, r *http.Request) {
	now := s.index.Now()
	all := now.bySeries[r.PathValue("key")]
	if all == nil {
		s.refuse(w, http.StatusNotFound, "Not found", "There is no such series of certificates (any more).")
		return
	}
	part := partOf(r, len(all), perPage)
	s.show(w, http.StatusOK, "series", page{Title: "Certificates of " + report.Escape(all[0].Series.Target), Now: now, Data: struct {
		Series  Series
		Charts  []Chart
		Entries []*Entry
		Part    Part
		Current map[string]bool
		Job     *Job
	}{all[0].Series, []Chart{drawChart("mean", all, certify.PredictorMean, now.Current), drawChart("draw", all, certify.PredictorDraw, now.Current)}, all[part.From:part.To], part, now.Current, now.byJob[keyOf(all[0].Series.Folder)]}})
}

// read reads the file of a certificate again: it may have changed since the scan.
func (s *server) read(now *Snapshot, id string) (e *Entry, c certify.Certificate, err error) {
	e = now.byID[id]
	if e == nil {
		return nil, c, fmt.Errorf("there is no certificate %s", report.Escape(strconv.Quote(short(id))))
	}
	c, found, err := readCertificate(e.Path)
	if err == nil && found != id {
		err = fmt.Errorf("%s holds another certificate now", e.Path)
	}
	return e, c, err
}

func (s *server) certificate(w http.ResponseWriter, r *http.Request) {
	now := s.index.Now()
	e, c, err := s.read(now, r.PathValue("id"))
	var words report.Page
	if err == nil {
		words, err = report.PageOf(c, report.Anybody)
	}
	if err != nil {
		s.refuse(w, http.StatusNotFound, "Not readable", err.Error())
		return
	}
	manifest, err := manifestBeside(e, c)
	fault := ""
	if err != nil {
		fault = plainly(err).Error()
	}
	var files []pipeline.ManifestFile
	if manifest != nil {
		files = manifest.Files
	}
	const mostListed = 100
	s.show(w, http.StatusOK, "certificate", page{Title: "Certificate " + short(e.ID), Now: now, Data: struct {
		Entry         *Entry
		Words         report.Page
		Ledger        certify.Ledger
		Current       bool
		Files, Listed []pipeline.ManifestFile
		Fault         string // of the manifest
	}{e, words, c.Ledger, now.Current[e.ID], files, files[:min(len(files), mostListed)], fault}})
}

func (s *server) compare(w http.ResponseWriter, r *http.Request) {
	now := s.index.Now()
	query := r.URL.Query()
	a, b := strings.TrimSpace(query.Get("a")), strings.TrimSpace(query.Get("b"))
	if a == "" || b == "" || a == b {
		s.refuse(w, http.StatusBadRequest, "Which two?", "Choose a first and a second certificate, which are not the same.")
		return
	}
	one, first, err := s.read(now, a)
	if err != nil {
		s.refuse(w, http.StatusNotFound, "Not readable", err.Error())
		return
	}
	other, second, err := s.read(now, b)
	if err != nil {
		s.refuse(w, http.StatusNotFound, "Not readable", err.Error())
		return
	}
	if reasons := certify.Incomparable(first, second); reasons != nil {
		for i, text := range reasons {
			reasons[i] = "They differ in " + text + "."
		}
		s.refuse(w, http.StatusUnprocessableEntity, "These two cannot be compared", reasons...)
		return
	}
	s.show(w, http.StatusOK, "compare", page{Title: "Two certificates", Now: now, Data: struct {
		One, Other *Entry
		Rows       []comparison
		Words      []string
	}{one, other, compared(first, second), remarksOn(first, second)}})
}

func (s *server) unreadable(w http.ResponseWriter, r *http.Request) {
	now := s.index.Now()
	part := partOf(r, len(now.Faults), perPage)
	s.show(w, http.StatusOK, "unreadable", page{Title: "Files that are no certificates", Now: now, Data: struct {
		Faults []*Fault
		Part   Part
	}{now.Faults[part.From:part.To], part}})
}

func (s *server) about(w http.ResponseWriter, _ *http.Request) {
	s.show(w, http.StatusOK, "about", page{Title: "Words and signs", Now: s.index.Now()})
}
