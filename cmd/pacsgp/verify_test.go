package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// An artifact is what a run left, by path.
type artifact struct {
	dir, out, model, certificate, id string
	lake                             string
}

// train makes an artifact of the tiny job on the small lake.
func trained(t *testing.T) artifact {
	t.Helper()
	dir := t.TempDir()
	smallLake(t, dir)
	return retrained(t, dir, nil)
}

// retrained makes an artifact on the lake in dir.
func retrained(t *testing.T, dir string, change jobFile) artifact {
	t.Helper()
	out := t.TempDir()
	a := pacsgp(t, "train", "-c", tiny(change).write(t, dir), "-o", out)
	if a.status != 0 && a.status != exitNotCertified {
		t.Fatal(a.message)
	}
	r := record(t, out)
	return artifact{
		dir: dir, out: out, lake: filepath.Join(dir, "lake"),
		model: filepath.Join(out, r.Model), certificate: filepath.Join(out, r.Certificate), id: r.ID,
	}
}

// says demands the status, and these words on stdout or, if it failed, in the
// message, with nothing on stdout that sounds like success.
func (a answer) says(t *testing.T, status int, words ...string) {
	t.Helper()
	text := a.stdout
	if status != 0 {
		text = a.message
		for _, lie := range []string{"verified", "consistent", "certified"} {
			if strings.Contains(a.stdout, lie) {
				t.Errorf("status %d, and stdout says %q", a.status, a.stdout)
			}
		}
	}
	if a.status != status {
		t.Errorf("status %d, want %d: %s", a.status, status, a.message)
	}
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%q is missing in %q", word, text)
		}
	}
}

// leavesOpen demands the status of a certificate that nothing contradicts, and of which
// what was checked does not show enough.
func (a answer) leavesOpen(t *testing.T, words ...string) {
	t.Helper()
	if a.status != exitNotCertified {
		t.Errorf("status %d, want %d: %s", a.status, exitNotCertified, a.message)
	}
	for _, word := range words {
		if !strings.Contains(a.stdout+a.message, word) {
			t.Errorf("%q is missing in %q and %q", word, a.stdout, a.message)
		}
	}
}

func TestVerify(t *testing.T) {
	a := trained(t)
	other := retrained(t, a.dir, jobFile{"train": "{passes: 3, seed: 5}", "inducing": "9"})

	const unchecked = "arithmetic consistent, evidence not rechecked"
	files := pacsgp(t, "verify", a.model, a.certificate)
	files.leavesOpen(t, "nothing is certified without the rows", unchecked, a.id, "(the mean of Q)", "pb-full, draw of Q: claimed", "function drawn at random", "What its maker says, and model and rows do not show")
	if strings.Contains(files.stdout, "verified:") {
		t.Errorf("without data it says %q", files.stdout)
	}
	data := pacsgp(t, "verify", a.model, a.certificate, a.lake, "--id", a.id)
	for line := range strings.Lines(data.stdout) {
		if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > 100 {
			t.Errorf("a line of %d characters: %s", n, line)
		}
	}
	data.stdout = strings.Join(strings.Fields(data.stdout), " ") // lines are wrapped
	data.says(t, 0, "verified: the certificate follows from the model and these rows", "the same to the last byte", a.id)
	if strings.Contains(data.stdout, unchecked) {
		t.Errorf("with data it says %q", data.stdout)
	}
	pacsgp(t, "verify", a.model, a.certificate, lakeFile(a.dir, 0), filepath.Join(a.lake, "part-0[12].parquet")).says(t, 0, "verified:")

	pacsgp(t, "verify", a.model, a.certificate, "--id", other.id).says(t, exitFailure, "refused", a.id, other.id)
	pacsgp(t, "verify", a.model, a.certificate, "--id", a.id[:63]).says(t, exitFailure, "refused")
	pacsgp(t, "verify", other.model, a.certificate).says(t, exitFailure, "refused", "the certificate is for the model file with SHA-256")
	pacsgp(t, "verify", a.model, other.certificate, a.lake).says(t, exitFailure, "refused")
	pacsgp(t, "verify", a.certificate, a.model).says(t, exitFailure, a.certificate, "it is JSON: are MODEL and CERTIFICATE swapped?")
	row := strings.TrimSuffix(a.certificate, "json") + "parquet"
	pacsgp(t, "verify", row, a.model).says(t, exitFailure, row, "it is a certificate: are MODEL and CERTIFICATE swapped?")
	pacsgp(t, "verify", lakeFile(a.dir, 0), a.certificate).says(t, exitFailure, "it is Parquet, but no model")
	for _, args := range [][]string{{a.model, filepath.Join(a.out, sinklake.RunFile)}, {filepath.Join(a.out, sinklake.RunFile), a.certificate}} {
		pacsgp(t, "verify", args[0], args[1]).says(t, exitFailure, sinklake.RunFile+": it is a run record")
	}
	pacsgp(t, "verify", a.model, filepath.Join(a.out, "none.json")).says(t, exitFailure, "no such file")
	pacsgp(t, "verify", a.model, a.certificate, filepath.Join(a.dir, "nowhere")).says(t, exitFailure, "nowhere", "does not exist")
}

