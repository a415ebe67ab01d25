package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners"

	"github.com/pacsgp/pacsgp/ingest/synth"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// opened are the packages of Java that Flink reaches into.
var opened = []string{"lang", "util", "nio", "time", "lang.invoke", "util.concurrent"}

// flinkConfiguration makes Flink try again, which it does not by itself.
const flinkConfiguration = `restart-strategy: {type: fixed-delay, fixed-delay: {attempts: 3, delay: 100 ms}}
parallelism: {default: 2}
`

// onFlink starts Flink in Beam's job server, and has the pipelines of this test run there, by
// processes of this program.
func onFlink(t *testing.T) {
	t.Helper()
	jars := os.Getenv("PACSGP_FLINK")
	if jars == "" {
		t.Skip("no Flink: .ci/nightly runs it")
	}
	dir := t.TempDir()
	fatal.If(t, os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(flinkConfiguration), 0o600))
	args := []string{"-Xmx1g", "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED"}
	for _, name := range opened {
		args = append(args, "--add-opens=java.base/java."+name+"=ALL-UNNAMED")
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	fatal.If(t, err)
	cmd := exec.Command("java", append(args, "-Djava.io.tmpdir="+dir, "-cp", filepath.Join(jars, "*"),
		"org.apache.beam.runners.flink.FlinkJobServerDriver", "--job-host=localhost", "--job-port=8099", "--artifact-port=8098",
		"--expansion-port=8097", "--artifacts-dir="+dir, "--flink-master=[local]", "--flink-conf-dir="+dir)...)
	cmd.Stdout, cmd.Stderr = log, log
	fatal.If(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		if c, err := net.Dial("tcp", "localhost:8099"); err == nil {
			fatal.If(t, c.Close())
			break
		}
		if time.Since(began) > time.Minute {
			text, _ := os.ReadFile(log.Name())
			t.Fatalf("it does not start: %s", text)
		}
	}
	flags(t, "localhost:8099", "flink")
}

// flags has pipelines run by an engine, with processes of this program as workers.
func flags(t *testing.T, endpoint, runner string) {
	t.Helper()
	self, err := os.Executable()
	fatal.If(t, err)
	staged := filepath.Join(t.TempDir(), "staged") // and not run
	fatal.If(t, os.WriteFile(staged, []byte("x"), 0o600))
	for flag, value := range map[*string]string{
		runners.Runner: runner, jobopts.Endpoint: endpoint,
		jobopts.EnvironmentType:   "PROCESS",
		jobopts.EnvironmentConfig: fmt.Sprintf(`{"command": %q, "env": {"PACSGP_BEAM": "1"}}`, self),
		jobopts.WorkerBinary:      staged,
	} {
		before := *flag
		t.Cleanup(func() { *flag = before })
		*flag = value
	}
}

// killWorker kills a worker, if there is one, and reports whether there was.
func killWorker(t *testing.T) bool {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	fatal.If(t, err)
	for _, path := range lines {
		line, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(line), "--provision_endpoint") || !strings.HasPrefix(string(line), os.Args[0]) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		fatal.If(t, err)
		p, err := os.FindProcess(pid)
		fatal.If(t, err)
		return p.Kill() == nil
	}
	return false
}

// On Flink the bytes are those of pacsgp train, also when workers are killed. An error that stays
// is ours, without the stacks of Java.
func TestFlink(t *testing.T) {
	onFlink(t)
	dir := t.TempDir()
	g, err := synth.New(synth.Config{Seed: 22, Noise: 0.1, Features: 2})
	fatal.If(t, err)
	fatal.If(t, g.WriteLake(t.Context(), filepath.Join(dir, "lake"), 40, 0, 400_000))
	path := write(t, dir, "source: {paths: [lake]}", "loss: {epsilon: 0.7}", "judge: draw", "workers: 1")
	want := alone(t, path)
	d, _ := withHandover(t, path)
	finished(t, d.certify(t.Context()))
	demandSame(t, want, d.published(t))
	random, killed := rand.New(rand.NewPCG(1, 2)), 0
	for range 10 {
		d, _ := withHandover(t, path)
		ended := make(chan error, 1)
		go func() { ended <- d.certify(t.Context()) }()
		for wait, done := time.Duration(random.IntN(2000))*time.Millisecond, false; !done; wait = 20 * time.Millisecond {
			select {
			case err := <-ended:
				finished(t, err)
				done = true
			case <-time.After(wait):
				if killWorker(t) {
					killed++
					finished(t, <-ended)
					done = true
				}
			}
		}
		demandSame(t, want, d.published(t))
	}
	if t.Logf("%d of 10 jobs had a worker killed", killed); killed == 0 {
		t.Error("no worker was killed")
	}
	badRow(t, path, 10_000)
}
