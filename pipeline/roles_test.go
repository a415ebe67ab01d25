package pipeline_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"math"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// vectors reads a file of testdata, which names the script that made it.
func vectors(t *testing.T, name string) [][]string {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	fatal.If(t, err)
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	fatal.If(t, err)
	return records[1:]
}

func integer(t *testing.T, s string) int64 {
	t.Helper()
	i, err := strconv.ParseInt(s, 10, 64)
	fatal.If(t, err)
	return i
}

// k = min(20000, max(N/20, min(200, N/10))), rounded down.
func TestPriorCount(t *testing.T) {
	for n, want := range map[int64]int64{
		0: 0, 1: 0, 9: 0, 10: 1, 19: 1, 20: 2, 999: 99, 1999: 199, 2000: 200, 2010: 200, 3999: 200,
		4000: 200, 4019: 200, 4020: 201, 100_000: 5000, 399_999: 19_999, 400_000: 20_000, 1 << 40: 20_000,
	} {
		if got := job.PriorCount(n); got != want {
			t.Errorf("PriorCount(%d) = %d, want %d", n, got, want)
		}
	}
}

func TestSplitHashVectors(t *testing.T) {
	for _, v := range vectors(t, "split_hashes.csv") {
		want, err := strconv.ParseUint(v[2], 10, 64)
		fatal.If(t, err)
		if got := splitHash(v[0], integer(t, v[1])); got != want {
			t.Errorf("hash of key %.20q, ordinal %s is %d, want %d", v[0], v[1], got, want)
		}
	}
}

func TestPriorRowsVectors(t *testing.T) {
	for _, v := range vectors(t, "prior_rows.csv") {
		n := integer(t, v[1])
		rows := newSplit(job.Job{Split: job.SplitDecl{Key: v[0]}}, n, nil).PriorRows
		digest := sha256.New()
		for _, ordinal := range rows {
			digest.Write(binary.LittleEndian.AppendUint64(nil, uint64(ordinal)))
		}
		if got := hex.EncodeToString(digest.Sum(nil)); int64(len(rows)) != integer(t, v[2]) || got != v[3] {
			t.Errorf("key %q, %d rows: %d prior rows with digest %s, want %s with %s", v[0], n, len(rows), got, v[2], v[3])
		}
	}
}

// Parts follow each other, are as large as each other but for one row, and hold all
// rows, however many a footer claims.
func TestPartsOfClaimedRows(t *testing.T) {
	for _, n := range []int64{0, 1, 15, 1000, 1 << 61, math.MaxInt64} {
		for _, parts := range []int64{1, 2, 16, 1024} {
			for i := range parts {
				from, to := dataset.ShareOf(n, i, parts), dataset.ShareOf(n, i+1, parts)
				if rest := to - from - n/parts; rest < 0 || rest > 1 {
					t.Fatalf("part %d of %d of %d rows: from %d to %d", i, parts, n, from, to)
				}
			}
			if from, to := dataset.ShareOf(n, 0, parts), dataset.ShareOf(n, parts, parts); from != 0 || to != n {
				t.Errorf("%d parts of %d rows are those from %d to %d", parts, n, from, to)
			}
		}
	}
}

// Hashing the rows of a large sample takes hours. It ends with its context.
func TestSplitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := dataset.NewSplit(ctx, job.Job{}, 1<<50, dataset.LeftOut{}, 16); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want the end of the context", err)
	}
}
