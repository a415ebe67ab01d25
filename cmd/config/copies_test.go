package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pacsgp/pacsgp/pipeline"
)

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
