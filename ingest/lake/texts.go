package lake

import (
	"encoding/binary"
	"slices"

	"github.com/parquet-go/parquet-go/format"

	"github.com/pacsgp/pacsgp/ingest"
)

// readAsTexts makes columns of text readable: 1 where a value is the text that is given
// for the column, 0 where it is another one. What is no text stays as it is.
func (f *dataFile) readAsTexts(texts map[string]string) {
	f.columns = slices.Clone(f.columns) // other files may have the same ones
	for i := range f.columns {
		c := &f.columns[i]
		text, asked := texts[c.Name]
		if !asked || c.leaf < 0 || c.Type != typeText || c.physical != format.ByteArray || f.arrow {
			continue
		}
		c.kind, c.text, c.width = kindText, text, textLength+len(text)
		c.Use, c.Why = ingest.OnRequest, ""
	}
}

// textLength is how many bytes the length of a text has, which stands before it.
const textLength = 4

// texts compares len(dst) texts, whose bytes src begins with, and returns how many bytes
// they have.
func (c *column) texts(dst []float64, src []byte) (int, error) {
	at := 0
	for i := range dst {
		if len(src)-at < textLength {
			return at, errFewValues
		}
		n := binary.LittleEndian.Uint32(src[at:])
		at += textLength
		if uint64(n) > uint64(len(src)-at) {
			return at, errFewValues
		}
		dst[i] = 0
		if string(src[at:at+int(n)]) == c.text {
			dst[i] = 1
		}
		at += int(n)
	}
	return at, nil
}
