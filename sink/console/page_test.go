package console

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/certify/certifytest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/report"
)

var tag = regexp.MustCompile(`<[^>]*>`)

// text is what a page says, without its marks.
func text(page string) string {
	return strings.Join(strings.Fields(html.UnescapeString(tag.ReplaceAllString(page, " "))), " ")
}

func TestOverviewAndSeries(t *testing.T) {
	dir := t.TempDir()
	var ids []string
	for i, kl := range []float64{400, 200, 61.25} {
		id, _ := put(t, filepath.Join(dir, "night"), certifytest.Certificate(t, numbered(i+1, kl)), noon.Add(-time.Duration(i)*24*time.Hour))
		ids = append(ids, id)
	}
	put(t, filepath.Join(dir, "other"), certifytest.Certificate(t, func(ev *certify.Evidence) { ev.Loss.Epsilon = 2 }), noon)
	x := indexOf(t, dir)
	h := Handler(x, nil)
	status, page := get(t, h, "/")
	for _, want := range []string{"wind", `off by more than 0.6 "m/s"`, `off by more than 2 "m/s"`, filepath.Join(dir, "night"), "certified", "number 3"} {
		if status != http.StatusOK || !strings.Contains(text(page), want) {
			t.Errorf("status %d: %q is not in %s", status, want, text(page))
		}
	}
	latest := x.Now().Entries[0] // by its number: its file is the oldest
	if latest.ID != ids[2] || len(x.Now().bySeries) != 2 {
		t.Fatalf("%d series, the latest is %+v", len(x.Now().bySeries), latest)
	}
	status, page = get(t, h, "/series/"+latest.Series.Key())
	for _, id := range ids {
		if status != http.StatusOK || !strings.Contains(page, "/certificate/"+id) || !strings.Contains(text(page), certify.PercentUp(x.Now().byID[id].Draw.Bound)) {
			t.Errorf("status %d: %s or its bound is not in %s", status, id, text(page))
		}
	}
	if !strings.Contains(page, `<td class="number">1 %</td>`) {
		t.Errorf("delta is not 1 %%: %s", text(page))
	}
	if n := strings.Count(page, `class="certified" d="`); n < 3 {
		t.Errorf("%d marks of certified bounds", n)
	}
	for _, address := range []string{"/series/none", "/certificate/none", "/nothing", "/assets/none", "/certificate/" + strings.Repeat("a", 64), "/series/../../etc/passwd"} {
		if status, _ := get(t, h, address); status < 300 || status >= 500 {
			t.Errorf("%s: status %d", address, status)
		}
	}
}

// A certificate's page has each sentence that inspect prints, in the same order.
func TestCertificateIsAsInspected(t *testing.T) {
	dir := t.TempDir()
	variants := map[string]func(*certify.Evidence){
		"certified": nil,
		"vacuous":   withKL(5000),
		"doubted":   func(ev *certify.Evidence) { ev.Declared.Attempt = certify.Attempt{OnTheseRows: 9, InThisLog: 9} },
		"segments": func(ev *certify.Evidence) {
			ev.Sample.Segments = []certify.Segment{{Topic: "winds", Partition: 3, First: 10, End: 2010, Rows: 1000}, {Topic: "winds", Partition: 4, First: 0, End: 500, Rows: 500}, {Topic: "winds", Partition: 3, First: 2010, End: 2510, Rows: 500}}
		},
	}
	for name, change := range variants {
		c := certifytest.Certificate(t, change)
		id, _ := put(t, dir, c, noon)
		_, page := get(t, Handler(indexOf(t, dir), nil), "/certificate/"+id)
		said := text(page)
		var printed bytes.Buffer
		fatal.If(t, report.WriteCertificate(&printed, c, report.Style{}, report.Anybody))
		at := 0
		for _, paragraph := range strings.Split(printed.String(), "\n\n")[1:] { // the headlines stand apart
			title, rest, _ := strings.Cut(paragraph, "\n")
			for _, words := range []string{title, rest} {
				for _, words := range regexp.MustCompile(`\n  [-?+!] |^  [-?+!] `).Split("\n"+words, -1) {
					for field := range strings.SplitSeq(words, "   ") { // columns
						field = strings.Join(strings.Fields(field), " ")
						found := strings.Index(said[at:], field)
						if status, rest, ok := strings.Cut(field, " ("); ok && found < 0 { // the status of an assumption stands before its name
							_ = status
							_, rest, _ = strings.Cut(rest, "): ")
							found = strings.Index(said[at:], rest)
						}
						if found < 0 {
							t.Fatalf("%s: %q is not on the page, or not behind what stands before it:\n%s", name, field, said)
						}
					}
				}
			}
			at += strings.Index(said[at:], strings.TrimSpace(title))
		}
		for _, h := range c.Guarantees {
			if !strings.Contains(said, strings.Join(strings.Fields(h.Statement), " ")) {
				t.Errorf("%s: %q is not on the page", name, h.Statement)
			}
		}
		for _, doubt := range c.Doubts() {
			if !strings.Contains(said, doubt) {
				t.Errorf("%s: %q is not on the page", name, doubt)
			}
		}
	}
}

