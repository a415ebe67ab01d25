package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

func TestInspect(t *testing.T) {
	a := trained(t)
	pacsgp(t, "inspect", a.certificate).says(t, 0, "CLAIMED", "function drawn at random", "Not verified:", a.id)
	if unread := pacsgp(t, "verify", a.model, a.certificate, "--json").stdout; !strings.Contains(unread, `"status": "claimed"`) || strings.Contains(unread, `"status": "certified"`) {
		t.Errorf("without the rows verify says %s", unread)
	}
	pacsgp(t, "inspect", a.model).says(t, 0, "12 points", "x1", "x2", "zero-one, tolerance 0.7", "lengthscale")

	machine := succeed(t, "inspect", "--json", a.certificate)
	if machine.stdout != string(readFile(t, a.certificate)) {
		t.Error("inspect --json of a certificate is not the document itself")
	}
	if c, err := certify.Parse([]byte(machine.stdout)); err != nil || len(c.Guarantees) != 2 {
		t.Errorf("%d guarantees, %v", len(c.Guarantees), err)
	}
	var m struct {
		Digest string             `json:"digest"`
		KL     float64            `json:"kl"`
		Model  pipeline.ModelMeta `json:"model"`
	}
	decoder := json.NewDecoder(strings.NewReader(succeed(t, "inspect", "--json", a.model).stdout))
	decoder.DisallowUnknownFields()
	fatal.If(t, decoder.Decode(&m))
	if !strings.Contains(a.model, m.Digest) || !(m.KL > 0) || len(m.Model.Features) != 2 || m.Model.Inducing != 12 {
		t.Errorf("inspect --json of a model: %+v", m)
	}

	row := strings.TrimSuffix(a.certificate, "json") + "parquet"
	if got := succeed(t, "inspect", "--json", row).stdout; got != machine.stdout {
		t.Error("inspect --json of a certificate's row is not the document itself")
	}
	for name, data := range map[string][]byte{
		"text":             []byte("no artifact"),
		"empty":            nil,
		"other Parquet":    readFile(t, lakeFile(a.dir, 0)),
		"half a model":     readFile(t, a.model)[:999],
		"half certificate": readFile(t, a.certificate)[:999],
		"other JSON":       []byte("{}\n"),
		"run record":       readFile(t, filepath.Join(a.out, sinklake.RunFile)),
		"spaces after":     append(readFile(t, a.certificate), ' '),
		"half a row":       readFile(t, row)[:2999],
		"a forged number":  bytes.Replace(readFile(t, a.certificate), []byte(`"bound": 0.`), []byte(`"bound": 0.0`), 1),
	} {
		path := filepath.Join(a.dir, "file")
		writeFile(t, path, data)
		if got := pacsgp(t, "inspect", path); got.status != exitFailure || got.stdout != "" || !strings.Contains(got.message, path) {
			t.Errorf("%s: status %d, stdout %q, message %q", name, got.status, got.stdout, got.message)
		}
	}
	pacsgp(t, "inspect", lakeFile(a.dir, 0)).says(t, exitFailure, "it is Parquet, but neither model nor certificate")
	pacsgp(t, "inspect", filepath.Join(a.out, sinklake.RunFile)).says(t, exitFailure, sinklake.RunFile+": it is a run record")
	pacsgp(t, "inspect", filepath.Join(a.dir, "none")).says(t, exitFailure, "no such file")
}

