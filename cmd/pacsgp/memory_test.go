package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/cmd/program"
	"github.com/pacsgp/pacsgp/ingest/synth"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
)

// shipped is the command as users have it.
func shipped(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pacsgp")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// The most memory that the command had, as it is shipped, is what is foreseen, to 15 %, or
// to 16 MiB where the program itself is most of it. The garbage collector
// is limited by it.
func TestTrainTakesWhatIsForeseen(t *testing.T) {
	if testing.Short() || raceDetector || runtime.GOOS != "linux" {
		t.Skip("trains for minutes, and measures a process as Linux does")
	}
	command := shipped(t)
	made := func(rows int64, files, features int) string {
		dir := filepath.Join(t.TempDir(), "lake")
		g, err := synth.New(synth.Config{Seed: 1, Noise: 0.1, Features: features})
		fatal.If(t, err)
		fatal.If(t, g.WriteLake(t.Context(), dir, files, 0, rows))
		return dir
	}
	data := os.Getenv("PACSGP_DATA")
	if data == "" {
		data = filepath.Join("..", "..", "..", "shared", "data")
	}
	for name, c := range map[string]struct {
		path   string
		change jobFile
	}{
		"wide":          {made(20_000, 2, 300), jobFile{"inducing": "300"}},
		"like protein":  {made(45_730, 1, 9), jobFile{"inducing": "600"}},
		"like kegg":     {made(64_608, 2, 27), jobFile{"inducing": "600"}},
		"pol":           {filepath.Join(data, "pol"), jobFile{"inducing": "700"}},
		"pol, its rule": {filepath.Join(data, "pol"), jobFile{"inducing": ""}},
		"list":          {filepath.Join(data, "pol"), jobFile{"inducing": "[200, 400]"}},
		"kin40k":        {filepath.Join(data, "kin40k"), jobFile{"inducing": "700"}},
		"reread":        {filepath.Join(data, "kin40k"), jobFile{"inducing": "300", "memory": "1MB"}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat(c.path); err != nil {
				if os.Getenv("CI") == "true" {
					t.Fatalf("the test data are missing: %v; set PACSGP_DATA", err)
				}
				t.Skipf("the test data are missing: %v; set PACSGP_DATA", err)
			}
			path, err := filepath.Abs(c.path)
			fatal.If(t, err)
			job := tiny(c.change)
			job["source"], job["copies"], job["loss"] = "{paths: ["+path+"]}", "independent", "{epsilon: {std: 0.6}}"
			job["train"], job["checkpoint"] = "{passes: 0.2}", "1s"
			file := job.write(t, t.TempDir())
			task, err := config.ReadJob(t.Context(), file, config.Environment{Lookup: os.LookupEnv, Notice: func(string) {}}, config.Overrides{})
			fatal.If(t, err)
			src, err := task.Open(t.Context(), nil)
			fatal.If(t, err)
			sample, err := pipeline.SampleOf(t.Context(), src, task.Resources.Workers)
			fatal.If(t, err)
			had := peakOf(t, exec.CommandContext(t.Context(), command, "train", "-c", file))
			planned := float64(pipeline.PeakMemory(task.Job, sample, task.Resources))
			t.Logf("planned %.0f MiB, had %.0f MiB: %+.0f %%", planned/(1<<20), had/(1<<20), 100*(planned/had-1))
			if room := max(0.15*had, 16<<20); planned < had-room || planned > had+room {
				t.Errorf("foreseen are %.0f MiB, and the process had %.0f", planned/(1<<20), had/(1<<20))
			}
		})
	}
}

