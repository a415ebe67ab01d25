package broker

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// What an answer claims is not allocated before it has come, and what came is used again.
func TestAnswersTakeWhatComes(t *testing.T) {
	answer := func(claims int32, data []byte) *bytes.Reader {
		return bytes.NewReader(append(binary.BigEndian.AppendUint32(nil, uint32(claims)), data...))
	}
	some := bytes.Repeat([]byte("batch"), 1000)
	for _, c := range []struct {
		claims int32
		data   []byte
		whole  bool
	}{{int32(len(some)), some, true}, {int32(len(some)), append(some, "and more"...), true}, {0, nil, true}, {-1, nil, true}, {1 << 30, some, false}, {int32(len(some)), some[:7], false}} {
		var b batchBytes
		n, err := b.ReadFrom(answer(c.claims, c.data))
		if (err == nil) != c.whole {
			t.Errorf("%d bytes claimed of %d: %v", c.claims, len(c.data), err)
		}
		if c.whole && (!bytes.Equal(b, c.data[:max(0, c.claims)]) || n != 4+int64(max(0, c.claims))) {
			t.Errorf("%d bytes claimed: %d came, and %d were read", c.claims, len(b), n)
		}
		if cap(b) > 2*fetchedBytes {
			t.Errorf("%d bytes claimed, %d sent: %d allocated", c.claims, len(c.data), cap(b))
		}
		fetched{batches: b}.release()
	}
}

// An answer that is larger than what is allocated at first arrives whole.
func TestLargeAnswer(t *testing.T) {
	data := make([]byte, 3*fetchedBytes+1)
	for i := range data {
		data[i] = byte(i >> 8)
	}
	var b batchBytes
	if _, err := b.ReadFrom(bytes.NewReader(append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...))); err != nil || !bytes.Equal(b, data) {
		t.Errorf("%d bytes of %d: %v", len(b), len(data), err)
	}
}
