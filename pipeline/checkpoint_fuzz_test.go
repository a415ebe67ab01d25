package pipeline

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// gobPiece is what package gob may allocate at once on the word of a length.
const gobPiece = 32 << 20

// Any bytes are an error or a checkpoint that, written and read again, stays as it
// is, in memory that is in proportion to them.
func FuzzCheckpoint(f *testing.F) {
	for _, c := range []checkpoint{
		{},
		{Configuration: checkpointVersion + "c", Sample: "s", Instructions: "avx2", Trainer: []byte("state"), Taken: 7, Spent: time.Second},
		{Finished: [][]byte{{1, 2}, nil, make([]byte, 300)}, Candidate: 2, Hurried: 2, Trace: []Progress{{Bound: 0.5}, {Bound: 0.25}}},
	} {
		data, err := c.encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c, err := decodeCheckpoint(data)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 256*uint64(len(data))+gobPiece {
			t.Errorf("%d bytes were allocated for %d", used, len(data))
		}
		if err != nil {
			return
		}
		once, err := c.encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := decodeCheckpoint(once)
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := again.encode(); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("written again it is another checkpoint: %v\n%s", err, cmp.Diff(c, again))
		}
	})
}
