package lake_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/durable/durabletest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/lake"
)

// recorded records and returns the two ranks.
func recorded(t *testing.T, l *lake.AttemptLog, a pipeline.Attempt) [2]int {
	t.Helper()
	onRows, inLog, err := l.Record(t.Context(), a)
	fatal.If(t, err)
	return [2]int{onRows, inLog}
}

// tried returns a log of these attempts.
func tried(t *testing.T, attempts ...pipeline.Attempt) *lake.AttemptLog {
	t.Helper()
	l := lake.NewAttemptLog(filepath.Join(t.TempDir(), "attempts.jsonl"), nil)
	for _, a := range attempts {
		recorded(t, l, a)
	}
	return l
}

func content(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	fatal.If(t, err)
	return data
}

// One log counts for all that name it, by whichever path.
func TestDirectoriesShareALog(t *testing.T) {
	dir := t.TempDir()
	shared := filepath.Join(dir, "shared", "log")
	if got := recorded(t, lake.NewAttemptLog(shared, nil), oldAttempt); got != [2]int{1, 1} {
		t.Fatalf("Record = %v in a folder that was not there", got)
	}
	link, name := filepath.Join(dir, "link"), filepath.Join(dir, "name")
	if err := errors.Join(os.Symlink(shared, link), os.Link(shared, name)); err != nil {
		t.Skip(err)
	}
	d, err := lake.Open(filepath.Join(dir, "shared"), nil) // an output directory with it
	fatal.If(t, err)
	defer d.Close()
	fatal.If(t, os.Link(shared, d.Path("attempts.jsonl")))
	want := content(t, shared)
	writeFile(t, name, want[:len(want)-9]) // torn, which the next one mends in place
	for i, l := range []*lake.AttemptLog{lake.NewAttemptLog(link, nil), lake.NewAttemptLog(name, nil), lake.NewAttemptLog(shared, nil), d.AttemptLog()} {
		if got := recorded(t, l, attempt('5', '5', byte(i))); got != [2]int{i + 1, i + 1} {
			t.Errorf("path %d: Record = %v", i, got)
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link is replaced by a file")
	}
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	fatal.If(t, os.WriteFile(path, data, 0o644))
}

// A line that was cut at any place while it was written, with or without zeros
// behind it, was told to nobody: it does not count and is written anew.
func TestTornLastLineIsMended(t *testing.T) {
	l := tried(t, oldAttempt, newAttempt)
	whole := content(t, l.Path())
	line := len(whole) / 2
	for cut := line; cut < len(whole)-1; cut++ {
		for _, zeros := range []int{0, len(whole) - cut} {
			writeFile(t, l.Path(), append(bytes.Clone(whole[:cut]), make([]byte, zeros)...))
			if log, err := l.Attempts(t.Context()); err != nil || len(log) != 1 {
				t.Fatalf("cut at %d, %d zeros: Attempts() = %v, %v, want the first line", cut, zeros, log, err)
			}
			var notices []string
			l.Notice = func(text string) { notices = append(notices, text) }
			if got := recorded(t, l, newAttempt); got != [2]int{2, 2} {
				t.Fatalf("cut at %d, %d zeros: Record = %v", cut, zeros, got)
			}
			if told := len(notices) == 1 && strings.Contains(notices[0], fmt.Sprintf("%s: %d bytes behind line 1", l.Path(), cut-line)); told != (cut > line) {
				t.Fatalf("cut at %d, %d zeros: notices %q", cut, zeros, notices)
			}
			if got := content(t, l.Path()); !bytes.Equal(got, whole) {
				t.Fatalf("cut at %d, %d zeros: the log is not mended: %q", cut, zeros, got)
			}
		}
	}
}

// A last line that lacks only its end counts: an attempt on other rows of the same
// targets must not take its place.
func TestLastLineWithoutItsEndCounts(t *testing.T) {
	l := tried(t, oldAttempt, newAttempt)
	l.Notice = func(text string) { t.Errorf("notice %q", text) }
	whole := content(t, l.Path())
	third := attempt('5', '6', 'c')
	recorded(t, l, third)
	all := content(t, l.Path())
	for _, behind := range []string{"", "\x00", strings.Repeat("\x00", 4096)} {
		for _, c := range []struct {
			next pipeline.Attempt
			want []byte
		}{{newAttempt, whole}, {third, all}} {
			writeFile(t, l.Path(), append(bytes.Clone(whole[:len(whole)-1]), behind...))
			if log, err := l.Attempts(t.Context()); err != nil || len(log) != 2 {
				t.Errorf("%d zeros: Attempts() = %v, %v, want both", len(behind), log, err)
			}
			recorded(t, l, c.next)
			if got := content(t, l.Path()); !bytes.Equal(got, c.want) {
				t.Errorf("%d zeros: the log is %q, want %q", len(behind), got, c.want)
			}
		}
	}
}

// Whatever else is wrong with a log is an error that says what to do, and
// nothing is changed in the file.
func TestDamagedLogIsRefused(t *testing.T) {
	l := tried(t, oldAttempt, newAttempt, attempt('5', '6', 'c'))
	whole := content(t, l.Path())
	lines := bytes.SplitAfter(whole, []byte("\n"))[:3]
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	damaged := map[string][]byte{
		"first line lost":           join(lines[1], lines[2]),
		"line lost":                 join(lines[0], lines[2]),
		"lines exchanged":           join(lines[1], lines[0], lines[2]),
		"line twice":                join(lines[0], lines[1], lines[1], lines[2]),
		"last line twice":           join(whole, lines[2]),
		"blank line":                join(lines[0], []byte("\n"), lines[1]),
		"blank line at the end":     join(whole, []byte("\n")),
		"half a line, ended":        join(lines[0], lines[1][:77], []byte("\n")),
		"half a line in the middle": join(lines[0], lines[1][:77], lines[2]),
		"no end of a line":          join(lines[0], bytes.TrimSpace(lines[1]), lines[2]),
		"other line ends":           bytes.ReplaceAll(whole, []byte("\n"), []byte("\r\n")),
		"blank behind":              join(whole, []byte(" ")),
		"a note":                    []byte("Remember the milk"),
		"a note, ended":             []byte("Remember the milk\n"),
		"a note behind":             join(whole, []byte("milk")),
		"other check, no end":       join(lines[0], lines[2][:len(lines[2])-1]),
		"zeros":                     make([]byte, 4096),
		"of another version":        bytes.ReplaceAll(lines[0], []byte("attempts/2"), []byte("attempts/7")),
		"without a version":         []byte(`{"configuration":"` + strings.Repeat("a", 64) + `","sample":"` + strings.Repeat("b", 64) + "\"}\n"),
		"capitals":                  bytes.ToUpper(whole),
	}
	for at := range whole {
		flipped := bytes.Clone(whole)
		flipped[at] ^= 1
		damaged[fmt.Sprintf("bit of byte %d", at)] = flipped
	}
	for name, data := range damaged {
		writeFile(t, l.Path(), data)
		_, err := l.Attempts(t.Context())
		if _, _, again := l.Record(t.Context(), newAttempt); !errors.Is(err, lake.ErrDamagedAttempts) || !errors.Is(again, lake.ErrDamagedAttempts) {
			t.Errorf("%s: Attempts says %v, Record %v, want ErrDamagedAttempts", name, err, again)
			continue
		}
		for _, words := range []string{l.Path(), "line ", "restore it from a copy", "key attempts"} {
			if !strings.Contains(err.Error(), words) {
				t.Errorf("%s: %q is missing in %q", name, words, err)
			}
		}
		if !bytes.Equal(content(t, l.Path()), data) {
			t.Errorf("%s: the file is changed", name)
		}
	}
}

func TestLogHasALimit(t *testing.T) {
	l := tried(t, oldAttempt)
	fatal.If(t, os.Truncate(l.Path(), 64<<20+1))
	if _, _, err := l.Record(t.Context(), newAttempt); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("a log of more than 64 MiB: %v", err)
	}
}

