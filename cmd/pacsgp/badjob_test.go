package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/durable/durabletest"
	"github.com/pacsgp/pacsgp/sink/lake"
)

// refused demands that a job ended with the status and a message that holds all
// these words, that it said nothing on stdout, and that its output directory
// has nothing that could be taken for a result.
func refused(t *testing.T, a answer, out string, status int, words ...string) {
	t.Helper()
	if a.status != status {
		t.Errorf("status %d, want %d: %s", a.status, status, a.message)
	}
	for _, word := range words {
		if !strings.Contains(a.message, word) {
			t.Errorf("the message %q does not hold %q", a.message, word)
		}
	}
	if a.stdout != "" {
		t.Errorf("stdout has %q, want nothing", a.stdout)
	}
	for _, name := range names(t, out) {
		if name == "attempts.jsonl" && len(readFile(t, filepath.Join(out, name))) == 0 {
			continue // opened, and nothing could be written
		}
		if name != ".lock" && !strings.HasPrefix(name, "run-") { // what has run is recorded
			t.Errorf("the output directory holds %s", name)
		}
	}
	if _, err := os.Stat(out); status == exitConfig && err == nil {
		t.Error("a bad configuration made the output directory")
	}
}

func TestBadConfiguration(t *testing.T) {
	deep, many := 60_000, 10_000 // which take seconds
	if testing.Short() {
		deep, many = 600, 4_100
	}
	for name, c := range map[string]struct {
		change jobFile
		words  []string
	}{
		"unknown key":              {jobFile{"targt": "y"}, []string{"job.yaml", "[7:1]", "targt", "docs/job.md"}},
		"unknown key in a section": {jobFile{"train": "{passes: 2, epochs: 3}"}, []string{"[7:20]", "epochs"}},
		"text for a number":        {jobFile{"delta": "small"}, []string{"[1:8]", "want a number"}},
		"list for a number":        {jobFile{"delta": "[0.01]"}, []string{"[1:8]", "want a number"}},
		"text for inducing":        {jobFile{"inducing": "many"}, []string{"[2:11]", "whole number"}},
		"number for a section":     {jobFile{"train": "3"}, []string{"[7:8]", "want keys with values"}},
		"number for a list":        {jobFile{"source": "{paths: 3}"}, []string{"[5:17]", "want a list"}},
		"text for a truth value":   {jobFile{"kernel": "{isotropic: maybe}"}, []string{"[3:21]", "want true or false"}},
		"negative seed":            {jobFile{"train": "{seed: -1}"}, []string{"[7:15]", "whole number from 0"}},
		"seed of 65 bits":          {jobFile{"train": "{seed: 18446744073709551616}"}, []string{"[7:15]", "whole number from 0 to 2⁶⁴−1"}},
		"fraction for inducing":    {jobFile{"inducing": "10.7"}, []string{"[2:11]", "whole number"}},
		"fraction in a list":       {jobFile{"inducing": "[10, 10.7]"}, []string{"[2:16]", "whole number"}},
		"fraction for workers":     {jobFile{"workers": "1.5"}, []string{"whole number"}},
		"batch of 1e300":           {jobFile{"train": "{batch: 1e300}"}, []string{"[7:16]", "whole number"}},
		"decimal comma":            {jobFile{"grid": "{min: -2, max: 2, step: 0,1}"}, []string{"[2:33]", "this is no key", "write 0.1"}},
		"decimal comma for passes": {jobFile{"train": "{passes: 2,5}"}, []string{"[7:19]", "this is no key"}},
		"number for a family":      {jobFile{"kernel": "{family: 3}"}, []string{"[3:18]", "want a name or a list of names"}},
		"number among families":    {jobFile{"kernel": "{family: [matern-3/2, 5]}"}, []string{"[3:31]", "want a name or a list of names"}},
		"unknown family":           {jobFile{"kernel": "{family: matern}"}, []string{"kernel.family", "matern-5/2"}},
		"no family":                {jobFile{"kernel": "{family: []}"}, []string{"kernel.family: no family"}},
		"number for a key":         {jobFile{"kernel": "{isotropic: true, 1}"}, []string{"[3:27]", "this is no key"}},
		"true for a key":           {jobFile{"kernel": "{true: 1}"}, []string{"[3:10]", "this is no key"}},
		"null for a key":           {jobFile{"kernel": "{~: 1}"}, []string{"[3:10]", "this is no key"}},
		"list for a key":           {jobFile{"kernel": "{[a]: 1}"}, []string{"job.yaml"}},
		"question mark":            {jobFile{"kernel": "{? isotropic : true}"}, []string{"[3:10]", "question mark"}},
		"alias":                    {jobFile{"features": "&a [x1]", "exclude": "*a"}, []string{"anchors, aliases"}},
		"aliases of aliases":       {jobFile{"a": "&a [x]\nb: &b [*a, *a]\nc: &c [*b, *b]"}, []string{"anchors, aliases"}},
		"merge key":                {jobFile{"kernel": "{<<: {isotropic: true}}"}, []string{"merge keys"}},
		"tag":                      {jobFile{"kernel": "!!map {isotropic: true}"}, []string{"tags"}},
		"deep brackets":            {jobFile{"features": strings.Repeat("[", deep)}, []string{"nested deeper than 32"}},
		"deep braces":              {jobFile{"features": strings.Repeat("{a: ", deep/3)}, []string{"nested deeper than 32"}},
		"deep dashes":              {jobFile{"features": strings.Repeat("- ", deep)}, []string{"nested deeper than 32"}},
		"many keys":                {jobFile{"scaling": "{features: {" + strings.Repeat("a: 1, ", many) + "}}"}, []string{"more than 4000 keys"}},
		"many parts":               {jobFile{"features": "[" + strings.Repeat("a,", 200_000) + "]"}, []string{"more parts"}},
		"behind two dashed lines":  {jobFile{"delta": "0.01\n---\n---\ndelta: 0.2"}, []string{"[2:1]", "one document"}},
		"behind dots":              {jobFile{"delta": "0.01\n...\n---\ndelta: 0.2"}, []string{"[2:1]", "one document"}},
		"two documents":            {jobFile{"delta": "0.01\n---\ndelta: 0.2"}, []string{"[2:1]", "one document"}},
		"negative time":            {jobFile{"checkpoint": "-5s"}, []string{"[1:13]", "-5s is negative"}},
		"text for a time":          {jobFile{"train": "{time: soon}"}, []string{"[7:15]", "want a time such as"}},
		"number for a time":        {jobFile{"checkpoint": "30"}, []string{"[1:13]", "want a time such as"}},
		"no YAML":                  {jobFile{"delta": "{"}, []string{"job.yaml", "[3:1]"}},
		"key twice":                {jobFile{"delta": "0.01\ndelta: 0.2"}, []string{"[2:1]", "delta"}},
		"no delta":                 {jobFile{"delta": ""}, []string{"delta", "the certificate fails with probability at most δ", "0.01 means 99 %"}},
		"no epsilon":               {jobFile{"loss": ""}, []string{"loss.epsilon", "off by more than ε", "{std: 0.6}"}},
		"neither":                  {jobFile{"loss": "", "delta": ""}, []string{"the certificate fails with probability at most δ", "off by more than ε"}},
		"delta 0":                  {jobFile{"delta": "0"}, []string{"[1:8] delta: 0 is not between 0 and 1, both excluded"}},
		"delta empty":              {jobFile{"delta": "null"}, []string{"delta: say the confidence"}},
		"delta 1":                  {jobFile{"delta": "1"}, []string{"[1:8]", "not between 0 and 1"}},
		"delta negative":           {jobFile{"delta": "-0.1"}, []string{"[1:8]", "not between 0 and 1"}},
		"delta above 1":            {jobFile{"delta": "5"}, []string{"[1:8]", "not between 0 and 1"}},
		"delta NaN":                {jobFile{"delta": ".nan"}, []string{"[1:8]", "not between 0 and 1"}},
		"a method misspelt":        {jobFile{"guarantees": "[hold-out]"}, []string{"[2:13]", `"hold-out" is no method, want pac-bayes or holdout; did you mean "holdout"?`}},
		"a weighed method":         {jobFile{"guarantees": "{pacbayes: 1, holdout: 3}"}, []string{`did you mean "pac-bayes"?`}},
		"all rows may be bad":      {jobFile{"bad_rows": "{tolerance: 100 %}"}, []string{"100 % of the rows would leave none"}},
		"epsilon 0":                {jobFile{"loss": "{epsilon: 0}"}, []string{"[3:17] loss.epsilon: 0 is not positive"}},
		"epsilon empty":            {jobFile{"loss": "{epsilon: null}"}, []string{"loss.epsilon: say the tolerance"}},
		"both 0":                   {jobFile{"loss": "{epsilon: 0.0}", "delta": "0"}, []string{"epsilon: 0 is not", "delta: 0 is not"}},
		"epsilon negative":         {jobFile{"loss": "{epsilon: -1}"}, []string{"[3:17]", "loss.epsilon", "not positive"}},
		"epsilon infinite":         {jobFile{"loss": "{epsilon: .inf}"}, []string{"loss.epsilon", "not positive and finite"}},
		"epsilon NaN":              {jobFile{"loss": "{epsilon: .nan}"}, []string{"loss.epsilon", "not positive"}},
		"epsilon 0 std":            {jobFile{"loss": "{epsilon: {std: 0}}"}, []string{"[3:17]", "epsilon: 0 is not positive"}},
		"epsilon in other words":   {jobFile{"loss": "{epsilon: {sd: 1}}"}, []string{"[3:17]", "epsilon", "{std: number}"}},
		"unknown loss":             {jobFile{"loss": "{kind: hinge, epsilon: 1}"}, []string{"hinge", "zero-one, band, squared, exponential, relative"}},
		"half a band":              {jobFile{"loss": "{kind: band, below: 1}"}, []string{"above > 0"}},
		"copies in other words":    {jobFile{"copies": "remove"}, []string{"[1:9]", "want drop, independent"}},
		"copies above all":         {jobFile{"copies": "101 %"}, []string{"[1:9]", "101 %", "no share between 0 and 1"}},
		"copies negative":          {jobFile{"copies": "-0.1"}, []string{"[1:9]", "want drop, independent"}},
		"copies of 1":              {jobFile{"copies": "1"}, []string{"[1:9]", "write 1 %", "or independent"}},
		"copies of all":            {jobFile{"copies": "100 %"}, []string{"[1:9]", "limits nothing", "or independent"}},
		"copies of all, decimal":   {jobFile{"copies": "100.0%"}, []string{"[1:9]", "or independent"}},
		"decimal comma, indented":  {jobFile{"grid": "\n  min: -2\n  step: 0,1"}, []string{"[4:9]", "want a number"}},
		"key in a list of braces":  {jobFile{"sweep": "[{loss: {epsilon: 0,5}}, {exclude: [x1]}]"}, []string{"this is no key"}},
		"1e300 passes":             {jobFile{"train": "{passes: 1e300}"}, []string{"[7:17]", "no number of passes from 0 to"}},
		"a step beyond the range":  {jobFile{"grid": "{min: -1, max: 1, step: 5}"}, []string{"grid", "step 5"}},
		"a batch of all there are": {jobFile{"train": "{batch: 9000000000000000000}"}, []string{"numbers of rows, up to"}},
		"twenty thousand paths":    {jobFile{"source": "{paths: [" + strings.Repeat("p,", 20_000) + "]}"}, []string{"source.paths", "at most 10000"}},
		"workers of 9e18":          {jobFile{"workers": "9000000000000000000"}, []string{"workers", "1 to 1024"}},
		"a million workers":        {jobFile{"workers": "1000000"}, []string{"workers", "1 to 1024"}},
		"bidi in a feature":        {jobFile{"features": `["x1\u202e"]`}, []string{"features", "U+202E, which is not printed"}},
		"bidi in the unit":         {jobFile{"loss": `{epsilon: 0.7, unit: "m\u202e"}`}, []string{"U+202E, which is not printed"}},
		"a separator in a unit":    {jobFile{"loss": `{epsilon: 0.7, unit: "m\u2028"}`}, []string{"U+2028, which is not printed"}},
		"a separator in the key":   {jobFile{"roles": `{key: "a\u2028"}`}, []string{"U+2028, which is not printed"}},
		"copies as a list":         {jobFile{"copies": "[drop]"}, []string{"[1:9]", "want drop, independent"}},
		"no target":                {jobFile{"target": ""}, []string{"target: name the column"}},
		"no source":                {jobFile{"source": ""}, []string{"source.paths"}},
		"no output":                {jobFile{"output": ""}, []string{"output: name the directory"}},
		"variable not set":         {jobFile{"output": "${PACSGP_NO_SUCH_VARIABLE}/out"}, []string{"[4:9]", "PACSGP_NO_SUCH_VARIABLE"}},
		"limit above 1":            {jobFile{"limit": "20"}, []string{"limit", "between 0 and 1"}},
		"too many inducing points": {jobFile{"inducing": "100000"}, []string{"inducing", "4000"}},
		"unknown scaling":          {jobFile{"scaling": "{mode: minmax}"}, []string{"minmax", "reference, all-rows, declared"}},
		"unknown training":         {jobFile{"train": "{mode: fast}"}, []string{"fast", "mini-batch"}},
		"unknown word for a grid":  {jobFile{"grid": "papers"}, []string{"[2:7]", "want paper"}},
		"unknown prior":            {jobFile{"grid": "{prior: narrow}"}, []string{"narrow", "peaked"}},
		"no gradient":              {jobFile{"train": "{method: VFE, evaluations: 0}"}, []string{"train.evaluations: 0 gradients move nothing"}},
		"no step":                  {jobFile{"grid": "{step: 0}"}, []string{"grid.step: 0 is not positive"}},
		"no grid":                  {jobFile{"grid": "{min: 2, max: 1, step: 0.1}"}, []string{"grid", "min 2"}},
		"negative workers":         {jobFile{"workers": "-1"}, []string{"workers"}},
		"null for a path":          {jobFile{"source": "{paths: [~]}"}, []string{"[5:18]", "want a path"}},
		"empty path":               {jobFile{"source": "{paths: ['']}"}, []string{"[5:18]", "want a path"}},
		"numbers for paths":        {jobFile{"source": "{paths: [1, 2]}"}, []string{"[5:18]", "want a path"}},
		"an open bracket":          {jobFile{"source": `{paths: ["[a-"]}`}, []string{"[5:18]", "is no pattern"}},
		"exclude all":              {jobFile{"exclude": "[x1, x2]"}, []string{"[2:10]", "exclude: no feature is left"}},
		"inducing empty":           {jobFile{"inducing": "[]"}, []string{"[2:11]", "leave the key out"}},
		"memory of nothing":        {jobFile{"memory": "0B"}, []string{"[4:9]", "leave it out"}},
		"octal inducing":           {jobFile{"inducing": "010"}, []string{"[2:11]", "whole number"}},
		"hexadecimal inducing":     {jobFile{"inducing": "[0x10]"}, []string{"[2:12]", "whole number"}},
		"underscored inducing":     {jobFile{"inducing": "1_0"}, []string{"[2:11]", "whole number"}},
		"hexadecimal seed":         {jobFile{"train": "{seed: 0x10}"}, []string{"[7:15]", "whole number"}},
		"delta of an alternative":  {jobFile{"sweep": "[{}, {delta: 0.5}]"}, []string{"[6:14]", `an alternative does not take the key "delta"`}},
		"misspelt alternative":     {jobFile{"sweep": "[{}, {exclud: [x1]}]"}, []string{"[6:14]", "did you mean sweep.exclude?"}},
		"an invisible character":   {jobFile{"\"delta\\u200b\"": "1"}, []string{"unknown field", "docs/job.md lists"}},
		"a NUL byte":               {jobFile{"judge": "me\x00an"}, []string{"[3:10]", "NUL byte"}},
		"a size that is none":      {jobFile{"memory": "much"}, []string{"[4:9]", "512MiB"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			lines(40).write(t, lakeFile(dir, 0))
			job := tiny(c.change).write(t, dir)
			a := pacsgp(t, "train", "-c", job)
			refused(t, a, filepath.Join(dir, "out"), exitConfig, c.words...)
			if name != "exclude all" { // of what, only the footers tell
				lintedLike(t, job, a)
			}
		})
	}
	t.Run("all faults together", func(t *testing.T) {
		dir := t.TempDir()
		job := tiny(jobFile{"delta": "2", "loss": "{kind: hinge}", "output": "", "limit": "3"}).write(t, dir)
		a := pacsgp(t, "train", "-c", job)
		refused(t, a, filepath.Join(dir, "out"), exitConfig, "delta", "hinge", "output", "limit")
		if n := strings.Count(a.message, "pacsgp: "); n != 4 {
			t.Errorf("%d lines, want one for each of 4 faults: %s", n, a.message)
		}
	})
	t.Run("too long", func(t *testing.T) {
		dir := t.TempDir()
		job := tiny(jobFile{"unit": strings.Repeat("x", 1<<20)}).write(t, dir)
		refused(t, pacsgp(t, "train", "-c", job), filepath.Join(dir, "out"), exitConfig, job, "longer than a job")
	})
	t.Run("no job file", func(t *testing.T) {
		dir := t.TempDir()
		refused(t, pacsgp(t, "train", "-c", filepath.Join(dir, "none.yaml")), filepath.Join(dir, "out"), exitConfig, "none.yaml")
	})
}

