package main

import (
	"encoding/json"
	"errors"
	"maps"
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
	"github.com/pacsgp/pacsgp/pipeline"
)

// flinkConfiguration makes Flink try again, which it does not by itself.
const flinkConfiguration = `restart-strategy: {type: fixed-delay, fixed-delay: {attempts: 3, delay: 100 ms}}
parallelism: {default: 2}
`

// onFlink starts Flink in Beam's job server, and has the pipelines of this test run there, by
// processes of this program. It returns the process of Java, and skips the test if there is no Flink.
func onFlink(t testing.TB) *os.Process {
	t.Helper()
	if os.Getenv("PACSGP_FLINK") == "" {
		t.Skip("no Flink: .ci/nightly runs it, and PACSGP_FLINK=$(.ci/flink)")
	}
	dir, ports := t.TempDir(), freePorts(t, 3)
	fatal.If(t, os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(flinkConfiguration), 0o600))
	server := java(t, dir, "org.apache.beam.runners.flink.FlinkJobServerDriver", "--job-host=localhost", "--job-port="+ports[0], "--artifact-port="+ports[1],
		"--expansion-port="+ports[2], "--artifacts-dir="+dir, "--flink-master=[local]", "--flink-conf-dir="+dir)
	endpoint := "localhost:" + ports[0]
	await(t, "the job server", func() bool {
		c, err := net.Dial("tcp", endpoint)
		return err == nil && c.Close() == nil
	})
	workers{runner: "flink", endpoint: endpoint}.use(t)
	return server
}