// Names come from anybody.
func TestNamesAreEscaped(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "<img src=x onerror=alert(1)>\u202e&amp;\n")
	hostile := "<script>alert(1)<⁄script>{{.}}&lt;"
	c := certifytest.Certificate(t, func(ev *certify.Evidence) {
		ev.Loss.Target, ev.Sample.Columns = hostile, []string{"<svg onload=alert(2)>", hostile}
		ev.Theta[0].Name = "ln lengthscale of <svg onload=alert(2)>"
		ev.Roles.Key, ev.Declared.Software = "<b>key", "<i>software"
	})
	id, _ := put(t, dir, c, noon)
	other, _ := put(t, dir, certifytest.Certificate(t, func(ev *certify.Evidence) {
		ev.Loss.Target, ev.Sample.Columns = hostile, []string{"<svg onload=alert(3)>", hostile}
		ev.Theta[0].Name = "ln lengthscale of <svg onload=alert(3)>"
	}), noon)
	write(t, filepath.Join(dir, "certificate-<u>\u202e.json"), []byte("<script>alert(4)</script>"))
	x := indexOf(t, dir)
	h := Handler(x, nil)
	if len(x.Now().Entries) != 2 || len(x.Now().Faults) != 1 {
		t.Fatalf("%d certificates and %d others, want 2 and 1", len(x.Now().Entries), len(x.Now().Faults))
	}
	named := 0
	for _, address := range []string{"/", "/series/" + x.Now().Entries[0].Series.Key(), "/certificate/" + id, "/compare?a=" + id + "&b=" + other, "/unreadable", "/certificate/<script>", "/compare?a=<script>&b=<b>", "/?page=<script>"} {
		_, page := get(t, h, address)
		for _, bad := range []string{"<script", "<img", "<svg onload", "<b>", "<i>", "<u>", "\u202e", "onerror=\""} {
			if strings.Contains(page, bad) {
				t.Errorf("%s has %q: %s", address, bad, page)
			}
		}
		if strings.Contains(text(page), hostile) {
			named++
		}
	}
	if named < 4 {
		t.Errorf("%d pages show the name as it is", named)
	}
}

