package frame

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

const format = "test/1"

func written(t *testing.T, content func(w *Writer)) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out, format)
	content(w)
	fatal.If(t, w.Close())
	return out.Bytes()
}

func reader(data []byte) *Reader { return NewReader(bytes.NewReader(data), int64(len(data)), format) }

func TestWhatIsWrittenIsRead(t *testing.T) {
	for _, n := range []int{0, 1, 511, 512, 513, 1025, 3000} {
		floats, blob := make([]float64, n), make([]byte, n)
		for i := range floats {
			floats[i], blob[i] = math.Sqrt(float64(i)), byte(i)
		}
		data := written(t, func(w *Writer) {
			w.Numbers(7, math.MaxUint64)
			w.Integers(-1, int64(n))
			w.Text(strings.Repeat("ü", n))
			w.Floats(floats...)
			w.Bytes(blob)
			w.Bytes(blob)
		})
		r := reader(data)
		if a, b, c := r.Number(), r.Number(), r.Integer(); a != 7 || b != math.MaxUint64 || c != -1 {
			t.Errorf("numbers %d, %d, %d", a, b, c)
		}
		if got := r.UpTo(int64(n)); got != int64(n) {
			t.Errorf("UpTo(%d) = %d", n, got)
		}
		if got := r.Text(1e6); got != strings.Repeat("ü", n) {
			t.Errorf("a text of %d bytes, want %d", len(got), 2*n)
		}
		gotFloats, gotBlob := make([]float64, n), make([]byte, n)
		var copied bytes.Buffer
		r.Floats(gotFloats)
		r.Bytes(gotBlob)
		r.Copy(&copied, int64(n))
		if !slices.Equal(gotFloats, floats) || !bytes.Equal(gotBlob, blob) || !bytes.Equal(copied.Bytes(), blob) {
			t.Errorf("%d floats or bytes are not those that were written", n)
		}
		if err := r.Close(); err != nil || r.Read() != int64(len(data)-sha256.Size) {
			t.Errorf("Close() = %v after %d of %d bytes", err, r.Read(), len(data))
		}
	}
}

// Any change of any bit is found, and so is what is missing or too much; in a frame of
// known size it is called damage.
func TestDamageIsFound(t *testing.T) {
	good := written(t, func(w *Writer) { w.Numbers(2, 3, 4) })
	read := func(data []byte) error {
		r := reader(data)
		for range r.Count(8) {
			r.Number()
		}
		return r.Close()
	}
	fatal.If(t, read(good))
	for bit := range 8 * len(good) {
		b := bytes.Clone(good)
		b[bit/8] ^= 1 << (bit % 8)
		if err := read(b); !errors.Is(err, errSum) {
			t.Errorf("bit %d: %v", bit, err)
		}
	}
	for n := range good {
		if err := read(good[:n]); err == nil {
			t.Errorf("the first %d bytes are taken for the whole", n)
		}
	}
	if err := read(append(bytes.Clone(good), 0)); err == nil {
		t.Error("a byte too many is not found")
	}
	unread := reader(good)
	unread.Number()
	if err := unread.Close(); err == nil {
		t.Error("unread content is not found")
	}
}

func TestErrorsOfTheFile(t *testing.T) {
	full := errors.New("disk full")
	w := NewWriter(writerFunc(func([]byte) (int, error) { return 0, full }), format)
	w.Floats(make([]float64, 2000)...)
	w.Fail(errors.New("another"))
	if err := w.Close(); !errors.Is(err, full) || !errors.Is(w.Err(), full) {
		t.Errorf("Close() = %v, want %v", err, full)
	}
	good := written(t, func(w *Writer) { w.Numbers(1) })
	r := NewReader(iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader(good))), int64(len(good)), format)
	if r.Number(); r.Err() == nil || r.Close() == nil {
		t.Error("a reader that fails is not detected")
	}
}

type writerFunc func(b []byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
