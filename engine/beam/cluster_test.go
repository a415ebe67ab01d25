package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// clusterConfiguration is that of each process of a cluster; a TaskManager has one slot, and so one
// worker. The memory has to be told in all its parts where no script of Flink's divides it.
const clusterConfiguration = `restart-strategy: {type: fixed-delay, fixed-delay: {attempts: 30, delay: 1 s}}
parallelism: {default: 2}
jobmanager: {rpc: {address: 127.0.0.1, port: %s}, bind-host: 127.0.0.1}
rest: {address: 127.0.0.1, port: %s, bind-address: 127.0.0.1}
heartbeat: {interval: 1000, timeout: 5000}
classloader: {resolve-order: parent-first}
taskmanager:
  host: 127.0.0.1
  bind-host: 127.0.0.1
  numberOfTaskSlots: 1
  cpu: {cores: 1.0}
  memory:
    framework: {heap: {size: 128m}, off-heap: {size: 128m}}
    jvm-metaspace: {size: 256m}
    jvm-overhead: {min: 192m, max: 192m}
    task: {heap: {size: 256m}, off-heap: {size: 64m}}
    managed: {size: 128m}
    network: {min: 64m, max: 64m}
`

// A cluster is a Flink of several processes: a JobManager, and TaskManagers.
type cluster struct {
	dir, rest string
	managers  []*os.Process // TaskManagers
}

// newCluster starts a cluster with so many TaskManagers.
func newCluster(t testing.TB, n int) *cluster {
	t.Helper()
	ports := freePorts(t, 2)
	c := &cluster{dir: flinkFolder(t, fmt.Sprintf(clusterConfiguration, ports[0], ports[1])), rest: "127.0.0.1:" + ports[1], managers: make([]*os.Process, n)}
	java(t, c.dir, "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint", "--configDir", c.dir, "--executionMode", "cluster")
	for i := range n {
		c.start(t, i)
	}
	await(t, "the cluster", func() bool {
		var overview struct {
			TaskManagers int `json:"taskmanagers"`
		}
		answer, err := http.Get("http://" + c.rest + "/overview")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		return json.NewDecoder(answer.Body).Decode(&overview) == nil && overview.TaskManagers == n
	})
	return c
}

// start starts a TaskManager.
func (c *cluster) start(t testing.TB, i int) {
	t.Helper()
	c.managers[i] = java(t, c.dir, "org.apache.flink.runtime.taskexecutor.TaskManagerRunner", "--configDir", c.dir)
}

// byTurns writes a command that is this program, or in turn a build of it without assembly.
func byTurns(t testing.TB) string {
	t.Helper()
	self, err := os.Executable()
	fatal.If(t, err)
	portable := os.Getenv("PACSGP_PORTABLE")
	if portable == "" {
		portable = "env GODEBUG=cpu.avx2=off " + self
	}
	path := filepath.Join(t.TempDir(), "by-turns")
	script := fmt.Sprintf("#!/bin/sh\nmkdir %[1]s.turn 2>/dev/null && exec %[2]s \"$@\"\nrmdir %[1]s.turn\nexec %[3]s \"$@\"\n", path, self, portable)
	fatal.If(t, os.WriteFile(path, []byte(script), 0o700))
	return path
}

// On a cluster whose two workers have different instructions the bytes are those of pacsgp train,
// also when TaskManagers are killed, or the job server: then the job may fail, and its driver
// publishes nothing, until it is started again.
func TestFlinkCluster(t *testing.T) {
	c := newCluster(t, 2)
	endpoint, server := jobServer(t, c.dir, c.rest)
	told := filepath.Join(t.TempDir(), "told")
	use := workers{runner: "flink", endpoint: endpoint, command: byTurns(t), told: told}
	use.use(t)
	path := fortyFiles(t)
	want := alone(t, path)
	d, _ := withHandover(t, path)
	again := again(t, d)
	// run makes the last pass, with a disturbance while the engine is at work, and returns its error, if
	// nothing is published.
	run := func(disturb func()) error {
		endLeftOver(t)
		again()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- d.certify(ctx) }()
		disturb()
		err := <-ended
		if len(d.published(t)) > 1 {
			finished(t, err)
			demandSame(t, want, d.published(t))
			return nil
		}
		d.nothingPublished(t)
		if err == nil {
			t.Error("the job ends well, and nothing is published")
		}
		return err
	}
	fatal.If(t, run(func() {}))
	demandSets(t, told, 4)
	random, well, hit := rand.New(rand.NewPCG(5, 6)), 0, 0
	for range 5 {
		one := random.IntN(2)
		err := run(func() {
			await(t, "a worker", func() bool { return len(living(t)) > 0 })
			time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond)
			if len(living(t)) > 0 {
				hit++
			}
			kill(c.managers[one])
			c.start(t, one) // as what watches over a cluster does
		})
		if err == nil {
			well++
			continue
		}
		t.Logf("a job fails: %v", err)
	}
	if t.Logf("5 jobs had a TaskManager killed, %d of them at work; %d ended well", hit, well); well == 0 || hit == 0 {
		t.Error("no job outlives a TaskManager")
	}
	err := run(func() {
		await(t, "a worker", func() bool { return len(living(t)) > 0 })
		kill(server)
	})
	t.Logf("without its job server a job ends with: %v", err)
	use.endpoint, _ = jobServer(t, c.dir, c.rest)
	use.use(t)
	fatal.If(t, run(func() {}))
	endLeftOver(t)
	for _, manager := range c.managers {
		kill(manager)
	}
	noneLiving(t)
}

// endLeftOver ends the workers of attempts that have failed: Flink may keep one, without work, as long as
// its TaskManager lives.
func endLeftOver(t testing.TB) {
	t.Helper()
	for began := time.Now(); len(living(t)) > 0 && time.Since(began) < 5*time.Second; {
		time.Sleep(100 * time.Millisecond)
	}
	for _, left := range living(t) {
		t.Logf("worker %d is left over", left.Pid)
		_ = left.Kill()
	}
	noneLiving(t)
}