// Two certificates are compared if they are about the same thing, and refused with the
// reasons if not.
func TestCompare(t *testing.T) {
	dir := t.TempDir()
	first, _ := put(t, dir, certifytest.Certificate(t, nil), noon)
	second, _ := put(t, dir, certifytest.Certificate(t, withKL(200)), noon)
	x := func() http.Handler { return Handler(indexOf(t, dir), nil) }
	status, page := get(t, x(), "/compare?a="+first+"&b="+second)
	if said := text(page); status != http.StatusOK || !strings.Contains(said, "the first") || !strings.Contains(said, "Both are about the same rows") {
		t.Errorf("status %d: %s", status, said)
	}
	for name, change := range map[string]func(*certify.Evidence){
		"the target":         func(ev *certify.Evidence) { ev.Loss.Target, ev.Sample.Columns = "rain", []string{"temp", "rain"} },
		"the loss: zero-one": func(ev *certify.Evidence) { ev.Loss.Kind = certify.LossSquared },
		"the tolerance: 0.6 and 0.7": func(ev *certify.Evidence) {
			ev.Loss.Epsilon = 0.7
		},
		"the unit": func(ev *certify.Evidence) { ev.Declared.Unit = "knots" },
	} {
		other, path := put(t, dir, certifytest.Certificate(t, change), noon)
		status, page := get(t, x(), "/compare?a="+first+"&b="+other)
		if said := text(page); status != http.StatusUnprocessableEntity || !strings.Contains(said, "They differ in "+name) {
			t.Errorf("%s: status %d: %s", name, status, said)
		}
		fatal.If(t, os.Remove(path))
	}
	for address, want := range map[string]int{
		"/compare": http.StatusBadRequest, "/compare?a=" + first + "&b=" + first: http.StatusBadRequest, "/compare?a=" + first + "&b=none": http.StatusNotFound,
	} {
		if status, _ := get(t, x(), address); status != want {
			t.Errorf("%s: status %d, want %d", address, status, want)
		}
	}
}

// A pointer marks no certificate of another folder, and one that lies in two folders is
// marked by the pointer of either.
func TestPointerOfAnotherFolder(t *testing.T) {
	dir := t.TempDir()
	c := certifytest.Certificate(t, nil)
	id, _ := put(t, filepath.Join(dir, "a"), c, noon)
	write(t, filepath.Join(dir, "b", "current.json"), pointing(id, noon))
	x := indexOf(t, dir)
	h := Handler(x, nil)
	for _, address := range []string{"/", "/series/" + x.Now().Entries[0].Series.Key(), "/certificate/" + id} {
		if _, page := get(t, h, address); strings.Contains(page, `class="current"`) || strings.Contains(text(page), "current: the pointer") || x.Now().Current[id] {
			t.Errorf("%s says that it is current, which the pointer of another folder names", address)
		}
	}
	put(t, filepath.Join(dir, "b"), c, noon)
	if err := x.Refresh(t.Context()); err != nil || len(x.Now().Entries) != 1 || !x.Now().Current[id] {
		t.Errorf("%v: beside a pointer that names it: %v", err, x.Now().Current)
	}
	fatal.If(t, os.Rename(filepath.Join(dir, "b", "current.json"), filepath.Join(dir, "current.json")))
	if err := x.Refresh(t.Context()); err != nil || x.Now().Current[id] {
		t.Errorf("%v: below a pointer that names it: %v", err, x.Now().Current)
	}
}

// The pointer of a folder marks its certificate, and a manifest lists the files of a sample:
// only its own, whatever stands in the file.
func TestPointerAndManifest(t *testing.T) {
	dir := t.TempDir()
	shard := pipeline.Digest{1}
	c := certifytest.Certificate(t, func(ev *certify.Evidence) {
		ev.Sample.Digest = pipeline.SampleDigest([]pipeline.Digest{shard}).String()
	})
	id, _ := put(t, dir, c, noon)
	manifest := func(certificate string, rows int) []byte {
		return fmt.Appendf(nil, `{"format":"pacsgp-manifest/1","certificate":%q,"sample":%q,"files":[{"path":"lake/<b>1.parquet","bytes":77,"rows":%d,"shards":[{"rows":%[3]d,"digest":%q}]}]}`, certificate, c.Sample.Digest, rows, shard)
	}
	x := indexOf(t, dir)
	for _, pointer := range []string{"", "{", `{"format":"pacsgp-current/1","id":"other"}`, strings.Repeat(" ", 1<<20)} {
		write(t, filepath.Join(dir, "current.json"), []byte(pointer))
		if err := x.Refresh(t.Context()); err != nil || x.Now().Current[id] {
			t.Errorf("%.40q: %v, current: %v", pointer, err, x.Now().Current)
		}
		if _, page := get(t, Handler(x, nil), "/"); !strings.Contains(text(page), "Which model is current cannot be told: ") || !strings.Contains(text(page), "pacsgp promote ID "+dir) {
			t.Errorf("%.40q: the console does not tell: %s", pointer, text(page))
		}
	}
	write(t, filepath.Join(dir, "current.json"), pointing(id, noon))
	fatal.If(t, x.Refresh(t.Context()))
	h := Handler(x, nil)
	for _, address := range []string{"/", "/series/" + x.Now().Entries[0].Series.Key(), "/certificate/" + id} {
		if _, page := get(t, h, address); !strings.Contains(strings.ToLower(text(page)), "current") || strings.Contains(text(page), "Current model none") {
			t.Errorf("%s does not say which is current", address)
		}
	}
	path := filepath.Join(dir, "manifest-"+id+".json")
	for name, m := range map[string]struct {
		data []byte
		want string
	}{
		"its own": {manifest(id, 2000), "lake/<b>1.parquet 2000 77"}, "of another": {manifest("other", 2000), "it is of the certificate other"},
		"of other rows": {manifest(id, 1999), "cannot be shown"}, "half": {manifest(id, 2000)[:60], "cannot be shown"},
	} {
		write(t, path, m.data)
		if status, page := get(t, h, "/certificate/"+id); status != http.StatusOK || !strings.Contains(text(page), m.want) || strings.Contains(page, "<b>") {
			t.Errorf("%s: status %d, no %q", name, status, m.want)
		}
	}
}

