package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/pipeline/job"
)

// What may be a share may be in percent.
func TestSharesInPercent(t *testing.T) {
	for text, want := range map[string]float64{"1 %": 0.01, "1%": 0.01, "0.3 %": 0.003, "0.05": 0.05, "1e-6": 1e-6, "'5 %'": 0.05} {
		c, read := parsed([]byte("delta: "+text+"\nrequire: "+text+"\n"), noVariables)
		var flag Share
		err := flag.Set(strings.Trim(text, "'"))
		if read.Faults != nil || err != nil || c.job().Delta != want || c.Require.Limit != want || float64(flag) != want {
			t.Errorf("%s: delta %v, require %v, flag %v (%v, %v), want %v", text, c.job().Delta, c.Require.Limit, flag, read.Faults, err, want)
		}
	}
}

// A share in percent is the number that is written with the point two digits to
// the left.
func TestDuplicatesInTheJobFile(t *testing.T) {
	for text, want := range map[string]job.DuplicatesDecl{
		"":                               {},
		"duplicates: {limit: 0}":         {Policy: "limit"},
		"duplicates: {limit: 1 %}":       {Policy: "limit", Limit: 0.01},
		"duplicates: {limit: \"0.3 %\"}": {Policy: "limit", Limit: 0.003},
		"duplicates: {limit: 0.003}":     {Policy: "limit", Limit: 0.003},
		"duplicates: drop":               {Policy: "drop"},
		"duplicates: keep":               {Policy: "keep"},
	} {
		path := filepath.Join(t.TempDir(), "job.yaml")
		if err := os.WriteFile(path, []byte("target: y\n"+text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		c, read, err := readConfiguration[JobFile](path, os.LookupEnv)
		if err != nil || read.Faults != nil || c.job().Duplicates != want {
			t.Errorf("%q gives %+v, %v, want %+v", text, c.job().Duplicates, err, want)
		}
	}
}
