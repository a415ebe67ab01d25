package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/ingest/synth"
)

// The most memory that a process of its own had is what plan says, to 15 %, or to
// 12 MiB where the program itself is most of it. People set the limits of containers by
// it.
func TestPlanSaysTheMemory(t *testing.T) {
	if testing.Short() || raceDetector || runtime.GOOS != "linux" {
		t.Skip("trains for a minute, and measures a process as Linux does")
	}
	wide := filepath.Join(t.TempDir(), "wide")
	g, err := synth.New(synth.Config{Seed: 1, Noise: 0.1, Features: 300})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.WriteLake(t.Context(), wide, 2, 0, 20_000); err != nil {
		t.Fatal(err)
	}
	data := os.Getenv("PACSGP_DATA")
	if data == "" {
		data = filepath.Join("..", "..", "..", "shared", "data")
	}
	for name, c := range map[string]struct {
		path   string
		change jobFile
	}{
		"wide":   {wide, jobFile{"inducing": "300"}},
		"pol":    {filepath.Join(data, "pol"), jobFile{"inducing": "700"}},
		"list":   {filepath.Join(data, "pol"), jobFile{"inducing": "[200, 400]"}},
		"kin40k": {filepath.Join(data, "kin40k"), jobFile{"inducing": "700"}},
		"reread": {filepath.Join(data, "kin40k"), jobFile{"inducing": "300", "memory": "1MB"}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat(c.path); err != nil {
				t.Skip("without the real data")
			}
			path, err := filepath.Abs(c.path)
			if err != nil {
				t.Fatal(err)
			}
			job := tiny(c.change)
			job["source"], job["copies"], job["loss"] = "{paths: ["+path+"]}", "independent", "{epsilon: {std: 0.6}}"
			job["train"], job["checkpoint"] = "{passes: 0.2}", "1s"
			file := job.write(t, t.TempDir())
			var said planned
			if err := json.Unmarshal([]byte(succeed(t, "plan", "-c", file, "--json").stdout), &said); err != nil {
				t.Fatal(err)
			}
			status := filepath.Join(t.TempDir(), "status")
			cmd := child(t, order{Args: []string{"train", "-c", file}}, peakVariable+"="+status)
			var log strings.Builder
			cmd.Stderr = &log
			if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != exitNotCertified {
				t.Fatalf("%v: %s", err, log.String())
			}
			had := 1024 * peakOf(t, status)
			planned := float64(said.Estimate.Bytes)
			t.Logf("planned %.0f MiB, had %.0f MiB: %+.0f %%", planned/(1<<20), had/(1<<20), 100*(planned/had-1))
			if room := max(0.15*had, 12<<20); planned < had-room || planned > had+room {
				t.Errorf("plan says %.0f MiB, and the process had %.0f", planned/(1<<20), had/(1<<20))
			}
		})
	}
}

// peakOf is the most KiB that a process had in memory, by its file under /proc. The
// resource usage that a parent is told would count what the parent has.
func peakOf(t *testing.T, status string) (kib float64) {
	t.Helper()
	for line := range strings.Lines(string(readFile(t, status))) {
		if n, _ := fmt.Sscanf(line, "VmHWM: %f kB", &kib); n == 1 {
			return kib
		}
	}
	t.Fatal("the system does not say how much memory it had")
	return 0
}
