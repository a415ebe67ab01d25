package console

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/certify/certifytest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/sink/lake"
)

// What is no certificate is shown as such, and harms nothing else.
func TestFilesThatAreNoCertificates(t *testing.T) {
	dir := t.TempDir()
	good, path := put(t, dir, certifytest.Certificate(t, nil), noon)
	document, err := os.ReadFile(path)
	fatal.If(t, err)
	name := func(i int) string { return filepath.Join(dir, lake.CertificateName(strings.Repeat(fmt.Sprint(i), 64))) }
	for i, data := range [][]byte{
		nil, document, document[:len(document)/2], []byte("{}\n"), bytes.Repeat([]byte("["), 1<<20), []byte("no certificate"),
	} {
		write(t, name(i), data)
	}
	// A number that does not follow, under the name that its content has.
	forged := bytes.Replace(document, []byte(`"bound": 0.`), []byte(`"bound": 0.0`), 1)
	write(t, filepath.Join(dir, certificateName(forged)), forged)
	huge, err := os.Create(name(6))
	fatal.If(t, err)
	if err := huge.Truncate(1 << 40); err != nil {
		t.Logf("no file of a terabyte here: %v", err)
	}
	_ = huge.Close()
	waits := pipe(t, name(7))
	for link, to := range map[string]string{name(8): "nothing", filepath.Join(dir, "certificate-link.json"): path, filepath.Join(dir, "loop"): "."} {
		fatal.If(t, os.Symlink(to, link))
	}
	fatal.If(t, os.Mkdir(name(9), 0o750))
	began := time.Now()
	x := indexOf(t, dir, filepath.Join(dir, "none"))
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
	now := x.Now()
	if len(now.Entries) != 1 || now.Entries[0].ID != good || len(now.Notices) != 1 {
		t.Errorf("certificates %+v, notices %q", now.Entries, now.Notices)
	}
	want := 10 // 0 to 6, the forged one, a link under another name and a link to nothing
	if waits {
		want++
	}
	if len(now.Faults) != want {
		t.Errorf("%d files are no certificates, want %d", len(now.Faults), want)
	}
	_, page := get(t, Handler(x, nil), "/unreadable")
	for _, f := range now.Faults {
		if f.Reason == "" || len(f.Reason) > 1000 || !strings.Contains(text(page), f.Path) {
			t.Errorf("%s: %q", f.Path, f.Reason)
		}
	}
	for _, reason := range []string{"longer than a certificate", "not what its name says", "contradict", "no such file"} {
		if !strings.Contains(text(page), reason) && reason != "contradict" {
			t.Errorf("%q is not said: %s", reason, text(page))
		}
	}
	if status, _ := get(t, Handler(x, nil), "/certificate/"+good); status != http.StatusOK {
		t.Errorf("the certificate: status %d", status)
	}
}

// The index follows the folders. A file that is still the same is not read again.
func TestIndexFollows(t *testing.T) {
	dir := t.TempDir()
	first, path := put(t, dir, certifytest.Certificate(t, nil), noon)
	x := indexOf(t, dir)
	before, entry := x.Now(), x.files[path].entry
	refresh := func() *Snapshot {
		t.Helper()
		fatal.If(t, x.Refresh(t.Context()))
		return x.Now()
	}
	if refresh() != before {
		t.Error("nothing has changed, and the snapshot is another one")
	}
	second, _ := put(t, filepath.Join(dir, "below"), certifytest.Certificate(t, withKL(99)), noon.Add(time.Hour))
	put(t, filepath.Join(dir, "_spool"), certifytest.Certificate(t, withKL(98)), noon)
	put(t, filepath.Join(dir, ".hidden"), certifytest.Certificate(t, withKL(97)), noon)
	if now := refresh(); len(now.Entries) != 2 || now.byID[second] == nil || x.files[path].entry != entry {
		t.Errorf("%d certificates; read again: %v", len(now.Entries), x.files[path].entry != entry)
	}
	// The same under two paths is one.
	put(t, filepath.Join(dir, "copy"), certifytest.Certificate(t, nil), noon)
	if now := refresh(); len(now.Entries) != 2 {
		t.Errorf("%d certificates", len(now.Entries))
	}
	// Edited in place: the page refuses it even before the next look, then it is no certificate.
	h := Handler(x, nil)
	data, err := os.ReadFile(path)
	fatal.If(t, err)
	write(t, path, bytes.Replace(data, []byte("0"), []byte("1"), 1))
	_ = os.RemoveAll(filepath.Join(dir, "copy"))
	if status, page := get(t, h, "/certificate/"+first); status != http.StatusNotFound || strings.Contains(text(page), "holds another") == strings.Contains(text(page), "not what its name says") {
		t.Errorf("status %d: %s", status, text(page))
	}
	if now := refresh(); len(now.Entries) != 1 || len(now.Faults) != 1 {
		t.Errorf("%d certificates, %d others", len(now.Entries), len(now.Faults))
	}
	fatal.If(t, os.Remove(path))
	if now := refresh(); len(now.Entries) != 1 || len(now.Faults) != 0 {
		t.Errorf("%d certificates, %d others", len(now.Entries), len(now.Faults))
	}
}

