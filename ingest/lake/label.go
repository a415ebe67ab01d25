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
		if c := f.column(texts.Column); !c.Text {
			return fmt.Errorf("%s: column %q is %s, and its groups are texts (hint: write it as text, or name numbers in the job)", f.Path, c.Name, c.Type)
		}
		for _, k := range f.keys {
			if k.name != texts.Column {
				continue
			}
			if err := texts.Check(k.value, job.Label(k.value)); err != nil {
				return fmt.Errorf("%s: %w", f.Path, err)
			}
		}
	}
	return nil
}
