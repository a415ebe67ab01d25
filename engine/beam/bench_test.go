package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/ingest/synth"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// BenchmarkFlinkPass is the last pass on Flink next to that of pacsgp pass, in seconds of processors: of
// 10⁶ and of 2·10⁶ rows of 8 features, the least of each, for noise only adds. Their difference is what a
// million rows take beyond a fixed start; start-s is the rest, on Flink.
//
//	cd engine/beam && PACSGP_FLINK=$(../../.ci/flink) go test -run - -bench FlinkPass -benchtime 3x
//
// The job server listens on all interfaces: unshare --net, as .ci/nightly does, keeps it alone.
func BenchmarkFlinkPass(b *testing.B) {
	server := onFlink(b)
	pacsgp := filepath.Join(b.TempDir(), "pacsgp")
	build := exec.Command("go", "build", "-C", "../..", "-o", pacsgp, "./cmd/pacsgp")
	if log, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, log)
	}
	for _, inducing := range []int{200, 1000} {
		b.Run(fmt.Sprint(inducing), func(b *testing.B) {
			million := int64(1_000_000)
			if testing.Short() {
				million /= 8 // to see that it runs
			}
			one, two := measured(b, million, inducing), measured(b, 2*million, inducing)
			one.onFlink(b, server) // so that Java has compiled itself
			first, second := unmeasured, unmeasured
			for b.Loop() {
				first, second = first.least(one.times(b, pacsgp, server)), second.least(two.times(b, pacsgp, server))
				b.Logf("%.2f and %.2f", first, second)
			}
			alone, worker, java := second.alone-first.alone, second.worker-first.worker, second.java-first.java
			b.ReportMetric(alone, "alone-s")
			b.ReportMetric(worker, "worker-s")
			b.ReportMetric(java, "java-s")
			b.ReportMetric(100*((worker+java)/alone-1), "%more")
			b.ReportMetric(first.worker+first.java-worker-java, "start-s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// A measuredPass is a job that is trained.
type measuredPass struct {
	passOf
	parts int
}

// measured trains a job on so many generated rows.
func measured(b *testing.B, rows int64, inducing int) measuredPass {
	b.Helper()
	dir := b.TempDir()
	g, err := synth.New(synth.Config{Seed: 22, Noise: 0.1, Features: 8})
	fatal.If(b, err)
	fatal.If(b, g.WriteLake(b.Context(), filepath.Join(dir, "lake"), int(rows/62_500), 0, rows))
	path := filepath.Join(dir, "job.yaml")
	fatal.If(b, os.WriteFile(path, fmt.Appendf(nil, "source: {paths: [lake]}\ntarget: y\ndelta: 0.05\nloss: {epsilon: 0.7}\n"+
		"inducing: %d\ntrain: {passes: 0.01}\noutput: out\n", inducing), 0o600))
	d, j := withTrainingState(b, path)
	parts, err := d.parts(b.Context())
	fatal.If(b, err)
	return measuredPass{j, parts}
}

// Times are seconds of processors: of pacsgp pass, of the workers on Flink, and of Java.
type times struct{ alone, worker, java float64 }

var unmeasured = times{math.Inf(1), math.Inf(1), math.Inf(1)}

func (t times) least(other times) times {
	return times{min(t.alone, other.alone), min(t.worker, other.worker), min(t.java, other.java)}
}

func (p measuredPass) times(b *testing.B, pacsgp string, server *os.Process) times {
	b.Helper()
	cmd := exec.Command(pacsgp, "pass", "-c", p.Job, "-o", filepath.Join(b.TempDir(), "part"))
	if log, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, log)
	}
	alone := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	worker, java := p.onFlink(b, server)
	return times{alone.Seconds(), worker, java}
}

// onFlink makes all parts on Flink.
func (p measuredPass) onFlink(b *testing.B, server *os.Process) (worker, java float64) {
	b.Helper()
	numbers := make([]int, p.parts)
	for i := range numbers {
		numbers[i] = i + 1
	}
	ownBefore, childrenBefore := processorTime(b, server)
	fatal.If(b, execute(b.Context(), parts(p.passOf, b.TempDir(), numbers, p.parts)))
	noneLiving(b)
	own, children := processorTime(b, server)
	return children - childrenBefore, own - ownBefore
}

// processorTime is that of a process, and that of its children which have ended, in seconds.
func processorTime(b *testing.B, p *os.Process) (own, children float64) {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid))
	fatal.If(b, err)
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var ticks [4]float64 // user, system, and both of the children, in hundredths
	for i := range ticks {
		ticks[i], err = strconv.ParseFloat(fields[11+i], 64)
		fatal.If(b, err)
	}
	return (ticks[0] + ticks[1]) / 100, (ticks[2] + ticks[3]) / 100
}
