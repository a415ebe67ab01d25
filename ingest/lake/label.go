package lake

import (
	"fmt"

	"github.com/pacsgp/pacsgp/pipeline/job"
)

// checkTexts checks that a column of groups by texts has text, and the keys of paths.
func checkTexts(files []*dataFile, texts job.ColumnTexts) error {
	if texts.Column == "" {
		return nil
	}
	for _, f := range files {
		c := f.column(texts.Column)
		if !c.Text {
			return fmt.Errorf("%s: column %q is %s, and its groups are texts (hint: write it as text, or name numbers in the job)", f.Path, c.Name, c.Type)
		}
		if c.leaf >= 0 {
			continue
		}
		if err := texts.Check(f.text(c.Name), f.key(c.Name)); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	return nil
}
