package model

import (
	"crypto/sha256"
	"testing"
)

// A state that is resumed from is the state that the trainer writes, whatever its bytes;
// any other is refused. Memory is that of the state's own numbers and of the configured
// number of inducing points. The checksum finds accidents only: it is made again here.
func FuzzResumeCollapsed(f *testing.F) {
	rows := testRows(40, 2, 13)
	c := CollapsedConfig{Config: testConfig(f, rows, true), Alpha: 1, Evaluations: 3}
	c.Inducing = 3
	tr := newTestCollapsed(f, c, rows)
	for {
		state, err := tr.MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(state[:len(state)-sha256.Size])
		if tr.Done() {
			break
		}
		collapsedPass(f, tr, rows)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		resumes(t, body, 64*uint64(len(body))+4<<20, func(state []byte) (resumed, error) { return ResumeCollapsed(c, state) })
	})
}
