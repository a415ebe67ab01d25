package config

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

var update = flag.Bool("update", false, "write what is said of wrong files into testdata/messages.golden")

// jargon is what a library says of Go's types or of its own steps, and no message.
var jargon = regexp.MustCompile(`Go (value|struct)|unmarshal|was used where|is expected|uint64|int64|strconv|lake: .*lake: |stat s3`)

// known are variables of the environment.
var known = map[string]string{"LIMIT": "77123", "MISSED": "secret-word"}

var golden = filepath.Join("testdata", "messages.golden")

// A wrongFile is one of testdata/messages.golden.
type wrongFile struct {
	title, kind, text string
	file              string            // the text behind the lines that set variables
	variables         map[string]string // known, and those that it sets
}

// wrongFiles are the files of testdata/messages.golden, and the text before them.
func wrongFiles(t *testing.T) (head string, all []wrongFile) {
	t.Helper()
	text, err := os.ReadFile(golden)
	fatal.If(t, err)
	head, rest, _ := strings.Cut(string(text), "\n== ")
	for each := range strings.SplitSeq(rest, "\n== ") {
		f := wrongFile{variables: maps.Clone(known)}
		f.title, each, _ = strings.Cut(each, "\n")
		f.kind, _, _ = strings.Cut(f.title, ":")
		f.text, _, _ = strings.Cut("\n"+each, "\n--\n")
		f.text = strings.TrimPrefix(f.text+"\n", "\n")
		for f.file = f.text; strings.HasPrefix(f.file, "$") && !strings.HasPrefix(f.file, "${"); {
			var line string
			line, f.file, _ = strings.Cut(f.file, "\n")
			name, value, _ := strings.Cut(line[1:], " ")
			f.variables[name], err = strconv.Unquote(value)
			fatal.If(t, err)
		}
		all = append(all, f)
	}
	return head, all
}

// TestMessages: testdata/messages.golden has the faults of each file, with positions. A job is the
// small one with other keys, behind variables as in $NAME "value"; a schedule has one job with
// these keys, and behind job.yaml: its job; score files and others are whole.
func TestMessages(t *testing.T) {
	got := &strings.Builder{}
	head, all := wrongFiles(t)
	got.WriteString(head)
	for _, f := range all {
		title := f.title
		said := f.messages(t)
		fmt.Fprintf(got, "\n== %s\n%s--\n%s", title, f.text, said)
		if found := jargon.FindString(said); found != "" {
			t.Errorf("%s: it says %q", title, found)
		}
	}
	if *update {
		writeFile(t, golden, got.String())
		return
	}
	text, err := os.ReadFile(golden)
	fatal.If(t, err)
	if diff := cmp.Diff(strings.Split(string(text), "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Errorf("run with -update if that is right (-want +got):\n%s", diff)
	}
}

// messages are the faults of a file: position, key and words.
func (f wrongFile) messages(t *testing.T) string {
	dir, text := t.TempDir(), f.file
	fatal.If(t, os.Mkdir(filepath.Join(dir, "lake"), 0o700))
	var err error
	switch f.kind {
	case KindJob:
		_, err = ReadJob(t.Context(), tiny(changes(text)).write(t, dir), with(f.variables), Overrides{})
	case KindSchedule:
		text, job, _ := strings.Cut(text, "job.yaml:\n")
		tiny(changes(job)).write(t, dir)
		text = "jobs:\n  - name: waves\n    job: job.yaml\n    " + strings.ReplaceAll(text, "\n", "\n    ")
		_, _, err = checkSchedule(t.Context(), writeFile(t, filepath.Join(dir, "schedule.yaml"), text), with(f.variables))
	case KindScore:
		_, err = ReadScore(t.Context(), writeFile(t, filepath.Join(dir, "score.yaml"), text), with(f.variables))
	case KindWatch:
		_, err = ReadWatch(t.Context(), writeFile(t, filepath.Join(dir, "watch.yaml"), text), with(f.variables))
	default:
		err = Check(t.Context(), writeFile(t, filepath.Join(dir, "job.yaml"), text), with(f.variables))
	}
	var said strings.Builder
	for _, f := range faultsOf(t, err) {
		fmt.Fprintf(&said, "[%d:%d] %s: %s\n", f.Line, f.Column, f.Key, strings.TrimPrefix(f.Text, f.Key+": "))
	}
	return strings.ReplaceAll(said.String(), dir, "DIR")
}

// changes are the keys of a text. What begins no new key belongs to the one before.
func changes(text string) keys {
	k, last := keys{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		key, value, ok := strings.Cut(line, ":")
		if _, twice := k[key]; !ok || twice || strings.Trim(key, `abcdefghijklmnopqrstuvwxyz_"\0123456789`) != "" {
			k[last] += "\n" + line
			continue
		}
		k[key], last = strings.TrimPrefix(value, " "), key
	}
	return k
}
