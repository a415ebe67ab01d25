package arrowipc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// Follow reads a stream as it arrives. Each message may have as many bytes as the allowance, and its
// memory grows as they arrive. whole reports whether the end mark of the stream was read. The caller
// recovers from panics of the library.
func Follow(stream io.Reader, room *Allowance) (in *ipc.Reader, whole func() bool, err error) {
	m := &messages{stream: stream, most: int64(room.Left)}
	in, err = ipc.NewReaderFromMessageReader(m, ipc.WithAllocator(room))
	if err != nil {
		return nil, nil, fmt.Errorf("it is no Arrow IPC stream: %w", err)
	}
	return in, func() bool { return m.whole }, nil
}

// messages reads the messages of a stream and checks their lengths. The library's own reader copies
// each message, and allocates whatever lengths say.
type messages struct {
	stream io.Reader
	most   int64 // bytes of a message
	whole  bool  // the end mark was read
	last   *ipc.Message
}

// next returns the next n bytes; io.EOF at the end.
func (m *messages) next(n int64) ([]byte, error) {
	if n > m.most {
		return nil, fmt.Errorf("a message of %d MiB, want at most %d: write smaller record batches", n>>20, m.most>>20)
	}
	var arrived bytes.Buffer
	got, err := io.CopyN(&arrived, m.stream, n)
	if errors.Is(err, io.EOF) && got > 0 {
		err = io.ErrUnexpectedEOF
	}
	return arrived.Bytes(), err
}

// Message returns the next message. It is valid until the next call.
func (m *messages) Message() (*ipc.Message, error) {
	m.Release()
	size, err := m.length()
	if err == nil && size == 0xFFFFFFFF {
		size, err = m.length()
		err = noEOF(err)
	}
	if m.whole = err == nil && size == 0; m.whole {
		err = io.EOF
	}
	if err != nil {
		return nil, err
	}
	description, err := m.next(size)
	if err != nil {
		return nil, noEOF(err)
	}
	about, err := describe(description)
	if err != nil {
		return nil, err
	}
	body, err := m.next(about.body)
	if err != nil {
		return nil, noEOF(err)
	}
	m.last = ipc.NewMessage(memory.NewBufferBytes(description), memory.NewBufferBytes(body))
	return m.last, nil
}

func (m *messages) length() (int64, error) {
	size, err := m.next(4)
	if err != nil {
		return 0, err
	}
	return int64(binary.LittleEndian.Uint32(size)), nil
}

// Release releases the last message.
func (m *messages) Release() {
	if m.last != nil {
		m.last.Release()
		m.last = nil
	}
}

// Retain does nothing: there is one owner.
func (m *messages) Retain() {}
