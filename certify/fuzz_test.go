package certify

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/pacsgp/pacsgp/internal/allocated"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// fuzzedGrid bounds the grids of the certificates that the target recomputes: the
// weights are added one by one, up to a million a parameter.
const fuzzedGrid = 5000

// Any bytes are an error or a document that Marshal writes just so, in memory that
// is in proportion to them; one that follows from itself follows from its evidence.
// The golden certificates are overwritten at single positions: a mutation of the whole text
// is seldom canonical.
func FuzzParse(f *testing.F) {
	names, err := filepath.Glob(filepath.Join("testdata", "certificate-4.json"))
	if err != nil || len(names) == 0 {
		f.Fatalf("%d golden certificates, %v", len(names), err)
	}
	var golden [][]byte
	for _, name := range names {
		b, err := os.ReadFile(name)
		fatal.If(f, err)
		golden = append(golden, b)
		f.Add(b, uint32(0))
		for _, from := range []string{`"bound": 0.`, `"sum": "`, `"n": `, `"status": "`, `"delta": `, `"kl": `, `"train": `} {
			if at := bytes.Index(b, []byte(from)); at >= 0 {
				f.Add([]byte("9"), uint32(at+len(from)))
			}
		}
	}
	f.Add([]byte("{}\n"), uint32(0))
	f.Add([]byte("null"), uint32(0))
	f.Add(bytes.Repeat([]byte("["), 20_000), uint32(0))
	f.Fuzz(func(t *testing.T, data []byte, at uint32) {
		overwritten := bytes.Clone(golden[int(at)%len(golden)])
		copy(overwritten[int(at)%len(overwritten):], data)
		for _, text := range [][]byte{data, overwritten} {
			var c Certificate
			var err error
			allocated.Within(t, 256*uint64(len(text))+1<<18, func() { c, err = Parse(text) })
			if err != nil {
				continue
			}
			if !bytes.Equal(marshal(t, c), text) {
				t.Errorf("Parse accepts what is not canonical: %q", text)
			}
			recompute(t, c, text)
		}
	})
}

// recompute checks what Recompute accepts.
func recompute(t *testing.T, c Certificate, text []byte) {
	t.Helper()
	for _, p := range c.Model.Theta {
		if p.Grid.Count > fuzzedGrid {
			return
		}
	}
	if Recompute(c) != nil {
		return
	}
	again, err := Certify(c.Evidence)
	fatal.If(t, err)
	if !bytes.Equal(marshal(t, again), text) {
		t.Error("Recompute accepts what does not follow from its evidence")
	}
	for _, g := range c.Claims {
		if !(0 <= g.Bound && g.Bound <= 1) || g.Status == StatusCertified && !(g.Bound < g.Baseline) {
			t.Errorf("Recompute accepts the bound %v of %s, %s", g.Bound, g.ID, g.Status)
		}
	}
}
