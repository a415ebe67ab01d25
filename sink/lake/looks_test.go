package lake_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/lake"
)

func aLook(shown byte, marks ...uint64) pipeline.Look {
	return pipeline.Look{
		Family: pipeline.Digest{7}, Slot: pipeline.Slot{Number: 3}, Shown: pipeline.Digest{shown}, Sample: 1 << 30,
		Held:    pipeline.HeldOut{Rows: int64(len(marks)), Marks: marks, Places: marks[:1]},
		Trained: marks,
	}
}

// A log of looks gives back what was noted before a look was first noted, over processes and
// after a torn line, and refuses what is no line.
func TestLookLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "looks.jsonl")
	noted := func(l pipeline.Look) []pipeline.Look {
		t.Helper()
		earlier, err := lake.NewLookLog(path, nil).Look(t.Context(), l)
		fatal.If(t, err)
		return earlier
	}
	first, second, third := aLook(1, 5, 6), aLook(2, 5, 1<<63), aLook(3, 9)
	if earlier := noted(first); len(earlier) != 0 {
		t.Errorf("before the first look there was %+v", earlier)
	}
	fatal.If(t, os.WriteFile(path, append(content(t, path), `{"format":"pacsgp-lo`...), 0o600))
	noted(second)
	if diff := cmp.Diff([]pipeline.Look{first, second}, noted(third)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]pipeline.Look{first}, noted(second)); diff != "" {
		t.Errorf("noted again: %s", diff)
	}
	if all, err := lake.NewLookLog(path, nil).Noted(t.Context()); err != nil || len(all) != 3 {
		t.Errorf("%d looks are noted, %v", len(all), err)
	}
	other := first // of another family, with the same answer
	other.Family[0]++
	if diff := cmp.Diff([]pipeline.Look{first, second, third}, noted(other)); diff != "" {
		t.Error(diff)
	}
	whole := content(t, path)
	for name, damaged := range map[string][]byte{
		"another format": bytes.Replace(whole, []byte("looks/1"), []byte("looks/2"), 1),
		"marks":          bytes.Replace(whole, []byte(`"marks":"`), []byte(`"marks":"AAAA`), 1),
		"places":         bytes.Replace(whole, []byte(`"places":"`), []byte(`"places":"AAAA`), 1),
		"a digest":       bytes.Replace(whole, []byte(`"shown":"01`), []byte(`"shown":"`), 1),
		"a further key":  bytes.Replace(whole, []byte(`{"format"`), []byte(`{"more":1,"format"`), 1),
	} {
		fatal.If(t, os.WriteFile(path, damaged, 0o600))
		if _, err := lake.NewLookLog(path, nil).Look(t.Context(), third); !errors.Is(err, lake.ErrDamagedAttempts) || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
