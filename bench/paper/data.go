package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/pacsgp/pacsgp/bench/measured"
	"github.com/pacsgp/pacsgp/bench/paper/mersenne"
)

// targets are the target columns of the data sets.
var targets = map[string]string{"boston": "MEDV", "pol": "y", "kin40k": "y", "sarcos": "y"}

// readTable reads a data set from a folder. All its columns have mean 0 and standard deviation 1 over all rows,
// train and test, as in the published experiments.
func readTable(ctx context.Context, data, name string) (measured.Dataset, error) {
	all, err := measured.ReadDataset(ctx, filepath.Join(data, name))
	if err != nil {
		return measured.Dataset{}, err
	}
	t, err := standardised(all, targets[name])
	if err != nil {
		return t, fmt.Errorf("%s: %w", filepath.Join(data, name), err)
	}
	return t, nil
}

// standardised returns the standardised features, sorted by name and without constant ones, and then the target.
func standardised(all measured.Dataset, target string) (measured.Dataset, error) {
	names := slices.DeleteFunc(slices.Sorted(slices.Values(all.Names)), func(name string) bool { return name == target })
	var t measured.Dataset
	if all.Rows() < 2 {
		return t, fmt.Errorf("%d rows: want at least two", all.Rows())
	}
	for _, name := range append(names, target) {
		i := slices.Index(all.Names, name)
		if i < 0 {
			return t, fmt.Errorf("there is no column %s", name)
		}
		column := all.Columns[i]
		mean, deviation := stat.PopMeanStdDev(column, nil)
		for j := range column {
			column[j] = (column[j] - mean) / deviation
		}
		if deviation > 0 {
			t.Names, t.Columns = append(t.Names, name), append(t.Columns, column)
		} else if name == target {
			return t, fmt.Errorf("the target %s has one value", target)
		}
	}
	return t, nil
}

// split returns the split of a seed as the paper's experiments draw it. The first ⌈n/5⌉ entries of the permutation
// that numpy's RandomState(seed) makes are the test rows; the others, in its order, are the training rows.
func split(t measured.Dataset, seed int) (train, test []int) {
	order := mersenne.Permutation(t.Rows(), uint64(seed)) //nolint:gosec // not negative
	cut := (len(order) + 4) / 5
	return order[cut:], order[:cut]
}
