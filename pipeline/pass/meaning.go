package pass

import (
	"fmt"

	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// meanings are those of a source's columns; nil if it does not state them.
func meanings(src dataset.Source) []job.Meaning {
	if s, ok := src.(dataset.Opened); ok {
		return s.Meanings()
	}
	return nil
}

// Means returns an error if a source states another meaning of a feature than the model.
func (m ModelMeta) Means(src dataset.Source) error {
	found := meanings(src)
	for i, f := range m.Features[:min(len(m.Features), len(found))] {
		if found[i] == job.MeansText && f.Values == job.MeansNumber && m.Encode.Of(f.Name) != nil { // records of topics do not state it
			continue
		}
		if _, ok := f.Values.With(found[i]); !ok || (f.Values == job.MeansBoolean) != (found[i] == job.MeansBoolean) {
			return fmt.Errorf("%w: %q is %s in the model and %s in these rows: write the column as it was in training", job.ErrData, f.Name, f.Values, found[i])
		}
	}
	return nil
}
