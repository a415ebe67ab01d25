// Package frame is the format of the program's own files: states of trainers, checkpoints, parts of a pass. A frame
// is a line with format and version, the content, and the SHA-256 of both. Numbers have 8 bytes, little endian.
//
// A frame may come from anyone, and the SHA-256 detects accidents, not forgeries. So a Reader never
// allocates memory because of a length alone, and callers check each number.
package frame

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
)

// chunk is how many bytes are buffered and converted at a time.
const chunk = 4096

// A Writer writes a frame. After an error it writes nothing more.
type Writer struct {
	out     io.Writer
	sum     hash.Hash
	content *bufio.Writer // writes to out and sum
	err     error
}

// NewWriter begins a frame. format must not contain a line feed.
func NewWriter(out io.Writer, format string) *Writer {
	w := &Writer{out: out, sum: sha256.New()}
	w.content = bufio.NewWriterSize(io.MultiWriter(w.sum, out), chunk)
	w.Bytes([]byte(format + "\n"))
	return w
}

// Err returns the first error.
func (w *Writer) Err() error { return w.err }

// Fail sets the error of the writer, unless it has one.
func (w *Writer) Fail(err error) { w.err = cmp.Or(w.err, err) }

// Bytes writes bytes as they are.
func (w *Writer) Bytes(b []byte) {
	if w.err == nil {
		_, w.err = w.content.Write(b)
	}
}

// Numbers writes numbers.
func (w *Writer) Numbers(values ...uint64) {
	for _, v := range values {
		w.Bytes(binary.LittleEndian.AppendUint64(w.content.AvailableBuffer(), v))
	}
}

// Integers writes numbers that may be negative, in two's complement.
func (w *Writer) Integers(values ...int64) {
	for _, v := range values {
		w.Numbers(uint64(v)) //nolint:gosec // G115: modulo 2⁶⁴
	}
}

// Floats writes numbers as IEEE 754 bits.
func (w *Writer) Floats(values ...float64) {
	for _, v := range values {
		w.Numbers(math.Float64bits(v))
	}
}

// Text writes the length of s in bytes, then s.
func (w *Writer) Text(s string) {
	w.Integers(int64(len(s)))
	w.Bytes([]byte(s))
}

// Close ends the frame and returns the first error. It does not close the underlying writer.
func (w *Writer) Close() error {
	if w.err == nil {
		w.err = w.content.Flush()
	}
	if w.err == nil {
		_, w.err = w.out.Write(w.sum.Sum(nil))
	}
	return w.err
}

// A Reader reads a frame. After an error it returns zeros.
type Reader struct {
	in      *bufio.Reader
	sum     hash.Hash
	content io.LimitedReader // reads from in and writes into sum
	size    int64            // largest size of the content
	buffer  []byte
	err     error
}

// NewReader begins to read a frame of at most size bytes, which must have this format. The caller
// must read the whole content and then call Close, which checks the SHA-256.
func NewReader(in io.Reader, size int64, format string) *Reader {
	r := &Reader{in: bufio.NewReaderSize(in, chunk), sum: sha256.New(), size: size - sha256.Size, buffer: make([]byte, chunk)}
	r.content = io.LimitedReader{R: io.TeeReader(r.in, r.sum), N: r.size}
	line := []byte(format + "\n")
	begin := make([]byte, len(line))
	if r.Bytes(begin); !bytes.Equal(begin, line) {
		r.err = fmt.Errorf("%w: it does not begin with %q", ErrFormat, line)
	}
	return r
}

// Err returns the first error.
func (r *Reader) Err() error { return r.err }

// Failf sets the error of the reader, unless it has one.
func (r *Reader) Failf(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// Read returns how many bytes were read.
func (r *Reader) Read() int64 { return r.size - r.content.N }

// Left returns the largest number of bytes of content that may still follow.
func (r *Reader) Left() int64 { return r.content.N }

// Bytes fills b.
func (r *Reader) Bytes(b []byte) {
	if r.err == nil {
		if _, err := io.ReadFull(&r.content, b); err != nil {
			r.Failf("it ends too early: %w", err)
		}
	}
	if r.err != nil {
		clear(b)
	}
}

// Copy writes the next n bytes to w.
func (r *Reader) Copy(w io.Writer, n int64) {
	if r.err == nil {
		_, r.err = io.CopyN(w, &r.content, n)
	}
}

// Number reads a number.
func (r *Reader) Number() uint64 {
	r.Bytes(r.buffer[:8])
	return binary.LittleEndian.Uint64(r.buffer)
}

// Integer reads a number that may be negative.
func (r *Reader) Integer() int64 { return int64(r.Number()) } //nolint:gosec // G115: modulo 2⁶⁴

// UpTo reads a number from 0 to limit. Any other number is an error.
func (r *Reader) UpTo(limit int64) int64 {
	n := r.Integer()
	if n < 0 || n > limit {
		r.Failf("the number %d is none from 0 to %d", n, limit)
		return 0
	}
	return n
}

// Count reads the number of items that follow, each of at least bytes bytes. It is an error if the
// frame cannot have so many.
func (r *Reader) Count(bytes int64) int {
	n := r.Number()
	if r.err == nil && n > uint64(r.Left()/bytes) { //nolint:gosec // G115: neither is negative
		r.Failf("it tells of %d things of %d bytes and has %d bytes left", n, bytes, r.Left())
	}
	if r.err != nil {
		return 0
	}
	return int(n) //nolint:gosec // G115: below the number of bytes
}

// Float reads a number from IEEE 754 bits.
func (r *Reader) Float() float64 { return math.Float64frombits(r.Number()) }

// Floats fills values.
func (r *Reader) Floats(values []float64) {
	for len(values) > 0 {
		b := r.buffer[:8*min(len(values), chunk/8)]
		r.Bytes(b)
		for i := range len(b) / 8 {
			values[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		}
		values = values[len(b)/8:]
	}
}

// Text reads a text of at most limit bytes.
func (r *Reader) Text(limit int64) string {
	b := make([]byte, r.UpTo(min(limit, max(0, r.Left()))))
	r.Bytes(b)
	if r.err != nil {
		return ""
	}
	return string(b)
}

// ErrFormat means that the bytes are not a frame of the expected format.
var ErrFormat = errors.New("or it is of another kind")

// errSum means that the bytes have changed since they were written.
var errSum = errors.New("its checksum does not agree: it was cut short, or its bytes have changed")

// Close checks the SHA-256 and returns the first error. If the exact size was given, damage is
// reported as such, and not as an error that follows from it.
func (r *Reader) Close() error {
	if r.err != nil {
		_, _ = io.Copy(io.Discard, &r.content) // if bytes are missing, the checksum below fails
	}
	var want [sha256.Size]byte
	if _, err := io.ReadFull(r.in, want[:]); err != nil || !bytes.Equal(r.sum.Sum(nil), want[:]) {
		if errors.Is(r.err, ErrFormat) {
			return fmt.Errorf("%w (%w)", errSum, r.err)
		}
		return errSum
	}
	if r.err == nil {
		if _, err := r.in.ReadByte(); !errors.Is(err, io.EOF) {
			r.err = errors.New("there are bytes behind its end")
		}
	}
	return r.err
}
