package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
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

func TestVerifyOtherData(t *testing.T) {
	dir := t.TempDir()
	rows := lines(90)
	rows.write(t, lakeFile(dir, 0))
	a := retrained(t, dir, jobFile{"loss": "{epsilon: 8}"})
	data := filepath.Join(t.TempDir(), "lake")
	check := func(status int, words ...string) {
		t.Helper()
		pacsgp(t, "verify", a.model, a.certificate, data).says(t, status, words...)
		fatal.If(t, os.RemoveAll(data))
	}
	rows.write(t, filepath.Join(data, "x.parquet"))
	check(0, "verified:")
	rows.with("more", rows["x1"]).write(t, filepath.Join(data, "x.parquet")) // the job takes all numeric columns
	check(exitFailure, "refused", "the model has other features")
	rows.slice(0, 89).write(t, filepath.Join(data, "x.parquet"))
	check(exitFailure, "refused", "is missing", "90 rows")
	rows.with("y", rows["x1"]).write(t, filepath.Join(data, "x.parquet"))
	check(exitFailure, "refused", "the data have the sample digest", "not the same rows")
	rows.slice(0, 45).write(t, filepath.Join(data, "x.parquet"))
	rows.slice(45, 90).write(t, filepath.Join(data, "y.parquet"))
	check(exitFailure, "refused", "not the same rows in the same order and row groups")
	table{"x1": rows["x1"], "y": rows["y"]}.write(t, filepath.Join(data, "x.parquet"))
	check(exitFailure, `no column "x2"`)
}

// Each number of the certificate counts: changed a little in the document, in
// canonical form, it is refused.
func TestVerifyChangedNumbers(t *testing.T) {
	a := trained(t)
	original := string(readFile(t, a.certificate))
	var c certify.Certificate
	fatal.If(t, json.Unmarshal([]byte(original), &c))
	changed := filepath.Join(t.TempDir(), "changed.json")
	tried := 0
	lines := strings.SplitAfter(original, "\n")
	measured := "" // how far what was measured of the rows is indented, within it
	for i, line := range lines {
		if before, _, found := strings.Cut(line, `"measured": {`); found {
			measured = before
		} else if measured != "" && strings.HasPrefix(line, measured+"}") {
			measured = ""
		}
		other, ok := otherNumber(line)
		if !ok {
			continue
		}
		tried++
		lines[i] = other
		writeFile(t, changed, []byte(strings.Join(lines, "")))
		lines[i] = line
		for _, data := range [][]string{nil, {a.lake}} {
			if data == nil && (strings.Contains(line, `"shards"`) || strings.Contains(line, `"constant"`) || strings.Contains(line, `"correlation"`) || measured != "") {
				continue // nobody knows without the files: sentences have four digits of it
			}
			if strings.Contains(line, `"on_these_rows"`) || strings.Contains(line, `"in_this_log"`) || strings.Contains(line, `"machine"`) {
				continue // the maker's word
			}
			if got := pacsgp(t, append([]string{"verify", a.model, changed}, data...)...); got.status != exitFailure {
				t.Errorf("data %q: line %d changed from %s to %s: status %d: %s", data, i+1, strings.TrimSpace(line), strings.TrimSpace(other), got.status, got.stdout)
			}
		}
	}
	if tried < 50 {
		t.Errorf("only %d numbers in the certificate", tried)
	}
	// A statement in other words is no statement of ours.
	writeFile(t, changed, []byte(strings.Replace(original, "drawn at random", "chosen", 1)))
	pacsgp(t, "verify", a.model, changed).says(t, exitFailure, "refused")
}

// otherNumber changes the last digit of a line's value, or of an exact sum a
// digit that is worth more than the agreement between instruction sets.
func otherNumber(line string) (string, bool) {
	text := strings.TrimRight(line, ",\"\n ")
	at := len(text) - 1
	if strings.Contains(text, `"sum"`) {
		at -= 12
	}
	if at < 0 || text[at] < '0' || text[at] > '9' {
		return "", false
	}
	other := byte('8')
	if text[at] != '9' {
		other = text[at] + 1
	}
	return text[:at] + string(other) + line[at+1:], true
}

// A changed bit anywhere in the model file is refused, whatever it means.
func TestVerifyChangedModel(t *testing.T) {
	a := trained(t)
	data := readFile(t, a.model)
	changed := filepath.Join(t.TempDir(), "model.parquet")
	for at := 0; at < len(data); at += 97 {
		writeFile(t, changed, flip(data, at, uint(at%8)))
		if got := pacsgp(t, "verify", changed, a.certificate); got.status != exitFailure {
			t.Errorf("bit %d of byte %d changed: status %d: %s", at%8, at, got.status, got.stdout)
		}
	}
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

// The id is the SHA-256 of the document, and the names say so.
func TestNamesAreDigests(t *testing.T) {
	a := trained(t)
	for path, want := range map[string]string{a.certificate: "certificate-%.json", a.model: "model-%.parquet"} {
		sum := sha256.Sum256(readFile(t, path))
		if got := strings.Replace(want, "%", hex.EncodeToString(sum[:]), 1); got != filepath.Base(path) {
			t.Errorf("%s has the content of %s", filepath.Base(path), got)
		}
	}
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
