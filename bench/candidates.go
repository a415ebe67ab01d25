package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pacsgp/pacsgp/bench/measured"
	"github.com/pacsgp/pacsgp/model"
)

// A bench has what all measures share.
type bench struct {
	rounds int
	work   string // folder for binaries and data
	data   string // folder of the data sets
	docs   string // folder to which pictures are written
	python string // interpreter for the peers; empty if there is none
	log    io.Writer
}

func (b *bench) logf(format string, args ...any) { fmt.Fprintf(b.log, format+"\n", args...) }

// peersFolder has the programs of the peers, and their interpreter once make bench has installed it.
var peersFolder = filepath.Join("bench", "peers")

// prepare finds the interpreter of the peers, if it is installed, and returns the sentence about machine and
// versions below each table.
func (b *bench) prepare(ctx context.Context) (about string, err error) {
	python, err := filepath.Abs(filepath.Join(peersFolder, ".venv", "bin", "python"))
	if err != nil {
		return "", err
	}
	peers := "no Python"
	if _, err := os.Stat(filepath.Join(peersFolder, ".venv", "made")); err != nil {
		b.logf("NO PEERS: %v\nOnly our own side is measured; make bench installs the peers, with Python >= 3.10 and a network.", err)
	} else {
		b.python = python
		const versions = `import platform, importlib.metadata as m
print("Python " + platform.python_version(), *(f"{p} {m.version(p)}" for p in ("torch", "scipy", "gpytorch", "pyarrow")), sep=", ")`
		out, err := exec.CommandContext(ctx, python, "-c", versions).Output()
		if err != nil {
			return "", fmt.Errorf("versions of the peers: %w", err)
		}
		peers = strings.TrimSpace(string(out))
	}
	return fmt.Sprintf("`make bench`: %s; %s. Medians of %d rounds.", measured.Machine(model.InstructionSet()), peers, b.rounds), nil
}

// A goBench is a test binary with benchmarks.
type goBench string // its path

// buildBench builds the test binary of one of our packages.
func (b *bench) buildBench(ctx context.Context, pkg string) (goBench, error) {
	binary, err := measured.Build(ctx, b.work, b.log, pkg, "test", "-c")
	return goBench(binary), err
}

// run runs one benchmark, named with its sub-benchmarks, for about the given time. It returns the reported
// values by unit.
func (g goBench) run(ctx context.Context, name, benchtime string, env ...string) (map[string]float64, error) {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	cmd := exec.CommandContext(ctx, string(g), "-test.run", "^$", "-test.bench", strings.Join(parts, "/"), "-test.benchtime", benchtime)
	cmd.Env = append(os.Environ(), env...)
	cmd.Dir = filepath.Dir(string(g))
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", name, err, out)
	}
	for line := range strings.Lines(string(out)) {
		if values, ok := parseBenchmark(line); ok {
			return values, nil
		}
	}
	return nil, fmt.Errorf("%s: there is no such benchmark", name)
}

// parseBenchmark reads a line such as
//
//	BenchmarkGemm/n=100-2   	  1234	 5678 ns/op	 9.1 GFLOP/s
func parseBenchmark(line string) (map[string]float64, bool) {
	fields := strings.Fields(line)
	if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
		return nil, false
	}
	values := map[string]float64{}
	for i := 2; i+1 < len(fields); i += 2 {
		v, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return nil, false
		}
		values[fields[i+1]] = v
	}
	return values, true
}

// A peer is a running Python program. It reads requests and writes answers, each as one line of JSON.
type peer struct {
	name    string
	process *exec.Cmd
	stdin   io.WriteCloser
	answers *bufio.Reader
}

// start starts the script of a peer, or returns nil without Python. env sets the threads and the instruction
// set of its libraries.
func (b *bench) start(ctx context.Context, name string, env []string, script string, args ...string) (*peer, error) {
	if b.python == "" {
		return nil, nil
	}
	cmd := exec.CommandContext(ctx, b.python, slices.Concat([]string{"-W", "ignore", filepath.Join(peersFolder, script)}, args)...)
	cmd.Env = slices.Concat(os.Environ(), []string{"PYTHONDONTWRITEBYTECODE=1"}, env)
	cmd.Stderr = b.log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &peer{name, cmd, stdin, bufio.NewReader(stdout)}, cmd.Start()
}

// answer sends a request to the peer and decodes its answer into to.
func (p *peer) answer(question, to any) error {
	line, err := json.Marshal(question)
	if err != nil {
		return err
	}
	if _, err := p.stdin.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	var failed struct {
		Error string `json:"error"`
	}
	text, err := p.answers.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("%s ended: %w", p.name, err)
	}
	if err := errors.Join(json.Unmarshal(text, &failed), json.Unmarshal(text, to)); err != nil {
		return fmt.Errorf("%s: %w: %s", p.name, err, text)
	}
	if failed.Error != "" {
		return fmt.Errorf("%s: %s", p.name, failed.Error)
	}
	return nil
}

// stop ends the peers, of which some may be nil.
func stop(peers []*peer) error {
	var failed error
	for _, p := range peers {
		if p != nil {
			failed = errors.Join(failed, p.stdin.Close(), p.process.Wait())
		}
	}
	return failed
}

// median returns the median of values; 0 if there are none.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return 0
	}
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// A round has the value of each candidate by name; 0 means that it was not measured.
type round map[string]float64

// rounds are all rounds of one case.
type rounds []round

// median returns the median value of one candidate.
func (r rounds) median(name string) float64 {
	return r.medianOf(func(x round) float64 { return x[name] })
}

// medianOf returns the median of f over the rounds, without zeros, which mean "not measured". A median of
// ratios within rounds depends less on other programs than a ratio of medians.
func (r rounds) medianOf(f func(round) float64) float64 {
	var values []float64
	for _, x := range r {
		if v := f(x); v != 0 {
			values = append(values, v)
		}
	}
	return median(values)
}

// A measurement measures one candidate.
type measurement struct {
	name    string
	measure func() (float64, error)
}

// interleave measures every candidate once in each round.
func (b *bench) interleave(ctx context.Context, measurements []measurement) (rounds, error) {
	var all rounds
	for range b.rounds {
		found := round{}
		for _, t := range measurements {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			v, err := t.measure()
			if err != nil {
				return nil, err
			}
			found[t.name] = v
		}
		all = append(all, found)
	}
	return all, nil
}

// measurement returns the measurement of a Go benchmark by the value that it reports in a unit.
func (g goBench) measurement(ctx context.Context, name, unit string) measurement {
	return measurement{"ours", func() (float64, error) {
		values, err := g.run(ctx, name, "100ms")
		if err == nil && values[unit] == 0 {
			err = fmt.Errorf("%s reports no %s", name, unit)
		}
		return values[unit], err
	}}
}

// peerMeasurements returns the measurements of the running peers.
func peerMeasurements(peers []*peer, question any) []measurement {
	var measurements []measurement
	for _, p := range peers {
		if p != nil {
			measurements = append(measurements, measurement{p.name, func() (float64, error) {
				var answer struct {
					Value float64 `json:"value"`
				}
				err := p.answer(question, &answer)
				return answer.Value, err
			}})
		}
	}
	return measurements
}