// The Parquet row is as good a certificate as the JSON document.
func TestCertificateAsRow(t *testing.T) {
	a := trained(t)
	row := strings.TrimSuffix(a.certificate, "json") + "parquet"
	for _, args := range [][]string{{}, {a.lake, "--id", a.id}} {
		want := pacsgp(t, append([]string{"verify", a.model, a.certificate}, args...)...)
		if len(args) > 0 {
			want.says(t, 0, "verified: ")
		} else {
			want.leavesOpen(t, "nothing is certified without the rows")
		}
		if got := pacsgp(t, append([]string{"verify", a.model, row}, args...)...); got.stdout != want.stdout || got.status != want.status {
			t.Errorf("verify %q with the row says %q, with the document %q", args, got.stdout, want.stdout)
		}
	}
	predicted := func(certificate string) []byte {
		output := filepath.Join(t.TempDir(), "predictions.parquet")
		succeed(t, "predict", a.model, certificate, a.lake, "-o", output)
		return readFile(t, output)
	}
	if !bytes.Equal(predicted(row), predicted(a.certificate)) {
		t.Error("predict writes something else when it is given the row")
	}
	pacsgp(t, "verify", a.model, row, "--id", strings.Repeat("0", 64)).says(t, exitFailure, "refused", a.id)
	pacsgp(t, "verify", a.model, a.model).says(t, exitFailure, a.model, "no certificate")
	pacsgp(t, "verify", a.model, lakeFile(a.dir, 0)).says(t, exitFailure, lakeFile(a.dir, 0), "no certificate")
	damaged := filepath.Join(t.TempDir(), "damaged.parquet")
	writeFile(t, damaged, flip(readFile(t, row), 1000, 3))
	pacsgp(t, "verify", a.model, damaged).says(t, exitFailure, damaged, "damaged")
	other := retrained(t, a.dir, jobFile{"train": "{passes: 3, seed: 5}"})
	pacsgp(t, "verify", other.model, row).says(t, exitFailure, "refused", "the certificate is for the model file with SHA-256")
}

// The status speaks of the guarantee that is judged, and of no other.
func TestVerifyJudges(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	a := retrained(t, dir, jobFile{"judge": "draw", "grid": "paper"}) // its mean is vacuous
	for _, rows := range [][]string{nil, {a.lake}} {
		args := append([]string{"verify", a.model, a.certificate}, rows...)
		mean := pacsgp(t, args...)
		if mean.status != exitNotCertified || !strings.Contains(mean.message, "certifies nothing about the mean of Q: its guarantee is vacuous") || strings.Contains(mean.stdout, "verified: ") {
			t.Errorf("status %d, %s, %s", mean.status, mean.message, mean.stdout)
		}
		draw := pacsgp(t, append(args, "--judge", "draw")...)
		if rows == nil {
			draw.leavesOpen(t, "pb-full, draw of Q: claimed", "nothing is certified without the rows")
		} else {
			draw.says(t, 0, "pb-full, draw of Q: certified")
		}
		pacsgp(t, append(args, "--judge", "nobody")...).says(t, exitUsage, "neither mean nor draw")
	}
}