// plan reads footers only: of the rows it says the
// same about a lake whose pages are gone.
func TestPlanReadsFooters(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	job := tiny(nil).write(t, dir)
	ask := func() (p planned, text string) {
		t.Helper()
		doc := succeed(t, "plan", "-c", job, "--json").stdout
		if err := json.Unmarshal([]byte(doc), &p); err != nil {
			t.Fatalf("%v in %s", err, doc)
		}
		p.Seconds = 0 // measured
		return p, succeed(t, "plan", "-c", job).stdout
	}
	said := func(p planned) string {
		doc, err := json.Marshal(p)
		fatal.If(t, err)
		return string(doc)
	}
	before, text := ask()
	if len(before.Files) != 3 || before.Plan.Rows != 180 || before.Plan.Train != 162 || before.Plan.Reference != 18 || len(before.Columns) != 3 || before.Columns[2].Name != "y" {
		t.Errorf("plan: %+v", before)
	}
	for _, word := range []string{"part-02.parquet", "180: 18 reference", "162 train", "time", "bound for a draw"} {
		if !strings.Contains(text, word) {
			t.Errorf("plan says nothing of %q: %s", word, text)
		}
	}
	for i := range 3 {
		data := readFile(t, lakeFile(dir, i))
		footer := len(data) - 8 - int(binary.LittleEndian.Uint32(data[len(data)-8:]))
		writeFile(t, lakeFile(dir, i), append(append(bytes.Clone(data[:4]), make([]byte, footer-4)...), data[footer:]...))
	}
	if after, _ := ask(); said(after) != said(before) {
		t.Errorf("with zeroed pages plan says %+v, before %+v", after, before)
	}
	pacsgp(t, "train", "-c", job).says(t, exitFailure, "part-0")
	if left := names(t, filepath.Join(dir, "out")); len(left) > 2 { // the lock, and the record of the run
		t.Errorf("left over: %q", left)
	}
	fatal.If(t, os.RemoveAll(filepath.Join(dir, "out")))
	ask()
	if left := names(t, filepath.Join(dir, "out")); left != nil {
		t.Errorf("plan made an output directory with %q", left)
	}
	pacsgp(t, "plan", "-c", tiny(jobFile{"train": "{rows: 100}"}).write(t, dir)).says(t, 0, "162 train (about 100 of them fitting, all certifying: the N of the bound)")
	pacsgp(t, "plan", "-c", tiny(jobFile{"delta": ""}).write(t, dir)).says(t, exitConfig, "delta")
}

// What plan says of nulls is what stops train.
func TestPlanCountsNulls(t *testing.T) {
	some := make([]any, 40)
	for i := range some {
		some[i] = float64(i % 5)
	}
	some[7], some[23] = nil, nil
	for name, c := range map[string]struct {
		rows   table
		change jobFile
		words  []string // of the fault; none: train has nothing to say against the rows
	}{
		"no null":             {lines(40), nil, nil},
		"in a feature":        {lines(40).with("x2", some), nil, []string{`column "x2" has 2 nulls`, "\nhint: train stops at the first null"}},
		"in the target":       {lines(40).with("y", some), nil, []string{`column "y" has 2 nulls`}},
		"in both":             {lines(40).with("x2", some).with("y", some), nil, []string{`column "x2" has 2 nulls`, `column "y" has 2 nulls`}},
		"in a column left":    {lines(40).with("x2", some), jobFile{"exclude": "[x2]"}, nil},
		"in no chosen column": {lines(40).with("x2", some), jobFile{"features": "[x1]"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.rows.write(t, lakeFile(dir, 0))
			job := tiny(c.change).write(t, dir)
			plan, machine, train := pacsgp(t, "plan", "-c", job), pacsgp(t, "plan", "-c", job, "--json"), pacsgp(t, "train", "-c", job)
			stops := strings.Contains(train.message, "is null")
			if stops != (c.words != nil) {
				t.Fatalf("train says %q", train.message)
			}
			want, line := 0, "none in the used columns"
			if stops {
				want, line = exitFailure, "train would stop"
			}
			if plan.status != want || machine.status != want || !strings.Contains(plan.stdout, line) {
				t.Errorf("plan: status %d, with --json %d, want %d, and %q in %s", plan.status, machine.status, want, line, plan.stdout)
			}
			for _, word := range c.words {
				if !strings.Contains(plan.message, word) {
					t.Errorf("%q is missing in %q", word, plan.message)
				}
			}
			var doc planned
			if err := json.Unmarshal([]byte(machine.stdout), &doc); err != nil || len(doc.Columns) < 2 {
				t.Errorf("--json: %d columns, %v", len(doc.Columns), err)
			}
		})
	}
	unknown := planned{Columns: []plannedColumn{{Name: "x1"}, {Name: "x2", Uncounted: 30}}}
	if got := unknown.nullsWords(); !strings.Contains(got, `not known where footers do not count them: "x2" (30 rows)`) {
		t.Errorf("without statistics: %q", got)
	}
}

