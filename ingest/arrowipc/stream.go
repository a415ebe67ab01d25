package arrowipc

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// NewReader reads a stream that lies in memory, after it was checked. It makes no copy of
// the stream, which may not change before the reader and its records are released. Who
// reads from it recovers from panics of the library.
func NewReader(stream []byte, room *Allowance) (*ipc.Reader, error) {
	if err := CheckStream(stream); err != nil {
		return nil, err
	}
	in, err := ipc.NewReaderFromMessageReader(&messages{rest: stream}, ipc.WithAllocator(room))
	if err != nil {
		return nil, fmt.Errorf("it is no Arrow IPC stream: %w", err)
	}
	return in, nil
}

// messages hands out the messages of a checked stream. The library's own reader copies
// each of them first.
type messages struct {
	rest []byte
	last *ipc.Message
}

// Message returns the next message. It is valid until the next call.
func (m *messages) Message() (*ipc.Message, error) {
	m.Release()
	size, ok := m.length()
	if ok && size == 0xFFFFFFFF {
		size, ok = m.length()
	}
	switch {
	case !ok && len(m.rest) > 0:
		return nil, io.ErrUnexpectedEOF
	case !ok || size == 0:
		return nil, io.EOF
	case int(size) > len(m.rest):
		return nil, io.ErrUnexpectedEOF
	}
	description := m.rest[:size]
	body, err := CheckMessage(description)
	if err != nil {
		return nil, err
	}
	end := int64(size) + body
	if end > int64(len(m.rest)) {
		return nil, io.ErrUnexpectedEOF
	}
	m.last = ipc.NewMessage(memory.NewBufferBytes(description), memory.NewBufferBytes(m.rest[size:end:end]))
	m.rest = m.rest[end:]
	return m.last, nil
}

// length takes a length from the front.
func (m *messages) length() (size uint32, ok bool) {
	if len(m.rest) < 4 {
		return 0, false
	}
	size = binary.LittleEndian.Uint32(m.rest)
	m.rest = m.rest[4:]
	return size, true
}

// Release gives the last message back.
func (m *messages) Release() {
	if m.last != nil {
		m.last.Release()
		m.last = nil
	}
}

// Retain does nothing: there is one owner.
func (m *messages) Retain() {}
