package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/pipeline"
)

// What may be a share may be in percent.
func TestSharesInPercent(t *testing.T) {
	for text, want := range map[string]float64{"1 %": 0.01, "1%": 0.01, "0.3 %": 0.003, "0.05": 0.05, "1e-6": 1e-6, "'5 %'": 0.05} {
		c, read := parsed([]byte("delta: "+text+"\nlimit: "+text+"\n"), noVariables)
		var flag Share
		err := flag.Set(strings.Trim(text, "'"))
		if read.Faults != nil || err != nil || c.job().Delta != want || float64(c.Limit) != want || float64(flag) != want {
			t.Errorf("%s: delta %v, limit %v, flag %v (%v, %v), want %v", text, c.job().Delta, c.Limit, flag, read.Faults, err, want)
		}
	}
}

// A share in percent is the number that is written with the point two places to
// the left.
func TestCopiesInTheJobFile(t *testing.T) {
	for text, want := range map[string]pipeline.CopiesDecl{
		"":                    {},
		"copies:":             {},
		"copies: 0":           {Policy: "limited"},
		"copies: 0.0":         {Policy: "limited"},
		"copies: 1 %":         {Policy: "limited", Limit: 0.01},
		"copies: 1%":          {Policy: "limited", Limit: 0.01},
		"copies: \"0.3 %\"":   {Policy: "limited", Limit: 0.003},
		"copies: 0.003":       {Policy: "limited", Limit: 0.003},
		"copies: 99.9 %":      {Policy: "limited", Limit: 0.999},
		"copies: drop":        {Policy: "drop"},
		"copies: independent": {Policy: "independent"},
	} {
		path := filepath.Join(t.TempDir(), "job.yaml")
		if err := os.WriteFile(path, []byte("target: y\n"+text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		c, read, err := readConfiguration[JobFile](t.Context(), path, os.LookupEnv)
		if err != nil || read.Faults != nil || c.job().Copies != want {
			t.Errorf("%q gives %+v, %v, want %+v", text, c.job().Copies, err, want)
		}
	}
}
