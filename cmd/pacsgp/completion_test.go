package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// offered is what a shell is told to offer behind these arguments: words, and the number
// of a directive.
func offered(t *testing.T, args ...string) []string {
	t.Helper()
	return strings.Fields(succeed(t, append([]string{"__complete"}, args...)...).stdout)
}

func TestCompletion(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"model-1.parquet", "certificate-1.json", "certificate-1.parquet", "run.json", "notes.txt", ".hidden.json", "line\nbreak.json", "lake/part.parquet"} {
		writeFile(t, filepath.Join(dir, name), nil)
	}
	in := func(names ...string) []string {
		var all []string
		for _, name := range names {
			if !strings.HasPrefix(name, ":") {
				name = dir + "/" + name
			}
			all = append(all, name)
		}
		return all
	}
	const (
		nothing  = ":4"
		andSlash = ":6" // no space after it
		byEnding = ":8"
		folders  = ":16"
	)
	for _, c := range []struct {
		args, want []string
	}{
		{[]string{"verify", "--judge", ""}, []string{"mean", "of", "Q,", "which", "predict", "writes", "draw", "of", "Q", nothing}},
		{[]string{"plan", "--log-level", ""}, []string{"debug", "info", "warn", "error", nothing}},
		{[]string{"lint", "--format", ""}, []string{"text", "json", nothing}},
		{[]string{"train", "-c", ""}, []string{"yaml", "yml", byEnding}},
		{[]string{"train", "-o", ""}, []string{folders}},
		{[]string{"train", ""}, []string{nothing}},
		{[]string{"train", "--delta", ""}, []string{nothing}},
		{[]string{"predict", "-o", ""}, []string{"parquet", "parq", "pq", "arrow", "feather", byEnding}},
		{[]string{"lint", ""}, []string{"yaml", "yml", byEnding}},
		{[]string{"lint", "a.yaml", ""}, []string{"yaml", "yml", byEnding}},
		{[]string{"verify", dir + "/"}, in("lake/", "model-1.parquet", andSlash)},
		{[]string{"verify", dir + "/m"}, in("model-1.parquet", nothing)},
		{[]string{"verify", "m", dir + "/"}, in("certificate-1.json", "certificate-1.parquet", "lake/", andSlash)},
		{[]string{"verify", "m", "c", dir + "/"}, []string{"parquet", "parq", "pq", "arrow", "feather", byEnding}},
		{[]string{"inspect", dir + "/"}, in("certificate-1.json", "certificate-1.parquet", "lake/", "model-1.parquet", "run.json", andSlash)},
		{[]string{"inspect", dir + "/none/"}, []string{nothing}},
		{[]string{"inspect", "a", ""}, []string{nothing}},
	} {
		if diff := cmp.Diff(c.want, offered(t, c.args...)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.args, diff)
		}
	}
	if all := offered(t, ""); !slices.Contains(all, "lint") || !slices.Contains(all, "completion") {
		t.Errorf("commands: %q", all)
	}
}

// The scripts are scripts.
func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script := succeed(t, "completion", shell).stdout
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("%s is not there: its script is not checked", shell)
			continue
		}
		cmd := exec.CommandContext(t.Context(), path, "-n")
		cmd.Stdin = strings.NewReader(script)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", shell, err, out)
		}
	}
}
