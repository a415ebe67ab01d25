package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
)

// targets are the targets of the data sets.
var targets = map[string]string{"boston": "MEDV", "pol": "y", "kin40k": "y", "sarcos": "y", "snelson": "y"}

// readTable reads the files of a data set below a folder. All its columns have mean 0 and
// deviation 1 over all rows, train and test, as in the published experiments.
func readTable(ctx context.Context, data, name string) (dataset, error) {
	path := filepath.Join(data, name)
	if name == "snelson" {
		path = filepath.Join(path, "train.parquet")
	}
	all, err := readDataset(ctx, path)
	if err != nil {
		return dataset{}, err
	}
	return standardised(all, targets[name])
}

// standardised has the features by name, without constant ones, and then the target.
func standardised(all dataset, target string) (dataset, error) {
	names := slices.DeleteFunc(slices.Sorted(slices.Values(all.Names)), func(name string) bool { return name == target })
	var t dataset
	for _, name := range append(names, target) {
		i := slices.Index(all.Names, name)
		if i < 0 {
			return t, fmt.Errorf("there is no column %s", name)
		}
		if column := all.Columns[i]; standardise(column) {
			t.Names, t.Columns = append(t.Names, name), append(t.Columns, column)
		} else if name == target {
			return t, fmt.Errorf("the target %s has one value", target)
		}
	}
	return t, nil
}

// standardise scales a column unless it is constant.
func standardise(column []float64) bool {
	mean, square := 0.0, 0.0
	for _, v := range column {
		mean += v / float64(len(column))
	}
	for _, v := range column {
		square += (v - mean) * (v - mean) / float64(len(column))
	}
	if square == 0 {
		return false
	}
	for j := range column {
		column[j] = (column[j] - mean) / math.Sqrt(square)
	}
	return true
}
