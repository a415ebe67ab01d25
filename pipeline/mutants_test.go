package pipeline_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// An edit replaces a piece of source text that occurs exactly once in a file.
type edit struct{ file, old, new string }

// A mutant is the program without one part of what makes the bound true.
type mutant struct {
	without string
	pkg     string // where the test is that fails on it
	test    string
	edits   []edit
}

func mutants() []mutant {
	const (
		vectors = "TestBoundIsSoundOnVectors"
		rows    = "TestEmpiricalRiskIsThatOfTheTrainRows"
		terms   = "TestCertificateHoldsEveryTermOfTheBound"
		theta   = "TestThetaIsRoundedBeforeTheLastRefinement"
	)
	return []mutant{
		{"KL, in the bound", "certify", vectors, []edit{{"certify/bound.go", "	sum.Add(sum, exact(t.KL))\n", ""}}},
		{"KL, in the evidence", "pipeline", terms, []edit{{"pipeline/evidence.go", "KL:       kl,", "KL:       0 * kl,"}}},
		{"ln 1/p", "certify", vectors, []edit{{"certify/bound.go", "	sum.Add(sum, exact(t.LnInverseWeight))\n", ""}}},
		{"ln 1/p of one hyper-parameter", "pipeline", terms, []edit{{"certify/certify.go", "LnInverseWeight(ev.Theta)", "LnInverseWeight(ev.Theta[1:])"}}},
		{"xi", "certify", vectors, []edit{{"certify/bound.go", "	sum.Add(sum, exact(b.LnXi))\n", ""}}},
		{"delta", "certify", vectors, []edit{{"certify/bound.go", "	sum.Add(sum, exact(b.LnInverseDelta))\n", ""}}},
		{"slack on the empirical risk", "certify", vectors, []edit{{"certify/bound.go", "q := addSlack(t.Risk)", "q := t.Risk"}}},
		{"slack on the bound", "certify", vectors, []edit{{"certify/bound.go", "b.Upper = addSlack(KLInverse(q, b.Exponent))", "b.Upper = KLInverse(q, b.Exponent)"}}},
		{"role separation: certified on reference rows too", "pipeline", rows, []edit{
			{"pipeline/roles.go", "range r.referenceIn(b.first+int64(from), b.first+int64(end))", "range r.referenceIn(0, 0)"},
			{"pipeline/roles.go", "return r.Rows - r.Reference() - r.Copies() }", "return r.Rows - r.Copies() }"},
			{"pipeline/roles.go", "return ordinal - int64(lo) - ", "return ordinal + 0*int64(lo) - "},
			// The ledger would give it away: this mutant lies there too.
			{"pipeline/evidence.go", "if len(found.Reference) > 0 {", "if false {"},
		}},
		{"role separation: scaled by train rows", "pipeline", rows, []edit{
			{"pipeline/survey.go", "standardise(s.reference.column(i))", "standardise(s.start.column(i))"},
			{"pipeline/run.go", "if got := e.Reference[i]; got.Centre != a.Centre || got.Scale != a.Scale {", "if got := e.Reference[i]; false {"},
		}},
		{"rounding of theta", "pipeline", theta, []edit{{
			"model/phases.go", "t.theta[i] = g.Value(g.Nearest(t.theta[i]))", "t.theta[i] = g.clamp(t.theta[i])",
		}}},
		{"rounding of theta before the last refinement", "pipeline", theta, []edit{
			{"model/phases.go", "t.theta[i] = g.Value(g.Nearest(t.theta[i]))", "t.theta[i] = g.clamp(t.theta[i])"},
			{"model/trainer.go", "indices[i] = g.Nearest(t.theta[i])", "indices[i] = g.Nearest(t.theta[i]); t.theta[i] = g.Value(indices[i])"},
		}},
		{"exact sums: added in float64", "certify", "TestRiskSumIsTheSameInEveryOrder", []edit{{
			"certify/risk.go", "lo, carry := bits.Add64(s.lo, other.lo, 0)",
			"sum := (float64(s.hi)*0x1p64 + float64(s.lo)) + float64(other.lo)\n	s.hi = uint64(sum / 0x1p64)\n	s.lo = uint64(sum - float64(s.hi)*0x1p64)\n	lo, carry := bits.Add64(s.lo, 0, 0)",
		}}},
		{"exact sums: losses rounded down", "certify", "TestRiskSumRoundsEachLossUp", []edit{{"certify/risk.go", "math.Ceil(loss * UnitsPerLoss)", "math.Floor(loss * UnitsPerLoss)"}}},
		{"exact sums: mean rounded to nearest", "certify", "TestRiskSumIsSoundOnVectors", []edit{{"certify/risk.go", "f = math.Nextafter(f, 2)", "_ = f"}}},
		{"rounding of the inverse of kl", "certify", "TestKLInverseIsSoundOnVectors", []edit{{"certify/kl.go", "return bracket(q, 1, q, c)", "return math.Nextafter(bracket(q, 1, q, c), 0)"}}},
		{"the jitter check", "pipeline", "TestDamagedModelsAreNotCertified", []edit{{
			"model/jitter.go", "bound = (math.Sqrt(squares) + rounding)", "bound = (0*math.Sqrt(squares) + rounding)",
		}}},
		{"the stop at copies", "pipeline", "TestCopiesStopTheJob", []edit{{"pipeline/survey.go", "if err := job.Copies.allow(s.Copies); err != nil {", "if err := error(nil); err != nil {"}}},
		{"the role copy", "pipeline", "TestDroppedCopiesAreNotCertifiedOn", []edit{
			{"pipeline/roles.go", "		if !isCopy {\n", "		if true {\n"},
			{"pipeline/roles.go", "r.Rows - r.Reference() - r.Copies()", "r.Rows - r.Reference()"},
			{"pipeline/roles.go", " - r.copies.countBefore(ordinal)", ""},
		}},
		{"the count of copies in the last pass", "pipeline", "TestForgedCopiesAreRefused", []edit{{"pipeline/verify.go", "	if err := compare(c, job, m, modelDigest, found); err != nil {\n		return err\n	}\n	v.note(\"derived again", "	found.Copies.Distinct, found.Copies.DistinctFeatures = c.Copies.Distinct, c.Ledger.Rows-c.Copies.Features\n	if err := compare(c, job, m, modelDigest, found); err != nil {\n		return err\n	}\n	v.note(\"derived again"}}},
		{"the comparison of samples", "pipeline", "TestRowsThatChangeBeforeTheLastPassAreRefused", []edit{{"pipeline/run.go", "if found.Digest != s.Digest {", "if false {"}}},
	}
}