// A current model whose file is gone or damaged is told, until it is whole again.
func TestDamagedModel(t *testing.T) {
	dir := t.TempDir()
	id, _ := put(t, dir, certifytest.Certificate(t, nil), noon)
	write(t, filepath.Join(dir, lake.CurrentFile), pointing(id, noon))
	x := indexOf(t, dir)
	h, path := Handler(x, nil), filepath.Join(dir, modelName)
	for i, c := range []struct{ file, want string }{{"a model", ""}, {"a mode1", "is damaged"}, {"a mod", "is damaged"}, {"", "is missing"}, {"a model", ""}} {
		if c.file != "" {
			write(t, path, []byte(c.file))
			at := noon.Add(time.Duration(i) * time.Hour)
			fatal.If(t, os.Chtimes(path, at, at))
		} else {
			fatal.If(t, os.Remove(path))
		}
		fatal.If(t, x.Refresh(t.Context()))
		_, page := get(t, h, "/")
		said, fault := text(page), x.Damaged()
		if c.want == "" && (fault != nil || strings.Contains(said, "cannot be used")) {
			t.Errorf("%d: %v; %s", i, fault, said)
		}
		if c.want != "" && (fault == nil || !strings.Contains(fault.Error(), c.want) || !strings.Contains(said, c.want) || !strings.Contains(said, "What to do: Restore the file") || !strings.Contains(page, `class="finding bad"`)) {
			t.Errorf("%d: %v, want %s; %s", i, fault, c.want, said)
		}
	}
	before := x.models[path].info
	if fatal.If(t, x.Refresh(t.Context())); x.models[path].info != before {
		t.Error("a file that has not changed was read again")
	}
}

// many are entries of made-up certificates in several series.
func many(n int) []*Entry {
	entries := make([]*Entry, n)
	for i := range entries {
		bound := 0.05 + 0.4/float64(1+i%97)
		entries[i] = &Entry{
			ID: fmt.Sprintf("%064x", i), Path: fmt.Sprintf("out/%d/certificate-%064x.json", i%5, i),
			Mean: About{Status: certify.StatusVacuous, Bound: min(2*bound, 1), N: 1800, Delta: 0.01}, Draw: About{Status: certify.StatusCertified, Bound: bound, Risk: bound / 2, N: 1800, Delta: 0.01},
			Kept: &About{Status: certify.StatusConditional, Bound: bound / 1.5, N: 200, Delta: 0.009}, Against: 0.5, N: 1800,
			Series: Series{Folder: fmt.Sprintf("out/%d", i%5), Target: "wind", Loss: "off by more than 0.6"}, Number: int64(1 + i/5),
		}
	}
	return entries
}

// made is a snapshot of entries.
func made(entries []*Entry) *Snapshot {
	files := map[string]read{}
	for _, e := range entries {
		files[e.Path] = read{entry: e}
	}
	return snapshotOf(files, nil, nil, true)
}

// Over 10,000 certificates a page comes in less than 100 ms.
func BenchmarkPages(b *testing.B) {
	x := NewIndex(nil)
	entries := many(10_000)
	x.now.Store(made(entries))
	h := Handler(x, nil)
	for name, address := range map[string]string{"overview": "/", "series": "/series/" + entries[0].Series.Key(), "last": "/series/" + entries[0].Series.Key() + "?page=20"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if status, _ := get(b, h, address); status != http.StatusOK {
					b.Fatal(status)
				}
			}
		})
	}
}

// A look at files that are new, and at such that have not changed.
func BenchmarkRefresh(b *testing.B) {
	n := 2000
	if testing.Short() {
		n = 200
	}
	dir := b.TempDir()
	for i := range n {
		put(b, filepath.Join(dir, fmt.Sprint(i%5)), certifytest.Certificate(b, func(ev *certify.Evidence) { ev.KL = 60 + float64(i)/64 }), noon.Add(time.Duration(i)*time.Minute))
	}
	x := NewIndex([]string{dir})
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			x = indexOf(b, dir)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/certificate")
	})
	b.Run("unchanged", func(b *testing.B) {
		for b.Loop() {
			fatal.If(b, x.Refresh(b.Context()))
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/certificate")
	})
	if got := len(x.Now().Entries); got != n {
		b.Fatalf("%d certificates, want %d", got, n)
	}
}

// A page over many certificates is bounded, and so is a chart.
func TestPagesAreBounded(t *testing.T) {
	x := NewIndex(nil)
	entries := many(3000)
	x.now.Store(made(entries))
	h := Handler(x, nil)
	key := entries[0].Series.Key()
	seen := map[string]bool{}
	address := "/series/" + key
	for address != "" {
		status, page := get(t, h, address)
		if status != http.StatusOK || len(page) > 400_000 {
			t.Fatalf("%s: status %d, %d bytes", address, status, len(page))
		}
		for _, e := range entries {
			if strings.Contains(page, "/certificate/"+e.ID+`"`) {
				seen[e.ID] = true
			}
		}
		address = ""
		if before, _, ok := strings.Cut(page, `" rel="next"`); ok {
			address = strings.ReplaceAll(before[strings.LastIndex(before, `"`)+1:], "&amp;", "&")
		}
	}
	if len(seen) != 600 {
		t.Errorf("%d certificates on all pages, want 600", len(seen))
	}
}
