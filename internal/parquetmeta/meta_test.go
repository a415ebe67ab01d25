package parquetmeta

import (
	"bytes"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// A count of pages without its encoding and number is refused, as by readers that demand them: fields
// that nobody uses are no place for what other readers stumble over.
func TestCountsOfPagesAreWhole(t *testing.T) {
	type row struct {
		X float64 `parquet:"x,plain"`
	}
	var file bytes.Buffer
	fatal.If(t, parquet.Write(&file, []row{{1}, {2}}))
	footer, err := Footer(bytes.NewReader(file.Bytes()), int64(file.Len()), 1<<20)
	fatal.If(t, err)
	if _, _, err := Read(footer); err != nil {
		t.Fatal(err)
	}
	whole := []byte("\x19\x1c\x15\x06\x15\x00\x15\x02\x00") // a data page of version 2, plain, one of it
	if !bytes.Contains(footer, whole) {
		t.Fatal("the footer counts no pages")
	}
	if _, _, err := Read(bytes.Replace(footer, whole, []byte("\x19\x1c\x15eurT\x02\x00"), 1)); err == nil {
		t.Error("a count of pages without an encoding is taken")
	}
}
