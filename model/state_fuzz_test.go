package model

import (
	"bytes"
	"crypto/sha256"
	"encoding"
	"errors"
	"testing"

	"github.com/pacsgp/pacsgp/internal/allocated"
)

// A state that is resumed from is the state that the trainer writes, whatever its
// bytes; any other is refused, in memory that is in proportion to the plan's. The
// checksum finds accidents only, so that it is made again here.
func FuzzResumeTrainer(f *testing.F) {
	c, rows := smallRun(f, 40)
	c.Inducing, c.Plan = 3, Plan{Joint: 1, Batch: 20, Settle: 1}
	tr := newTestTrainer(f, c, rows)
	for {
		state, err := tr.MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(state[:len(state)-sha256.Size])
		if tr.Done() {
			break
		}
		onePass(f, tr, rows, 100)
		if tr.phase == Settle {
			tr.Settle()
		}
	}
	tr.Close()
	f.Fuzz(func(t *testing.T, body []byte) {
		resumes(t, body, 16*uint64(len(body))+1<<20, func(state []byte) (resumed, error) { return ResumeTrainer(c, state) })
	})
}

type resumed interface {
	encoding.BinaryMarshaler
	Close()
}

// resumes demands of the state with this body that it is refused, or that the trainer
// that goes on from it writes it again, within so many bytes of memory.
func resumes(t *testing.T, body []byte, limit uint64, resume func(state []byte) (resumed, error)) {
	t.Helper()
	sum := sha256.Sum256(body)
	state := append(bytes.Clone(body), sum[:]...)
	var tr resumed
	var err error
	if used := allocated.By(func() { tr, err = resume(state) }); used > limit {
		t.Errorf("%d bytes were allocated for %d", used, len(body))
	}
	if err != nil {
		if !errors.Is(err, ErrState) {
			t.Errorf("%v is no ErrState", err)
		}
		return
	}
	defer tr.Close()
	if again, err := tr.MarshalBinary(); err != nil || !bytes.Equal(again, state) {
		t.Errorf("the resumed trainer writes another state: %v\n%x\n%x", err, again, state)
	}
}
