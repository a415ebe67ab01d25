package lake

import (
	"errors"
	"fmt"

	"github.com/pacsgp/pacsgp/pipeline/job"
)

// mostLabelPage bounds the bytes of a page of labels, decompressed.
const mostLabelPage = 16 << 20

// mostKnown bounds the labels that a cursor remembers.
const mostKnown = 1 << 12

// labels makes the numbers of [job.Label] of texts.
func (c *cursor) labels(dst []float64, from *decoded, at int) {
	for i := range dst {
		text := from.texts[from.offsets[at+i]:from.offsets[at+i+1]]
		v, known := c.known[string(text)]
		if !known {
			v = job.Label(string(text))
			c.failed = errors.Join(c.failed, c.texts.Check(string(text), v))
			if len(c.known) == mostKnown {
				clear(c.known)
			}
			c.known[string(text)] = v
		}
		dst[i] = v
	}
}

// checkTexts checks that a column of groups by texts has text, and the keys of paths.
func checkTexts(files []*dataFile, texts job.ColumnTexts) error {
	if texts.Column == "" {
		return nil
	}
	for _, f := range files {
		if c := f.column(texts.Column); !c.Text {
			return fmt.Errorf("lake: %s: column %q is %s, and its groups are texts (hint: write it as text, or name numbers in the job)", f.path, c.Name, c.Type)
		}
		for _, k := range f.keys {
			if k.name != texts.Column {
				continue
			}
			if err := texts.Check(k.value, job.Label(k.value)); err != nil {
				return fmt.Errorf("lake: %s: %w", f.path, err)
			}
		}
	}
	return nil
}
