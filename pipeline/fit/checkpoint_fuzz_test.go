package fit

import (
	"bytes"
	"crypto/sha256"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/allocated"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// Any bytes are an error or a checkpoint that, written and read again, stays as it
// is, in memory that is in proportion to them. The fuzzer's bytes get the checksum that
// belongs to them.
func FuzzCheckpoint(f *testing.F) {
	for _, c := range []checkpoint{
		{},
		{Configuration: checkpointVersion + "c", Sample: "s", Instructions: "avx2", Trainer: []byte("state"), Taken: 7, Spent: time.Second},
		{Finished: [][]byte{{1, 2}, {3}, make([]byte, 300)}, Candidate: 2, StoppedAfter: 2, Trace: []job.Progress{{Bound: 0.5}, {Bound: 0.25}}},
		{Candidate: -1},
		{Taken: -1},
		{StoppedAfter: -1},
		{Spent: -1},
	} {
		data, err := c.encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[:len(data)-sha256.Size])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		sum := sha256.Sum256(data)
		data = append(bytes.Clone(data), sum[:]...)
		var c checkpoint
		var err error
		allocated.Within(t, 16*uint64(len(data))+1<<20, func() { c, err = decodeCheckpoint(data) })
		if err != nil {
			return
		}
		if again, err := c.encode(); err != nil || !bytes.Equal(again, data) {
			t.Errorf("written again it is another checkpoint: %v", err)
		}
		if c.Candidate < 0 || c.Taken < 0 || c.StoppedAfter < 0 || c.Spent < 0 {
			t.Errorf("a negative count: %+v", c)
		}
	})
}
