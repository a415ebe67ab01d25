package lake_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/durable/durabletest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/score"
	"github.com/pacsgp/pacsgp/pipeline/score/scoretest"
	"github.com/pacsgp/pacsgp/sink/lake"
)

// contents are files to predict: that of a path before and after it was replaced, and
// others of the same stem.
var (
	before  = score.File{Path: "a.parquet", Name: "rows/a.parquet", Digest: "000000000000000a"}
	after   = score.File{Path: "a.parquet", Name: "rows/a.parquet", Digest: "000000000000000b"}
	arrow   = score.File{Path: "a.arrow", Name: "rows/a.arrow", Digest: "000000000000000c"}
	outside = score.File{Path: "../a.parquet", Name: "../rows/a.parquet", Digest: "000000000000000d"}
)

// predictTo predicts files unless they have predictions, as one process, and returns what it says.
func predictTo(t *testing.T, folder string, fsys durable.FS, remove bool, files ...score.File) (said []string, err error) {
	t.Helper()
	d, err := lake.Open(folder, fsys)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	about, _, err := lake.ReadAbout(t.Context(), fsys, t.TempDir()) // it is not what is tested
	if err != nil {
		return nil, err
	}
	w := &lake.Predictions{FS: fsys, Folder: folder, About: about, Remove: remove, Warn: func(text string) { said = append(said, text) }}
	for _, f := range files {
		if has, err := w.Has(f); has || err != nil {
			if err != nil {
				return said, err
			}
			continue
		}
		p := scoretest.PieceWith(0, 5, true, score.Columns[parquet.Node, parquet.Value]{})
		p.File, p.By = f, &score.Predictor{}
		if _, _, err := w.Pack(t.Context(), p); err != nil {
			return said, err
		}
	}
	return said, nil
}

// predicted are the digests of the files with whole predictions below a folder, in order.
func predicted(t *testing.T, folder string) (digests []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "rows", "*.parquet"))
	fatal.If(t, err)
	for _, path := range paths {
		rows, err := parquet.ReadFile[struct {
			Row int64 `parquet:"row"`
		}](path)
		if err != nil || len(rows) != 5 {
			t.Errorf("%s: %d rows, %v", path, len(rows), err)
		}
		digests = append(digests, strings.TrimSuffix(path[len(path)-len("a.parquet"):], ".parquet"))
	}
	return digests
}

func TestPredictionsOfAReplacedFile(t *testing.T) {
	folder := t.TempDir()
	predict := func(remove bool, says string, files ...score.File) {
		t.Helper()
		said, err := predictTo(t, folder, durable.OS{}, remove, files...)
		fatal.If(t, err)
		if got := strings.Join(said, "\n"); says == "" && got != "" || !strings.Contains(got, says) {
			t.Errorf("it says %q, want %q", said, says)
		}
	}
	demand := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, predicted(t, folder)); diff != "" {
			t.Errorf("predictions (-want +got):\n%s", diff)
		}
	}
	predict(true, "", before, arrow, outside)
	demand("a", "c", "d")
	old := lake.PredictionsOf(folder, before)
	predict(false, "a.parquet was replaced: the predictions of its earlier content stay: "+old+" (hint: replaced: remove", after, arrow, outside)
	demand("a", "b", "c", "d")
	predict(false, "", after, arrow, outside)

	// Declared later, it holds for those that are there.
	predict(true, "a.parquet was replaced: the predictions of its earlier content are removed: "+old, after, arrow, outside)
	demand("b", "c", "d")
	predict(true, "", after, arrow, outside)
	// The earlier content may come back, also while a process goes on.
	predict(true, "are removed: "+lake.PredictionsOf(folder, after), before, after, before)
	demand("a", "c", "d")

	// What does not say which file it predicts, as one of an earlier version, stays.
	unknown := filepath.Join(folder, "rows", "a-000000000000000e.parquet")
	fatal.If(t, os.WriteFile(unknown, []byte("PAR1"), 0o600))
	predict(true, unknown+" stays, for it does not say which file it predicts", after)
	fatal.If(t, os.Remove(unknown))
	demand("b", "c", "d")
}

// Killed at any operation, a process leaves predictions of the file, all of them whole, and
// the next one completes what it has begun.
func TestReplacingKilledAtEveryOperation(t *testing.T) {
	start := func(t *testing.T) string {
		folder := t.TempDir()
		_, err := predictTo(t, folder, durable.OS{}, true, before, arrow)
		fatal.If(t, err)
		return folder
	}
	counted := durabletest.NewFaulty(durable.OS{}, durabletest.Fault{})
	if _, err := predictTo(t, start(t), counted, true, after, arrow); err != nil || counted.Operations() < 7 {
		t.Fatalf("%d operations: %v", counted.Operations(), err)
	}
	both := 0
	for at := 1; at <= counted.Operations(); at++ {
		for _, moment := range durabletest.Moments {
			when := fmt.Sprintf("killed %s operation %d of %d", moment, at, counted.Operations())
			folder := start(t)
			killed := durabletest.NewFaulty(durable.OS{}, durabletest.Fault{At: at, Moment: moment, Err: durabletest.ErrKilled})
			if _, err := predictTo(t, folder, killed, true, after, arrow); !errors.Is(err, durabletest.ErrKilled) {
				t.Fatalf("%s: %v", when, err)
			}
			left := predicted(t, folder)
			if !slices.Contains(left, "a") && !slices.Contains(left, "b") || !slices.Contains(left, "c") {
				t.Errorf("%s: predictions %v are left", when, left)
			}
			if slices.Contains(left, "a") && slices.Contains(left, "b") {
				both++
			}
			_, err := predictTo(t, folder, durable.OS{}, true, after, arrow)
			fatal.If(t, err)
			if diff := cmp.Diff([]string{"b", "c"}, predicted(t, folder)); diff != "" {
				t.Errorf("%s: predictions after another process (-want +got):\n%s", when, diff)
			}
		}
	}
	if both == 0 {
		t.Error("no kill between writing and removing")
	}
}