func TestLogIsARegularFile(t *testing.T) {
	if _, _, err := lake.NewAttemptLog(t.TempDir(), nil).Record(t.Context(), newAttempt); err == nil {
		t.Error("a directory passes for a log")
	}
	if _, err := os.Stat(os.DevNull); err == nil {
		if _, _, err := lake.NewAttemptLog(os.DevNull, nil).Record(t.Context(), newAttempt); err == nil {
			t.Error("a device passes for a log")
		}
	}
}

// A lock that is never given back ends in words; an interruption ends the wait.
func TestRecordWaitsForTheLock(t *testing.T) {
	l := tried(t, oldAttempt)
	hold := func(t *testing.T) io.Closer {
		lock, err := durable.OS{}.Lock(l.Path())
		fatal.If(t, err)
		return lock
	}
	synctest.Test(t, func(t *testing.T) {
		lock := hold(t)
		if _, _, err := l.Record(t.Context(), newAttempt); !errors.Is(err, pipeline.ErrHeld) || !strings.Contains(err.Error(), "hint: ") {
			t.Errorf("while another process has the lock: %v, want ErrHeld", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := l.Record(ctx, newAttempt); !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted: %v", err)
		}
		fatal.If(t, lock.Close())
	})
	if got := recorded(t, l, newAttempt); got != [2]int{2, 2} {
		t.Errorf("after that: %v", got)
	}
}

// recordAttempts records the attempts of a range "<first>-<last>" and prints
// their ranks.
func recordAttempts(path, numbers string) error {
	from, to, _ := strings.Cut(numbers, "-")
	first, err := strconv.Atoi(from)
	if err != nil {
		return err
	}
	last, err := strconv.Atoi(to)
	if err != nil {
		return err
	}
	l := lake.NewAttemptLog(path, nil)
	for i := first; i <= last; i++ {
		onRows, inLog, err := l.Record(context.Background(), attempt(byte(i%2), 's', byte(i)))
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stdout, i, onRows, inLog)
	}
	return nil
}

