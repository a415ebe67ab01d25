// Package console serves pages that show outputs in a browser: which model is current, what it
// promises, what new rows showed, and how the last runs ended. The server renders pages on request;
// they have no script and load nothing from elsewhere. The package writes no files.
//
// Certificates may come from anyone. Files are read up to a limit, and the content of a file must
// match the digest in its name.
package console

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/sink/report"
)

//go:embed pages.html assets
var files embed.FS

// Handler serves a page for each output in these folders and below. The first page is a list of all
// outputs, or the output if there is only one. If ready is not nil, it returns why the service that
// writes these outputs cannot work now, or nil.
func Handler(folders []string, ready func() error) http.Handler {
	return handler(folders, ready, time.Now)
}

// A server serves the pages of the outputs in and below its roots.
type server struct {
	roots []string
	ready func() error
	pages *template.Template
	now   func() time.Time
}

// A page is the data for the template.
type page struct {
	Title    string
	Service  []remark // faults of the service itself
	Warnings []string
	Output   *output
	List     []*output
}

func handler(folders []string, ready func() error, now func() time.Time) http.Handler {
	s := &server{ready: ready, now: now, pages: template.Must(template.New("pages.html").Funcs(template.FuncMap{
		"safe": report.Escape, "percent": words.PercentUp, "near": words.PercentNear, "declared": words.PercentDeclared, "minute": minute, "count": words.Count[int64], "why": why,
	}).ParseFS(files, "pages.html"))}
	for _, folder := range folders {
		if whole, err := filepath.Abs(folder); err == nil {
			folder = whole // so that addresses of pages do not depend on the working directory
		}
		s.roots = append(s.roots, folder)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.first)
	mux.HandleFunc("GET /output", s.asked(s.output))
	mux.HandleFunc("GET /run.png", s.asked(s.plot))
	mux.Handle("GET /assets/", http.FileServerFS(files))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { s.missing(w) })
	return mux
}

// show writes a page whole, or an error.
func (s *server) show(w http.ResponseWriter, status int, p page) {
	if s.ready != nil {
		p.Service = slices.DeleteFunc(faults(s.ready()), p.Output.shows)
	}
	var text bytes.Buffer
	if err := s.pages.Execute(&text, p); err != nil {
		http.Error(w, "the page could not be made: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes())
}

func (s *server) missing(w http.ResponseWriter) {
	s.show(w, http.StatusNotFound, page{Title: "Not found", Warnings: []string{"There is no such page, or not any more."}})
}

// first shows the only output, or a list of outputs with the worst state first.
func (s *server) first(w http.ResponseWriter, r *http.Request) {
	folders, warnings := find(s.roots)
	p := page{Title: "Models", Warnings: warnings}
	for _, folder := range folders {
		p.List = append(p.List, read(r.Context(), folder, s.now()))
	}
	switch {
	case len(s.roots) == 0:
		p.Warnings = append(p.Warnings, "The models of this service are on topics, and not shown here.")
	case len(p.List) == 0 && warnings == nil:
		p.Warnings = append(p.Warnings, "There is no model yet.")
	case len(p.List) == 1:
		p.Output, p.List = p.List[0], nil
		p.Title = p.Output.Name
	}
	slices.SortStableFunc(p.List, func(a, b *output) int { return rank(a.State[0].Level) - rank(b.State[0].Level) })
	s.show(w, http.StatusOK, p)
}

// asked calls show with the output that a request names, unless its folder is not shown.
func (s *server) asked(show func(http.ResponseWriter, *http.Request, *output)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		folders, _ := find(s.roots)
		i := slices.Index(folders, r.URL.Query().Get("folder"))
		if i < 0 {
			s.missing(w)
			return
		}
		show(w, r, read(r.Context(), folders[i], s.now()))
	}
}

func (s *server) output(w http.ResponseWriter, _ *http.Request, o *output) {
	s.show(w, http.StatusOK, page{Title: o.Name, Output: o})
}

func (s *server) plot(w http.ResponseWriter, r *http.Request, o *output) {
	if o.Plot == "" {
		s.missing(w)
		return
	}
	w.Header().Set("Content-Type", "image/png")
	http.ServeFile(w, r, o.Plot)
}