// Plan refuses what train refuses before it trains, as far as footers tell it, with
// the same status.
func TestPlanRefusesWhatTrainRefuses(t *testing.T) {
	long, exact, high, around := make([]int64, 40), make([]int64, 40), make([]float64, 40), make([]float64, 40)
	for i := range long {
		exact[i], high[i], around[i] = 1<<53-int64(i), 1e15+float64(i), 1000+float64(i)
		long[i] = exact[i]
	}
	long[17] = 1<<53 + 1
	one := make([]float64, 40)
	for name, c := range map[string]struct {
		rows   table
		change jobFile
		status int
		words  string // of plan
	}{
		"integer beyond 2^53":      {lines(40).with("x2", long), nil, exitFailure, `column "x2" has numbers of more digits than a float64 holds`},
		"integer target":           {lines(40).with("y", long), nil, exitFailure, `column "y" has numbers of more digits`},
		"decimal beyond 2^53":      {lines(40).with("x2", decimals(long)), nil, exitFailure, "or leave it out"},
		"integers up to 2^53":      {lines(40).with("x2", exact), nil, 0, ""},
		"decimals up to 2^53":      {lines(40).with("x2", decimals(exact)), nil, 0, ""},
		"no row":                   {lines(0), nil, exitFailure, "0 rows"},
		"one row":                  {lines(1), nil, exitFailure, "the source has 1 row: want 2"},
		"five rows":                {lines(5), nil, exitFailure, "5 rows leave 0 reference rows"},
		"one value":                {lines(40).with("y", one), nil, exitFailure, "there is nothing to learn"},
		"too coarse":               {lines(40).with("y", high), nil, exitFailure, "subtract a constant near to it where the column is made"},
		"too coarse for deviation": {lines(40).with("y", high), jobFile{"loss": "{epsilon: {std: 0.5}}"}, exitFailure, "too coarse"},
		"too small a tolerance":    {lines(40).with("y", around), jobFile{"loss": "{epsilon: 1e-9}"}, exitFailure, "declare a larger one"},
		"relative":                 {lines(40).with("y", high), jobFile{"loss": "{kind: relative}"}, 0, ""},
		"a share of the target":    {lines(40).with("y", around), jobFile{"loss": "{kind: relative-zero-one, epsilon: 1 %}"}, 0, ""},
		"too coarse for a share":   {lines(40).with("y", high), jobFile{"loss": "{kind: relative-zero-one, epsilon: 1 %}"}, exitFailure, "too coarse"},
		"another judge":            {lines(40), jobFile{"judge": "median"}, exitConfig, "judge"},
		"epsilon of 0":             {lines(40), jobFile{"loss": "{epsilon: 0}"}, exitConfig, "not positive"},
		"a name that reverses":     {lines(40).with("x\u202e3", one), nil, exitFailure, "rename it"},
		"a name of two lines":      {lines(40).with("a\u2028b", one), nil, exitFailure, "rename it"},
		"a name that escapes":      {lines(40).with("a\x1bb", one), nil, exitFailure, "rename it"},
		"no declared scaling": {
			lines(40),
			jobFile{"scaling": "{mode: declared, target: {centre: 0, scale: 1}, features: {x1: {centre: 0, scale: 1}}}"},
			exitConfig, `"x2" is a feature without declared centre`,
		},
		"declared scaling too coarse": {
			lines(40),
			jobFile{"scaling": "{mode: declared, target: {centre: 1e15, scale: 1}, features: {x1: {centre: 0, scale: 1}, x2: {centre: 0, scale: 1}}}"},
			exitFailure, "too coarse",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.rows.write(t, lakeFile(dir, 0))
			job := tiny(c.change).write(t, dir)
			plan := pacsgp(t, "plan", "-c", job)
			if plan.status != c.status || !strings.Contains(plan.message, c.words) {
				t.Errorf("plan: status %d, want %d, and %q in %q", plan.status, c.status, c.words, plan.message)
			}
			train := pacsgp(t, "train", "-c", job)
			if c.status != 0 && strings.Contains(train.log, `"msg":"train"`) {
				t.Errorf("it trains before it is refused: %s", train.log)
			}
			if train.status == exitNotCertified {
				train.status = 0 // it was not refused
			}
			if train.status != c.status {
				t.Errorf("train: status %d, want %d: %s", train.status, c.status, train.message)
			}
		})
	}
}

