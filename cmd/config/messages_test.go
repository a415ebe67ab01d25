package config

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
)

var update = flag.Bool("update", false, "write what is said of wrong files into testdata/messages.golden")

// jargon is what a library says of Go's types or of its own steps, and no message.
var jargon = regexp.MustCompile(`Go (value|struct)|unmarshal|was used where|is expected|uint64|int64|strconv|lake: .*lake: |stat s3`)

// known are variables of the environment, whose values no message shows.
var known = map[string]string{"LIMIT": "77123", "MISSED": "secret-word"}

// TestMessages: all that is said of wrong files, with places, is what stands in
// testdata/messages.golden below each of them. A job is the small one with other keys; a
// schedule has one job with these keys, and behind job.yaml: its job; score files are whole, and
// so are files of which nobody says what they are.
func TestMessages(t *testing.T) {
	path := filepath.Join("testdata", "messages.golden")
	text, err := os.ReadFile(path)
	fatal.If(t, err)
	head, rest, _ := strings.Cut(string(text), "\n== ")
	got := &strings.Builder{}
	got.WriteString(head)
	for each := range strings.SplitSeq(rest, "\n== ") {
		title, each, _ := strings.Cut(each, "\n")
		file, _, _ := strings.Cut("\n"+each, "\n--\n")
		file = strings.TrimPrefix(file+"\n", "\n")
		said := messages(t, title, file)
		fmt.Fprintf(got, "\n== %s\n%s--\n%s", title, file, said)
		for _, secret := range known {
			if strings.Contains(said, secret) {
				t.Errorf("%s: the value of a variable is said", title)
			}
		}
		if found := jargon.FindString(said); found != "" {
			t.Errorf("%s: it says %q", title, found)
		}
	}
	if *update {
		writeFile(t, path, got.String())
		return
	}
	if diff := cmp.Diff(strings.Split(string(text), "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Errorf("run with -update if that is right (-want +got):\n%s", diff)
	}
}

// messages are the faults of a file: place, key and words.
func messages(t *testing.T, title, text string) string {
	dir := t.TempDir()
	kind, _, _ := strings.Cut(title, ":")
	var faults []yamlfile.Fault
	var err error
	switch kind {
	case KindJob:
		_, faults, err = checkJob(t.Context(), tiny(changes(text)).write(t, dir), with(known), Overrides{})
	case KindSchedule:
		text, job, _ := strings.Cut(text, "job.yaml:\n")
		tiny(changes(job)).write(t, dir)
		text = "record: schedule.db\njobs:\n  - name: waves\n    job: job.yaml\n    " + strings.ReplaceAll(text, "\n", "\n    ")
		_, _, faults, err = checkSchedule(t.Context(), writeFile(t, filepath.Join(dir, "schedule.yaml"), text), with(known))
	case KindScore:
		_, faults, err = checkScore(t.Context(), writeFile(t, filepath.Join(dir, "score.yaml"), text), with(known))
	default:
		faults, err = Check(t.Context(), writeFile(t, filepath.Join(dir, "job.yaml"), text), with(known))
	}
	fatal.If(t, err)
	var said strings.Builder
	for _, f := range faults {
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