// What a service does is one more page, and whatever it says is text.
func TestLive(t *testing.T) {
	x := indexOf(t, t.TempDir())
	if status, page := get(t, Handler(x, nil), "/live"); status != http.StatusNotFound || strings.Contains(page, `href="/live"`) {
		t.Errorf("a console that is no service: status %d, %s", status, text(page))
	}
	const hostile = "<script>alert(1)</script>\x1b[31m\u202e"
	h := Handler(x, func() Live {
		return Live{
			Doing: "trains " + hostile, What: hostile, Have: 60, Of: 120, Trace: []float64{0.9, math.NaN(), 0.2},
			Facts: []Fact{{hostile, "1"}, {"rows in", hostile}},
		}
	})
	status, page := get(t, h, "/live")
	for _, want := range []string{"trains", "60 of 120", "rows in", "between 0 and 100 %"} {
		if status != http.StatusOK || !strings.Contains(text(page), want) {
			t.Errorf("status %d: %q is not in %s", status, want, text(page))
		}
	}
	if strings.Contains(page, "<script") || strings.ContainsAny(page, "\x1b\u202e") || strings.Contains(page, "NaN") {
		t.Errorf("not escaped: %s", page)
	}
	if _, page := get(t, h, "/"); !strings.Contains(page, `href="/live"`) {
		t.Error("no page leads there")
	}
}

// The windows of a stream are one series, in which the latest that has a pointer is current.
func TestWindowsAreOneSeries(t *testing.T) {
	dir := t.TempDir()
	var ids []string
	for i, kl := range []float64{400, 200, 61.25} {
		folder := filepath.Join(dir, fmt.Sprintf("window-%012d", i+1))
		id, _ := put(t, folder, certifytest.Certificate(t, withKL(kl)), noon.Add(time.Duration(i)*time.Hour))
		if ids = append(ids, id); i < 2 {
			write(t, filepath.Join(folder, "current.json"), pointing(id, noon))
		}
	}
	now := indexOf(t, dir).Now()
	if len(now.Jobs) != 1 || len(now.bySeries) != 1 || now.Current[ids[0]] || !now.Current[ids[1]] || now.Current[ids[2]] {
		t.Errorf("%d series, current are %v of %v", len(now.bySeries), now.Current, ids)
	}
}

// While files are read for the first time it is not said that there are none.
func TestNothingIsSaidBeforeItIsRead(t *testing.T) {
	x := NewIndex([]string{t.TempDir()})
	_, page := get(t, Handler(x, nil), "/")
	if said := text(page); !strings.Contains(said, "Still reading.") || strings.Contains(said, "Nothing is here yet") {
		t.Error(said)
	}
}
