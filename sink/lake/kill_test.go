package lake_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/durable/durabletest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/sink/lake"
)

func readAll(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	fatal.If(t, err)
	seen := map[string]string{}
	for _, name := range files {
		if strings.HasPrefix(filepath.Base(name), ".") {
			continue
		}
		content, err := os.ReadFile(name)
		fatal.If(t, err)
		seen[filepath.Base(name)] = string(content)
	}
	return seen
}

// On the real file system; in memory and with power cuts see
// [TestPowerCutLeavesWholeFilesAndARunAgainCompletes].
func TestKilledAtEveryOperationLeavesWholeFiles(t *testing.T) {
	start := func() (dir string, before map[string]string) {
		dir = t.TempDir()
		d, err := lake.Open(dir, nil)
		fatal.If(t, err)
		fatal.If(t, d.PutLog(oldLog))
		fatal.If(t, errors.Join(d.Put("run.json", []byte("the older run record")), d.Close()))
		return dir, readAll(t, dir)
	}
	dir, before := start()
	counted := durabletest.NewFaulty(durable.OS{}, durabletest.Fault{})
	if err := testJob(dir, counted); err != nil || counted.Operations() < 30 {
		t.Fatalf("the job itself, of %d operations: %v", counted.Operations(), err)
	}
	want := readAll(t, dir)
	for at := 1; at <= counted.Operations(); at++ {
		for _, moment := range durabletest.Moments {
			when := fmt.Sprintf("killed %s operation %d of %d", moment, at, counted.Operations())
			dir, _ := start()
			killed := durabletest.NewFaulty(durable.OS{}, durabletest.Fault{At: at, Moment: moment, Err: durabletest.ErrKilled})
			if err := testJob(dir, killed); !errors.Is(err, durabletest.ErrKilled) {
				t.Fatalf("%s: the job was to die and says %v", when, err)
			}
			wholeOrAbsent(t, when, readAll(t, dir), before, want)
			if err := testJob(dir, nil); err != nil {
				t.Fatalf("%s: run again: %v", when, err)
			}
			if diff := cmp.Diff(want, readAll(t, dir)); diff != "" {
				t.Errorf("%s: other files after a run again (-want +got):\n%s", when, diff)
			}
			if hidden := leftovers(t, dir); len(hidden) > 0 {
				t.Errorf("%s: leftovers %q", when, hidden)
			}
		}
	}
}

func leftovers(t *testing.T, dir string) []string {
	t.Helper()
	hidden, err := filepath.Glob(filepath.Join(dir, "*"+durable.TempSuffix))
	fatal.If(t, err)
	return hidden
}