// verify, predict and pass take the memory that they are refused for: from 15 % less up to the allowance,
// or some MiB off, for garbage varies.
func TestVerifyTakesWhatIsForeseen(t *testing.T) {
	if testing.Short() || raceDetector || runtime.GOOS != "linux" {
		t.Skip("measures a process as Linux does")
	}
	command := shipped(t)
	for name, c := range map[string]struct{ rows, features, inducing int }{
		"small": {2000, 3, 50}, "rows": {200_000, 9, 100}, "inducing points": {20_000, 9, 900},
	} {
		t.Run(name, func(t *testing.T) {
			dir, out := t.TempDir(), t.TempDir()
			g, err := synth.New(synth.Config{Seed: 1, Noise: 0.1, Features: c.features})
			fatal.If(t, err)
			fatal.If(t, g.WriteLake(t.Context(), filepath.Join(dir, "lake"), 2, 0, int64(c.rows/2)))
			of := jobFile{"inducing": fmt.Sprint(c.inducing), "train": "{passes: 0.2}"}
			a, job, handed := retrained(t, dir, of), tiny(of).write(t, dir), t.TempDir()
			succeed(t, "train", "-c", job, "--no-pass", "-o", handed)
			task, err := config.ReadJob(t.Context(), job, config.Environment{Lookup: os.LookupEnv, Notice: func(string) {}}, config.Overrides{})
			fatal.If(t, err)
			m, _, err := config.ReadModel(t.Context(), a.model)
			fatal.If(t, err)
			certificate, _, err := config.ReadCertificate(t.Context(), a.certificate)
			fatal.If(t, err)
			from, err := config.OriginOf([]string{a.lake})
			fatal.If(t, err)
			src, err := from.Open(t.Context(), pipeline.Choice{Target: "y"})
			fatal.If(t, err)
			res := pipeline.Resources{Workers: runtime.GOMAXPROCS(0)}
			sample, err := pipeline.SampleOf(t.Context(), src, res.Workers)
			fatal.If(t, err)
			for command, measured := range map[string]struct {
				foreseen int64
				args     []string
			}{
				"verify":           {pipeline.CheckMemory(certificate, m, sample, res), []string{command, "verify", a.model, a.certificate, a.lake}},
				"verify no rows":   {pipeline.CheckMemory(certificate, m, pipeline.Sample{}, res), []string{command, "verify", a.model, a.certificate}},
				"verify --retrain": {max(pipeline.CheckMemory(certificate, m, sample, res), pipeline.RetrainMemory(certificate, sample, res)), []string{command, "verify", a.model, a.certificate, a.lake, "--retrain"}},
				"pass":             {pipeline.PassMemory(task.Job, sample, sample.Rows, res), []string{command, "pass", "-c", job, "--from", handed, "-o", filepath.Join(out, "part")}},
				"predict":          {pipeline.PredictMemory(m, sample, res), []string{command, "predict", a.model, a.certificate, a.lake, "-o", filepath.Join(out, "p.parquet")}},
			} {
				had := peakOf(t, exec.CommandContext(t.Context(), measured.args[0], measured.args[1:]...))
				foreseen := float64(measured.foreseen)
				t.Logf("%s: foreseen %.0f MiB, had %.0f MiB: %+.0f %%", command, foreseen/(1<<20), had/(1<<20), 100*(foreseen/had-1))
				if foreseen < had-max(0.15*had, 16<<20) || foreseen > had+max(had*program.Surplus/100, 64<<20) {
					t.Errorf("%s: foreseen are %.0f MiB, and the process had %.0f", command, foreseen/(1<<20), had/(1<<20))
				}
			}
		})
	}
}

// peakOf runs a command and returns its peak of memory in bytes, from /proc: the number that a
// parent gets at the end includes the parent's own.
func peakOf(t *testing.T, cmd *exec.Cmd) (peak float64) {
	t.Helper()
	var log strings.Builder
	cmd.Stderr = &log
	fatal.If(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case err := <-ended:
			if err != nil && cmd.ProcessState.ExitCode() != exitNotCertified {
				t.Fatalf("%v: %s", err, log.String())
			}
			if peak == 0 {
				t.Fatal("the system does not say how much memory it had")
			}
			return peak
		case <-look.C:
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)) // gone when it has ended
			var kib float64
			for line := range strings.Lines(string(status)) {
				if n, _ := fmt.Sscanf(line, "VmHWM: %f kB", &kib); n == 1 {
					peak = max(peak, 1024*kib)
				}
			}
		}
	}
}
