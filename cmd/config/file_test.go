package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/yamlfile"
)

// keys is a file as the tests vary it: key and value in YAML. A key without a value is left
// out.
type keys map[string]string

// tiny is a small job of files.
func tiny(change keys) keys {
	k := keys{
		"source": "{paths: [lake]}", "target": "y", "loss": "{epsilon: 0.7}", "delta": "0.05",
		"inducing": "12", "train": "{passes: 2}", "output": "out",
	}
	maps.Copy(k, change)
	return k
}

// write writes job.yaml into dir and returns its path.
func (k keys) write(t testing.TB, dir string) string {
	t.Helper()
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(k)) {
		if k[key] != "" {
			fmt.Fprintf(&text, "%s: %s\n", key, k[key])
		}
	}
	return writeFile(t, filepath.Join(dir, "job.yaml"), text.String())
}

// writeFile writes a file and returns its path.
func writeFile(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// with is an environment with these variables.
func with(variables map[string]string) Environment {
	return Environment{Lookup: func(name string) (string, bool) { value, ok := variables[name]; return value, ok }, Warning: func(string) {}}
}

// parsed is the text of a job file, decoded.
func parsed(text []byte, lookup func(string) (string, bool)) (JobFile, *yamlfile.File) {
	return yamlfile.Parse[JobFile](kinds[1].Kind, "job.yaml", text, lookup)
}

// faultsOf are the faults of a file, in an error.
func faultsOf(t testing.TB, err error) (all []yamlfile.Fault) {
	t.Helper()
	for _, each := range yamlfile.Separate(err) {
		f, ok := errors.AsType[yamlfile.Fault](each)
		if !ok {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}