// java starts a class of Flink's jars, until the end of the test.
func java(t testing.TB, dir, class string, args ...string) *os.Process {
	t.Helper()
	log, err := os.CreateTemp(dir, "log-")
	fatal.If(t, err)
	options := []string{"-Xmx1g", "-Djava.io.tmpdir=" + dir, "-cp", filepath.Join(os.Getenv("PACSGP_FLINK"), "*"), "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED"}
	for _, name := range []string{"lang", "util", "nio", "time", "lang.invoke", "util.concurrent"} {
		options = append(options, "--add-opens=java.base/java."+name+"=ALL-UNNAMED")
	}
	cmd := exec.Command("java", append(append(options, class), args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	fatal.If(t, errors.Join(cmd.Start(), log.Close()))
	t.Cleanup(func() {
		kill(cmd.Process)
		if text, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("end of the log of %s:\n%s", class, text[max(0, len(text)-4000):])
		}
	})
	return cmd.Process
}

// kill kills a process of this one, and waits for its end.
func kill(p *os.Process) {
	_ = p.Kill()
	_, _ = p.Wait()
}

// await waits for something, for a minute at most.
func await(t testing.TB, what string, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); time.Sleep(100 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// freePorts are free ports of this machine.
func freePorts(t testing.TB, n int) (ports []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		fatal.If(t, err)
		defer l.Close()
		_, port, err := net.SplitHostPort(l.Addr().String())
		fatal.If(t, err)
		ports = append(ports, port)
	}
	return ports
}

// Workers are processes that an engine starts. Zero values mean prism, and this program, which tells
// nothing.
type workers struct {
	runner, endpoint string
	command          string
	reported         string // file that workers name themselves in
	environment      map[string]string
}

// use has pipelines run by an engine with these workers, until the end of the test.
func (w workers) use(t testing.TB) {
	t.Helper()
	self, err := os.Executable()
	fatal.If(t, err)
	staged := filepath.Join(t.TempDir(), "staged") // and not run
	fatal.If(t, os.WriteFile(staged, []byte("x"), 0o600))
	environment := map[string]string{"PACSGP_BEAM": "1"}
	maps.Copy(environment, w.environment)
	if w.reported != "" {
		environment["PACSGP_BEAM"] = w.reported
	}
	if w.command == "" {
		w.command = self
	}
	how, err := json.Marshal(map[string]any{"command": w.command, "env": environment})
	fatal.If(t, err)
	for flag, value := range map[*string]string{
		runners.Runner: w.runner, jobopts.Endpoint: w.endpoint,
		jobopts.EnvironmentType:   "PROCESS",
		jobopts.EnvironmentConfig: string(how),
		jobopts.WorkerBinary:      staged,
	} {
		before := *flag
		t.Cleanup(func() { *flag = before })
		*flag = value
	}
}

// living are the processes that an engine has started as workers, of this program or another build.
func living(t testing.TB) (all []*os.Process) {
	t.Helper()
	self, err := os.Executable()
	fatal.If(t, err)
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	fatal.If(t, err)
	for _, path := range lines {
		line, err := os.ReadFile(path)
		program, arguments, _ := strings.Cut(string(line), "\x00")
		if err != nil || !strings.Contains(arguments, "--provision_endpoint") || program != self && program != os.Getenv("PACSGP_PORTABLE") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		fatal.If(t, err)
		p, err := os.FindProcess(pid)
		fatal.If(t, err)
		all = append(all, p)
	}
	return all
}

// noneLiving waits for the end of all workers.
func noneLiving(t testing.TB) {
	t.Helper()
	await(t, "the end of the workers", func() bool { return len(living(t)) == 0 })
}

// again gives back the output of a driver as it is now, before the last pass.
func again(t testing.TB, d *driver) func() {
	t.Helper()
	kept := filepath.Join(t.TempDir(), "kept")
	fatal.If(t, os.CopyFS(kept, os.DirFS(d.task.Output)))
	return func() {
		fatal.If(t, errors.Join(os.RemoveAll(d.task.Output), os.CopyFS(d.task.Output, os.DirFS(kept))))
	}
}

// fortyFiles writes a job on 400,000 rows in forty files.
func fortyFiles(t testing.TB) (path string) {
	t.Helper()
	dir := t.TempDir()
	g, err := synth.New(synth.Config{Seed: 22, Noise: 0.1, Features: 2})
	fatal.If(t, err)
	fatal.If(t, g.WriteLake(t.Context(), filepath.Join(dir, "lake"), 40, 0, 400_000))
	return write(t, dir, "source: {paths: [lake]}", "loss: {epsilon: 0.7}", "require: draw", "workers: 1")
}

// On Flink the bytes are those of pacsgp train, also when workers are killed, and when parts occur
// twice. An error that stays is ours, without the stacks of Java.
func TestFlink(t *testing.T) {
	onFlink(t)
	path := fortyFiles(t)
	want := alone(t, path)
	d, j := withTrainingState(t, path)
	finished(t, d.certify(t.Context()))
	demandSame(t, want, d.published(t))
	fatal.If(t, execute(t.Context(), parts(j, t.TempDir(), []int{1, 2, 2, 3, 1, 1}, 40)))
	random, killed := rand.New(rand.NewPCG(1, 2)), 0
	for range 10 {
		d, _ := withTrainingState(t, path)
		ended := make(chan error, 1)
		go func() { ended <- d.certify(t.Context()) }()
		for wait, done := time.Duration(random.IntN(2000))*time.Millisecond, false; !done; wait = 20 * time.Millisecond {
			select {
			case err := <-ended:
				finished(t, err)
				done = true
			case <-time.After(wait):
				if now := living(t); len(now) > 0 && now[0].Kill() == nil {
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
	rejectedRow(t, path, 10_000)
}

// A driver that is killed after its job was submitted leaves the job to Flink, and no artifact; the
// next one publishes that of pacsgp train, also while the job goes on.
func TestFlinkDriverKilled(t *testing.T) {
	onFlink(t)
	path := fortyFiles(t)
	d, want := on(t, path), alone(t, path)
	fatal.If(t, d.train(t.Context()))
	again := again(t, d)
	self, err := os.Executable()
	fatal.If(t, err)
	start := func() *exec.Cmd {
		cmd := exec.Command(self, "certify", path, "--runner", *runners.Runner, "--endpoint", *jobopts.Endpoint,
			"--environment_type", *jobopts.EnvironmentType, "--environment_config", *jobopts.EnvironmentConfig, "--worker_binary", *jobopts.WorkerBinary)
		cmd.Env = append(os.Environ(), "PACSGP_BEAM=1")
		return cmd
	}
	random, between := rand.New(rand.NewPCG(3, 4)), 0
	for range 5 {
		noneLiving(t)
		again()
		cmd := start()
		fatal.If(t, cmd.Start())
		await(t, "a worker", func() bool { return len(living(t)) > 0 }) // so the job is there
		time.Sleep(time.Duration(random.IntN(500)) * time.Millisecond)
		kill(cmd.Process)
		if len(living(t)) > 0 {
			between++
		}
		demandNoOther(t, want, d.published(t))
		if log, err := start().CombinedOutput(); err != nil && !strings.Contains(string(log), pipeline.ErrNotCertified.Error()) {
			t.Fatalf("%v: %s", err, log)
		}
		demandSame(t, want, d.published(t))
	}
	t.Logf("%d of 5 drivers were killed before the end of their job", between)
}