// A line that begins another document, as editors and templates leave it, is no
// document yet.
func TestJobMayEndInDashes(t *testing.T) {
	for _, text := range []string{"\ufeff%s", "%s---\n", "%s---", "---\n%s", "---\n%s---\n# nothing\n---\n", "%s...\n"} {
		dir := t.TempDir()
		smallLake(t, dir)
		job := tiny(nil).write(t, dir)
		plain, err := os.ReadFile(job)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(job, fmt.Appendf(nil, text, plain), 0o600); err != nil {
			t.Fatal(err)
		}
		if a := pacsgp(t, "plan", "-c", job); a.status != 0 {
			t.Errorf("%q: status %d: %s", text, a.status, a.message)
		}
	}
	dir := t.TempDir()
	job := filepath.Join(dir, "job.yaml")
	for _, text := range []string{"", "---", "---\n---\n", "# nothing\n"} {
		if err := os.WriteFile(job, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		refused(t, pacsgp(t, "train", "-c", job), filepath.Join(dir, "out"), exitConfig, "is empty")
	}
}

func TestEnvironmentInJob(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	job := tiny(jobFile{"output": "${PLACE}/out # ${NOT} used\n# ${NEITHER}"}).write(t, dir)
	a := pacsgpOn(t, plain(), map[string]string{"PLACE": "there", "NOT": ""}, "train", "-c", job)
	if a.status != 0 || len(published(t, filepath.Join(dir, "there", "out"))) != 4 {
		t.Errorf("status %d: %s", a.status, a.message)
	}
	secret := tiny(jobFile{"delta": "${SECRET}"}).write(t, dir)
	a = pacsgpOn(t, plain(), map[string]string{"SECRET": "hunter2"}, "train", "-c", secret)
	if a.status != exitConfig || strings.Contains(a.message, "hunter2") {
		t.Errorf("status %d, want %d and no value of a variable in the message: %s", a.status, exitConfig, a.message)
	}
}

func TestBadRows(t *testing.T) {
	full := make([]any, 40)
	for i := range full {
		full[i] = float64(i)
	}
	full[23] = nil
	constant := make([]float64, 40)
	text := make([]string, 40)
	truncated := lines(40).bytes(t)
	for name, c := range map[string]struct {
		rows   table
		change jobFile
		words  []string
	}{
		"only text features":     {table{"x1": text, "y": lines(40)["y"]}, nil, []string{"no feature is left", "declare the features"}},
		"no row":                 {lines(0), nil, []string{"0 rows", "want 2"}},
		"one row":                {lines(1), nil, []string{"1 row", "want 2"}},
		"five rows":              {lines(5), nil, []string{"5 rows", "give 20 rows or more, or declare the scaling"}},
		"constant target":        {lines(40).with("y", constant), nil, []string{`target "y"`, "one value", "nothing to learn"}},
		"constant feature":       {lines(40).with("x2", constant), jobFile{"features": "[x1, x2]"}, []string{`"x2"`, "one value", "leave it out"}},
		"only constant features": {table{"x1": constant, "y": lines(40)["y"]}, nil, []string{"no feature is left"}},
		"null in a feature":      {lines(40).with("x2", full), nil, []string{"part-00.parquet", "row 23", `"x2"`, "null", "leave the column out"}},
		"null in the target":     {lines(40).with("y", full), nil, []string{"part-00.parquet", "row 23", `"y"`, "null"}},
		"no file":                {nil, jobFile{"source": "{paths: [empty]}"}, []string{"empty", "no data file", "*.parquet"}},
		"no match":               {nil, jobFile{"source": "{paths: ['lake/*.csv']}"}, []string{"*.csv", "no data file"}},
		"no directory":           {nil, jobFile{"source": "{paths: [nowhere]}"}, []string{"nowhere", "does not exist"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeFile(t, filepath.Join(dir, "empty", "_SUCCESS"), nil)
			if c.rows != nil {
				c.rows.write(t, lakeFile(dir, 0))
			}
			job := tiny(c.change).write(t, dir)
			refused(t, pacsgp(t, "train", "-c", job), filepath.Join(dir, "out"), exitFailure, c.words...)
		})
	}
	for _, length := range []int{0, 3, 4, 11, len(truncated) / 2, len(truncated) - 1} {
		t.Run("truncated file", func(t *testing.T) {
			dir := t.TempDir()
			lines(40).write(t, lakeFile(dir, 0))
			writeFile(t, lakeFile(dir, 1), truncated[:length])
			job := tiny(nil).write(t, dir)
			refused(t, pacsgp(t, "train", "-c", job), filepath.Join(dir, "out"), exitFailure, "part-01.parquet")
		})
	}
}

func TestOutputThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	job := tiny(nil).write(t, dir)

	writeFile(t, filepath.Join(dir, "file"), []byte("keep me"))
	for _, out := range []string{"file", "file/out"} {
		a := pacsgp(t, "train", "-c", job, "-o", filepath.Join(dir, out))
		if a.status != exitFailure || a.stdout != "" || !strings.Contains(a.message, "file") {
			t.Errorf("-o %s: status %d, stdout %q, message %q", out, a.status, a.stdout, a.message)
		}
		if string(readFile(t, filepath.Join(dir, "file"))) != "keep me" {
			t.Errorf("-o %s: the file in the way has changed", out)
		}
	}

	denied := hooked(func(op durabletest.Operation, _ func() error) error {
		return &os.PathError{Op: op.Kind, Path: op.Name, Err: syscall.EACCES}
	})
	out := filepath.Join(dir, "denied")
	refused(t, pacsgpOn(t, denied, nil, "train", "-c", job, "-o", out), out, exitFailure, "permission denied", "hint: choose an output directory")

	readOnly := filepath.Join(dir, "read-only")
	if err := os.Mkdir(readOnly, 0o555); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		t.Log("root may write to a read-only directory: that part is left out")
		return
	}
	for _, out := range []string{readOnly, filepath.Join(readOnly, "out")} {
		refused(t, pacsgp(t, "train", "-c", job, "-o", out), out, exitFailure, "permission denied", "hint: choose an output directory")
	}
}