// Processes that record at the same time lose no line and count each.
func TestProcessesShareALog(t *testing.T) {
	const processes, each = 8, 25
	path := filepath.Join(t.TempDir(), "log")
	said := make([]string, processes)
	failures := make([]error, processes)
	var running sync.WaitGroup
	for i := range processes {
		running.Go(func() {
			child := exec.CommandContext(t.Context(), os.Args[0])
			child.Env = append(os.Environ(), fmt.Sprintf("%s=%s\n%d-%d", recordVariable, path, i*each, (i+1)*each-1))
			out, err := child.CombinedOutput()
			said[i], failures[i] = string(out), err
		})
	}
	running.Wait()
	log, err := lake.NewAttemptLog(path, nil).Attempts(t.Context())
	if err := errors.Join(errors.Join(failures...), err); err != nil || len(log) != processes*each {
		t.Fatalf("%d attempts, %v, want %d: %q", len(log), err, processes*each, said)
	}
	for i, text := range said {
		for _, line := range strings.Split(text, "\n")[:each] {
			var number, onRows, inLog int
			if _, err := fmt.Sscan(line, &number, &onRows, &inLog); err != nil {
				t.Fatalf("process %d says %q", i, text)
			}
			place := slices.Index(log, attempt(byte(number%2), 's', byte(number)))
			alike := 0
			for _, a := range log[:place+1] {
				if a.Targets == log[place].Targets {
					alike++
				}
			}
			if place+1 != inLog || alike != onRows {
				t.Errorf("attempt %d was told it was %d on its rows and %d in all; its line is %d and %d", number, onRows, inLog, alike, place+1)
			}
		}
	}
}

