package pass

import (
	"bytes"
	"os"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// A part of a pass as this format has it. Another content of parts is another format, with a file of its own; parts are
// read by the version that wrote them.
func TestGoldenPart(t *testing.T) {
	data, err := os.ReadFile("testdata/part-14")
	fatal.If(t, err)
	p, err := ReadPass(bytes.NewReader(data), int64(len(data)))
	fatal.If(t, err)
	var again bytes.Buffer
	fatal.If(t, p.Write(t.Context(), &again))
	if shards, rows := p.Size(); shards != 2 || rows != 80 || p.held == nil || !bytes.Equal(again.Bytes(), data) {
		t.Errorf("%d shards with %d rows, held-out rows %v, and %d bytes of %d", shards, rows, p.held, again.Len(), len(data))
	}
}
