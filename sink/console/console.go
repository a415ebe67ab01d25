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
func Handler(x *Index, live func() Live) http.Handler {
	s := &server{index: x, pages: parsePages(), live: live}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.overview)
	if live != nil {
		mux.HandleFunc("GET /live", s.livePage)
	}
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
		"safe": report.Escape, "atMost": certify.AtMost, "digits": digits, "day": day, "minute": minute, "short": short, "count": certify.Count[int], "next": func(n int) int { return n + 1 }, "cut": cut,
	}).ParseFS(pages, "pages/frame.html", "pages/parts.html"))
	all := map[string]*template.Template{}
	for _, name := range []string{"overview", "series", "certificate", "compare", "unreadable", "about", "message", "login", "live"} {
		all[name] = template.Must(template.Must(frame.Clone()).ParseFS(pages, "pages/"+name+".html"))
	}
	return all
}

// digits prints a number that needs no rounding outwards, with six digits.
func digits(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

// short returns the beginning of an id.
func short(id string) string { return id[:min(12, len(id))] }

// cut returns the beginning of a reason, escaped: it may quote a file.
func cut(text string) string {
	const most = 400
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
		p.Now = newSnapshot(nil, nil, nil, true)
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

// perPage is the largest number of entries in a list.
const perPage = 100

// A Part is a range of a list that is divided among pages: entries From to To, exclusive, of All.
type Part struct {
	From, To, All int
	Before, After string // addresses of the neighbours, or ""
}

// partOf returns the part that a request asks for.
func partOf(r *http.Request, all int) Part {
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

// A seriesRow is a series in the overview.
type seriesRow struct {
	Key     string
	Series  Series
	Latest  *Entry
	Count   int
	Current bool   // a pointer names Latest
	Outline string // of the latest bounds
}

func (s *server) overview(w http.ResponseWriter, r *http.Request) {
	now := s.index.Now()
	part := partOf(r, len(now.series))
	var rows []seriesRow
	for _, key := range now.series[part.From:part.To] {
		all := now.bySeries[key]
		var bounds []float64
		for _, e := range slices.Backward(all[:min(len(all), 40)]) {
			bounds = append(bounds, e.Draw.Bound)
		}
		rows = append(rows, seriesRow{key, all[0].Series, all[0], len(all), now.Current[all[0].ID], outline(bounds)})
	}
	s.show(w, http.StatusOK, "overview", page{Title: "Certificates", Now: now, Data: struct {
		Rows  []seriesRow
		Roots []string
		Part  Part
	}{rows, s.index.roots, part}})
}

func (s *server) seriesPage(w http.ResponseWriter, r *http.Request) {
	now := s.index.Now()
	all := now.bySeries[r.PathValue("key")]
	if all == nil {
		s.refuse(w, http.StatusNotFound, "Not found", "There is no such series of certificates (any more).")
		return
	}
	part := partOf(r, len(all))
	s.show(w, http.StatusOK, "series", page{Title: "Certificates of " + report.Escape(all[0].Series.Target), Now: now, Data: struct {
		Series  Series
		Charts  []Chart
		Entries []*Entry
		Part    Part
		Current map[string]bool
	}{all[0].Series, []Chart{drawChart("mean", all, certify.PredictorMean), drawChart("draw", all, certify.PredictorDraw)}, all[part.From:part.To], part, now.Current}})
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
	part := partOf(r, len(now.Faults))
	s.show(w, http.StatusOK, "unreadable", page{Title: "Files that are no certificates", Now: now, Data: struct {
		Faults []*Fault
		Part   Part
	}{now.Faults[part.From:part.To], part}})
}

func (s *server) about(w http.ResponseWriter, _ *http.Request) {
	s.show(w, http.StatusOK, "about", page{Title: "About these pages", Now: s.index.Now()})
}
