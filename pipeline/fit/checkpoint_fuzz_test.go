package fit

import (
	"bytes"
	"crypto/sha256"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/allocated"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// Any bytes are an error or a checkpoint that, written and read again, stays as it
// is, in memory that is in proportion to them. The fuzzer's bytes get the checksum that
// belongs to them.
func FuzzCheckpoint(f *testing.F) {
	for _, c := range []checkpoint{
		{},
		{configuration: checkpointVersion + "c", sample: "s", instructions: "avx2", trainer: []byte("state"), taken: 7, spent: time.Second},
		{finished: [][]byte{{1, 2}, {3}, make([]byte, 300)}, candidate: 2, stoppedAfter: 2, trace: []job.Progress{{Bound: 0.5}, {Bound: 0.25}}},
		{candidate: -1},
		{taken: -1},
		{stoppedAfter: -1},
		{spent: -1},
	} {
		data, err := c.encode()
		fatal.If(f, err)
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
		if c.candidate < 0 || c.taken < 0 || c.stoppedAfter < 0 || c.spent < 0 {
			t.Errorf("a negative count: %+v", c)
		}
	})
}