// A flag overrides the file, its value is checked as the file's is, and a fault
// names the flag and not the file.
func TestBadFlagValue(t *testing.T) {
	dir := t.TempDir()
	lines(40).write(t, lakeFile(dir, 0))
	job := tiny(jobFile{"limit": "0.9", "workers": "1", "train": "{passes: 2, time: 1h}"}).write(t, dir)
	for _, c := range []struct {
		flag, value string
		status      int
		word        string
	}{
		{"--delta", "2", exitConfig, "2 is not between 0 and 1"},
		{"--delta", "0", exitConfig, "0 is not between 0 and 1"},
		{"--delta", "small", exitUsage, "\"small\" for \"--delta\" flag: want a number, as in 0.01 or 1 %\n"},
		{"--epsilon", "-1", exitConfig, "-1 is not positive"},
		{"--epsilon", "0", exitConfig, "0 is not positive"},
		{"--epsilon", "0std", exitConfig, "0 is not positive"},
		{"--epsilon", "x", exitUsage, `"x": want a number`},
		{"--inducing", "10,abc", exitUsage, "want whole numbers, as in 500,1000\n"},
		{"--seed", "-1", exitUsage, "want a whole number from 0 on\n"},
		{"--workers", "1.5", exitUsage, "want a whole number\n"},
		{"--time", "5", exitUsage, "want a time such as 90s, 15m or 2h\n"},
		{"--inducing", "12,100000", exitConfig, "100000 is not in"},
		{"--passes", "-3", exitConfig, "-3 is no number of passes"},
		{"--time", "-3s", exitConfig, "-3s is negative"},
		{"--limit", "20", exitConfig, "20 is no bound"},
		{"--workers", "-2", exitConfig, "-2 is not in 1 to 1024"},
		{"--memory", "5XB", exitUsage, `"5XB" is no size`},
		{"--output", "", exitConfig, "name the directory"},
	} {
		a := pacsgp(t, "train", "-c", job, c.flag, c.value)
		a.says(t, c.status, c.flag, c.word)
		if strings.Contains(a.message, "job.yaml") {
			t.Errorf("%s %s is blamed on the job file: %q", c.flag, c.value, a.message)
		}
	}
	// What the flags do not say is still the file's fault.
	both := tiny(jobFile{"delta": "3"}).write(t, dir)
	pacsgp(t, "train", "-c", both, "--limit", "7").says(t, exitConfig, "--limit: 7", "job.yaml:1:8: delta: 3")
	pacsgp(t, "plan", "-c", both, "--delta", "4").says(t, exitConfig, "--delta: 4")
	succeed(t, "plan", "-c", both, "--delta", "5 %", "--limit", "90%", "--time", "1m", "--passes", "3", "--memory", "64MiB", "--seed", "2", "-o", filepath.Join(dir, "other"))
}

// A run that finishes without the certificate that was asked for publishes what
// it found, says why, and ends with status 3.
func TestNotCertified(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	for name, c := range map[string]struct {
		change jobFile
		status certify.Status
		words  []string
	}{
		"vacuous":            {jobFile{"loss": "{epsilon: 0.001}"}, certify.StatusVacuous, []string{"vacuous"}},
		"judged by the mean": {jobFile{"judge": "mean", "grid": "paper"}, certify.StatusVacuous, []string{"the guarantee for the mean of Q is vacuous"}},
		"indicative":         {jobFile{"scaling": "{mode: all-rows}"}, certify.StatusIndicative, []string{"indicative"}},
		"above a limit":      {jobFile{"limit": "0.001"}, certify.StatusCertified, []string{"the bound for the draw of Q", "above the job's limit 0.001", "judge: draw"}},
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			a := pacsgp(t, "train", "-c", tiny(c.change).write(t, dir), "-o", out)
			if a.status != exitNotCertified {
				t.Fatalf("status %d, want %d: %s", a.status, exitNotCertified, a.message)
			}
			for _, word := range c.words {
				if !strings.Contains(a.message, word) {
					t.Errorf("%q is missing in %q", word, a.message)
				}
			}
			complete(t, name, out, published(t, out))
			r := record(t, out)
			if r.Status != c.status || len(published(t, out)) != 4 || !strings.Contains(a.stdout, strings.ToUpper(string(c.status))) {
				t.Errorf("status %q, artifacts %q, stdout %q", r.Status, names(t, out), a.stdout)
			}
			cert := filepath.Join(out, r.Certificate)
			checked := pacsgp(t, "verify", filepath.Join(out, r.Model), cert, filepath.Join(dir, "lake"), "--judge", string(r.Judge))
			if c.status == certify.StatusCertified { // verify knows of no limit
				checked.says(t, 0, "verified:", "of Q: certified")
			} else if checked.status != exitNotCertified || !strings.Contains(checked.stdout, "of Q: "+string(c.status)) || strings.Contains(checked.stdout, "verified: ") {
				t.Errorf("verify: status %d, %s: %s", checked.status, checked.message, checked.stdout)
			}
			limited := pacsgp(t, "train", "-c", tiny(c.change).write(t, dir), "-o", out, "--limit", "0.0001", "--json")
			var shown pipeline.RunRecord
			if err := json.Unmarshal([]byte(limited.stdout), &shown); err != nil || limited.status != exitNotCertified || shown.ID != r.ID {
				t.Errorf("--json: %v, status %d, certificate %s", err, limited.status, shown.ID)
			}
		})
	}
	job := tiny(jobFile{"limit": "0.9"}).write(t, dir)
	succeed(t, "train", "-c", job)
}