// An output directory that the source would find the model in is refused before
// anything is written: the last pass and every later job would read it as rows.
func TestOutputInsideSource(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	if err := os.Symlink("lake", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	before := names(t, filepath.Join(dir, "lake"))
	for _, c := range []struct{ paths, output, words string }{
		{"lake/", "lake/out", "job.yaml: [4:9] output: " + filepath.Join(dir, "lake", "out") + " is inside the source " + filepath.Join(dir, "lake") + ", whose subdirectories are read"},
		{"lake", "lake/", "a name that begins with _ or ."},
		{"lake", "link/a/b", "is inside the source"},
		{"link", "lake/out", "is inside the source"},
		{".", "out", "is inside the source"},
		{"lake/*.parquet", "lake", "would find the model in"},
		{"lake/*", "lake/out", "would find the model in"},
	} {
		job := tiny(jobFile{"source": "{paths: ['" + c.paths + "']}", "output": c.output}).write(t, dir)
		for _, command := range []string{"plan", "train"} {
			pacsgp(t, command, "-c", job).says(t, exitConfig, c.words)
		}
		if after := names(t, filepath.Join(dir, "lake")); len(after) != len(before) {
			t.Errorf("output %s: the lake holds %q", c.output, after)
		}
	}
	job := tiny(nil).write(t, dir)
	flag := pacsgp(t, "train", "-c", job, "-o", filepath.Join(dir, "lake", "out"))
	flag.says(t, exitConfig, "--output: ", "is inside the source")
	for _, output := range []string{"lake/_out", "lake/.runs/1", "lake-2"} {
		succeed(t, "plan", "-c", tiny(jobFile{"output": output}).write(t, dir))
	}
	succeed(t, "train", "-c", tiny(jobFile{"output": "lake/_out"}).write(t, dir))
	succeed(t, "plan", "-c", job)
}

func TestOutputInUse(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	out := filepath.Join(dir, "out")
	other, err := lake.Open(out, nil)
	if err != nil {
		t.Fatal(err)
	}
	job := tiny(nil).write(t, dir)
	refused(t, pacsgp(t, "train", "-c", job), out, exitFailure, "in use", "hint: wait for the other process")
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	succeed(t, "train", "-c", job)
}

// A full disk or a failing one stops each command that writes at each operation in
// turn. What stands under a published name is whole, no model is seen without a
// certificate, nothing unfinished is left, and once the disk works again the same
// command gives the same bytes.
func TestFullDisk(t *testing.T) {
	repeats(t)
	for name, w := range writers(t) {
		t.Run(name, func(t *testing.T) {
			for kind, failure := range map[string]error{
				durabletest.Write: syscall.ENOSPC, durabletest.Sync: syscall.ENOSPC, durabletest.Create: syscall.ENOSPC,
				durabletest.Append: syscall.EDQUOT, durabletest.Rename: syscall.EIO, durabletest.SyncDir: syscall.EIO, durabletest.Remove: syscall.EIO,
			} {
				stride := w.stride
				if testing.Short() {
					stride *= 25
				}
				failed := true
				for at := 1; failed; at += stride {
					failed = w.fails(t, kind, failure, at)
				}
			}
		})
	}
}

// fails runs a command whose operation at and all later ones of that kind fail, and
// then again. It reports whether there were as many.
func (c writer) fails(t *testing.T, kind string, failure error, at int) bool {
	t.Helper()
	out, done, failed := t.TempDir(), 0, false
	broken := hooked(func(op durabletest.Operation, effect func() error) error {
		if op.Kind != kind {
			return effect()
		}
		if done++; done < at {
			return effect()
		}
		failed = true
		if op.Half != nil {
			op.Half()
		}
		return &os.PathError{Op: kind, Path: op.Name, Err: failure}
	})
	a := pacsgpOn(t, broken, nil, c.args(out)...)
	if !failed {
		return false
	}
	when := fmt.Sprintf("%s %d: %v", kind, at, failure)
	told := strings.Contains(a.message, failure.Error()) && (errors.Is(failure, syscall.EIO) || strings.Contains(a.message, "hint: no space"))
	if a.status != exitFailure || a.stdout != "" && !c.talks || strings.Contains(a.stdout, "CERTIFIED") || !told {
		if kind != durabletest.Remove || a.status != 0 { // what need not be removed may stay
			t.Errorf("%s: status %d, stdout %q, message %q: want what failed and nothing else", when, a.status, a.stdout, a.message)
		}
	}
	whole(t, when, c.in(out), c.want)
	models, documents := 0, 0
	for _, name := range names(t, c.in(out)) {
		switch {
		case strings.HasSuffix(name, durable.TempSuffix) && kind != durabletest.Remove:
			t.Errorf("%s: %s is left over", when, name)
		case strings.HasPrefix(name, "model-"):
			models++
		case strings.HasSuffix(name, ".json") && strings.HasPrefix(name, "certificate-"):
			documents++
		}
	}
	if models > documents {
		t.Errorf("%s: %d models are seen and %d certificates", when, models, documents)
	}
	succeed(t, c.args(out)...)
	c.complete(t, "after "+when, out)
	return true
}

// Temporary files that cannot be removed either are removed by the next run.
func TestFullDiskThatKeepsLeftovers(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	job := tiny(nil).write(t, dir)
	broken := hooked(func(op durabletest.Operation, effect func() error) error {
		switch op.Kind {
		case durabletest.Sync, durabletest.Remove:
			return &os.PathError{Op: op.Kind, Path: op.Name, Err: errors.New("input/output error")}
		}
		return effect()
	})
	a := pacsgpOn(t, broken, nil, "train", "-c", job)
	if a.status != exitFailure || !strings.Contains(a.message, "input/output error") {
		t.Errorf("status %d, message %q", a.status, a.message)
	}
	succeed(t, "train", "-c", job)
	out := filepath.Join(dir, "out")
	complete(t, "after a broken disk", out, published(t, out))
}
