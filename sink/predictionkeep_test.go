package sink_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink"
)

// keptTexts writes predictions with a column of texts next to them.
func keptTexts(t *testing.T, node parquet.Node, texts []string) *parquet.File {
	t.Helper()
	var b bytes.Buffer
	p := sink.NewPredictions(&b, "0123", sink.Kept{Name: "text", Node: node})
	for from := 0; from < len(texts); from += 700 {
		some := texts[from:min(from+700, len(texts))]
		values := make([]parquet.Value, len(some))
		for i, text := range some {
			if text != "" {
				values[i] = parquet.ByteArrayValue([]byte(text))
			}
		}
		fatal.If(t, p.Write(make([]pipeline.Prediction, len(some)), values))
	}
	fatal.If(t, p.Close())
	rows, err := parquet.Read[struct {
		Text *string `parquet:"text,optional"`
	}](bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil || len(rows) != len(texts) {
		t.Fatal(len(rows), err)
	}
	for i, r := range rows {
		if (r.Text == nil) != (texts[i] == "") || r.Text != nil && *r.Text != texts[i] {
			t.Fatalf("row %d is not what was written", i)
		}
	}
	f, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	fatal.If(t, err)
	return f
}

// textColumn is the position of the column that keptTexts adds.
const textColumn = 6

// A dictionary, a page and a row group of long texts that are all different end before they
// take much memory, and no header of a page holds a text.
func TestKeptTextsAreBounded(t *testing.T) {
	const long = 80 << 10
	rng := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 2*long)
	for i := range noise {
		noise[i] = 'a' + byte(rng.IntN(26))
	}
	texts := make([]string, 1000)
	for i := range texts {
		texts[i] = string(noise[i*80 : i*80+long])
	}
	f := keptTexts(t, parquet.Encoded(parquet.String(), &parquet.RLEDictionary), texts)
	pages := 0
	for _, g := range f.RowGroups() {
		if most := int64(34<<20) / long; g.NumRows() > most+700 {
			t.Errorf("a row group has %d rows", g.NumRows())
		}
		all := g.ColumnChunks()[textColumn].Pages()
		for {
			page, err := all.ReadPage()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					t.Fatal(err)
				}
				break
			}
			pages++
			if page.Size() > 2<<20 {
				t.Errorf("a page has %d bytes", page.Size())
			}
			if d := page.Dictionary(); d != nil && d.Size() > 3<<20 {
				t.Errorf("a dictionary has %d bytes", d.Size())
			}
		}
		fatal.If(t, all.Close())
	}
	var sum int64
	for _, g := range f.Metadata().RowGroups {
		sum += g.Columns[textColumn].MetaData.TotalUncompressedSize
	}
	if texts := int64(len(texts) * long); sum > texts+texts/20 {
		t.Errorf("pages have %d bytes, their texts %d", sum, texts)
	}
	if pages < 1000*long/(3<<20) {
		t.Errorf("%d pages", pages)
	}
}