// A kill at each operation of recording, on a new log, on one with lines
// and on one whose last line is torn: what other processes counted stays, the
// killed attempt counts if its line was whole, and recorded again it has the
// same rank as the line that it left.
func TestKilledAtEveryStepOfRecording(t *testing.T) {
	before := tried(t, oldAttempt, attempt('5', '7', 'a'))
	lines := content(t, before.Path())
	for name, start := range map[string][]byte{"new": nil, "lines": lines, "torn": lines[:len(lines)-30]} {
		counted := bytes.Count(start, []byte("\n"))
		survived := false
		for at := 1; !survived; at++ {
			if at > 20 {
				t.Fatalf("%s: no recording survives", name)
			}
			for _, moment := range durabletest.Moments {
				when := fmt.Sprintf("%s log, killed %s operation %d", name, moment, at)
				path := filepath.Join(t.TempDir(), "log")
				if start != nil {
					writeFile(t, path, start)
				}
				dying := durabletest.NewFaulty(durable.OS{}, durabletest.Fault{At: at, Moment: moment, Err: durabletest.ErrKilled})
				_, _, err := lake.NewAttemptLog(path, dying).Record(t.Context(), attempt(1, 's', 5))
				if survived = err == nil; survived {
					break
				}
				if !errors.Is(err, durabletest.ErrKilled) {
					t.Fatalf("%s: it was to die and says %v", when, err)
				}
				l := lake.NewAttemptLog(path, nil)
				left, err := l.Attempts(t.Context())
				if err != nil || len(left) < counted || len(left) > counted+1 {
					t.Fatalf("%s: %d attempts, %v, want %d or one more", when, len(left), err, counted)
				}
				other := recorded(t, l, attempt(1, 's', 6))
				if other[1] != len(left)+1 {
					t.Errorf("%s: the next job is number %d, %d lines were left", when, other[1], len(left))
				}
				rank := recorded(t, l, attempt(1, 's', 5))
				if want := counted + 1; len(left) > counted && rank[1] != want || len(left) == counted && rank[1] != want+1 {
					t.Errorf("%s: %d lines were left, run again it is number %d", when, len(left), rank[1])
				}
				if log, err := l.Attempts(t.Context()); err != nil || len(log) != counted+2 {
					t.Errorf("%s: %d attempts in the end (%v), want %d", when, len(log), err, counted+2)
				}
			}
		}
	}
}

// After each step of recording the power fails: a line that was told to
// somebody is there, and the log is never damaged.
func TestPowerCutWhileRecording(t *testing.T) {
	for at := 1; ; at++ {
		m := durabletest.NewMemory()
		if _, _, err := lake.NewAttemptLog("out/log", m).Record(t.Context(), oldAttempt); err != nil {
			t.Fatal(err)
		}
		dying := durabletest.NewFaulty(m, durabletest.Fault{At: at, Moment: durabletest.Half, Err: durabletest.ErrKilled})
		_, _, err := lake.NewAttemptLog("out/log", dying).Record(t.Context(), newAttempt)
		if err == nil {
			break
		}
		for how, found := range map[string]*durabletest.Memory{"killed": m.Killed(), "power cut": m.PowerCut()} {
			l := lake.NewAttemptLog("out/log", found)
			third := attempt('5', '5', 'z')
			got := recorded(t, l, third)
			left, err := l.Attempts(t.Context())
			if err != nil || !slices.Contains(left, oldAttempt) || got[1] != len(left) {
				t.Fatalf("%s at operation %d: %v, %d attempts", how, at, err, len(left))
			}
			again := recorded(t, l, newAttempt)
			if diff := cmp.Diff([2]int{slices.Index(append(left, newAttempt), newAttempt) + 1, slices.Index(append(left, newAttempt), newAttempt) + 1}, again); diff != "" {
				t.Errorf("%s at operation %d, run again: %s", how, at, diff)
			}
		}
	}
}