// Each part of the bound matters: for each there is a test that fails without it.
// The source is not touched; the compiler sees the mutant through an overlay.
func TestMutantsAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the packages once a mutant")
	}
	gotool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command to compile mutants with")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants() {
		t.Run(m.without, func(t *testing.T) {
			overlay := m.overlay(t, root)
			cmd := exec.CommandContext(t.Context(), gotool, "test", "-overlay", overlay, "-count=1", "-vet=off", "-timeout=3m",
				"-run", "^"+m.test+"$", "./"+m.pkg)
			cmd.Dir = root
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if !strings.Contains(string(out), "--- FAIL: "+m.test+" ") {
				t.Errorf("%s did not fail on the program without %s:\n%s", m.test, m.without, out)
			}
		})
	}
}

// overlay writes the mutated files and the file that names them.
func (m mutant) overlay(t *testing.T, root string) string {
	t.Helper()
	dir := t.TempDir()
	sources := map[string]string{}
	for _, e := range m.edits {
		path := filepath.Join(root, filepath.FromSlash(e.file))
		if _, ok := sources[path]; !ok {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			sources[path] = string(text)
		}
		if n := strings.Count(sources[path], e.old); n != 1 {
			t.Fatalf("%q occurs %d times in %s, want once: bring the mutant up to date", e.old, n, e.file)
		}
		sources[path] = strings.Replace(sources[path], e.old, e.new, 1)
	}
	replace := map[string]string{}
	for path, text := range sources {
		replace[path] = filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(replace[path], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	doc, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, doc, 0o600); err != nil {
		t.Fatal(err)
	}
	return overlay
}
