package dataset

import (
	"fmt"
	"slices"

	"github.com/pacsgp/pacsgp/pipeline/job"
)

const (
	frequentLevel = 200 // a level needs at least one in this many prior rows
	fewestRows    = 2   // and at least this many
)

// LevelsSeen returns the encodings with their medians and levels filled in from the prior rows.
func LevelsSeen(e job.Encodings, columns []string, prior RawRows) (job.Encodings, error) {
	raw := prior.Filled(nil)
	column := func(name string) ([]float64, error) {
		at := slices.Index(columns, name)
		if at < 0 {
			return nil, fmt.Errorf("%w: encode: %q is no feature", job.ErrConfig, name)
		}
		return raw.Column(at), nil
	}
	return e.Completed(func(name string) (float64, error) {
		values, err := column(name)
		if values = slices.DeleteFunc(values, job.Missing); err == nil && len(values) == 0 {
			err = fmt.Errorf("%w: fill: %q has no value on any prior row, of which the median could be: declare a number, or leave the column out", job.ErrData, name)
		}
		if err != nil {
			return 0, err
		}
		_, median, _ := middleOf(values)
		return median + 0, nil // no −0
	}, func(one job.Encoding) ([]float64, error) {
		values, err := column(one.Column)
		if err != nil {
			return nil, err
		}
		for i, v := range values {
			values[i] = one.Value(v)
		}
		levels := frequent(values, frequentLevel, fewestRows, job.FrequentLevels)
		if levels == nil {
			return nil, fmt.Errorf("%w: encode: no value of %q is that of one in %d prior rows, and of %d at least: leave it out (exclude) if it is an identifier; else %d prior rows are too few", job.ErrData, one.Column, frequentLevel, fewestRows, len(values))
		}
		return levels, nil
	})
}
