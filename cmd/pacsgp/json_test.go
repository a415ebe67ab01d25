package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// What programs read has one form: names in snake_case, no nanoseconds, lists that
// are empty instead of null.
func TestJSONHasOneForm(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	job := tiny(jobFile{"train": "{passes: 2, time: 1h}"}).write(t, dir)
	out := filepath.Join(dir, "out")
	documents := map[string]string{
		"plan":  succeed(t, "plan", "-c", job, "--json").stdout,
		"train": succeed(t, "train", "-c", job, "--json").stdout,
	}
	r := record(t, out)
	model, certificate := filepath.Join(out, r.Model), filepath.Join(out, r.Certificate)
	lake := filepath.Join(dir, "lake")
	documents["run record"] = string(readFile(t, filepath.Join(out, sinklake.RunFile)))
	documents["inspect model"] = succeed(t, "inspect", model, "--json").stdout
	documents["inspect certificate"] = succeed(t, "inspect", certificate, "--json").stdout
	documents["verify"] = succeed(t, "verify", model, certificate, lake, "--json").stdout
	documents["verify without data"] = pacsgp(t, "verify", model, certificate, "--json").stdout
	documents["predict"] = pacsgp(t, "predict", model, certificate, lake, "-o", filepath.Join(dir, "p.parquet"), "--json").stdout
	other := tiny(jobFile{"delta": "0.1"}).write(t, dir)
	again := pacsgp(t, "train", "-c", other, "--json").stdout
	for name, text := range documents {
		var document any
		if err := json.Unmarshal([]byte(text), &document); err != nil {
			t.Errorf("%s: %v in %q", name, err, text)
			continue
		}
		for _, fault := range oneForm(name, document) {
			t.Error(fault)
		}
	}
	if doubt := strings.Index(again, "1 other job was tried"); doubt < 0 || doubt > strings.Index(again, `"mean"`) {
		t.Errorf("the job before this one is not among the first things: %s", again)
	}
}

var snake = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// oneForm lists what is wrong with a document.
func oneForm(at string, document any) (faults []string) {
	switch document := document.(type) {
	case nil:
		// An optional number is null: a bound that no footer tells.
		if !strings.HasSuffix(at, ".least") && !strings.HasSuffix(at, ".most") {
			faults = append(faults, at+" is null")
		}
	case map[string]any:
		for name, value := range document {
			if !snake.MatchString(name) {
				faults = append(faults, fmt.Sprintf("%s.%s: no name of this form", at, name))
			}
			if name == "time" || name == "elapsed" || strings.HasSuffix(name, "_ns") {
				faults = append(faults, fmt.Sprintf("%s.%s: a time whose unit is not said", at, name))
			}
			faults = append(faults, oneForm(at+"."+name, value)...)
		}
	case []any:
		for _, value := range document {
			faults = append(faults, oneForm(at+"[]", value)...)
		}
	}
	return faults
}
