package pipeline_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// squares are n rows of y = x².
func squares(n int) [][]float64 {
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i], y[i] = float64(i)/8, float64(i*i)
	}
	return [][]float64{x, y}
}

func TestColumns(t *testing.T) {
	for name, open := range map[string]func(*testing.T) dataset.Source{
		"given shards": func(*testing.T) dataset.Source {
			m := pipelinetest.NewMemory([]string{"x", "y"}, squares(25), 10, 0, 7)
			m.Table.BatchRows = 4
			return m
		},
		"no shards given": func(*testing.T) dataset.Source {
			return pipelinetest.NewMemory([]string{"x", "y"}, squares(10_000))
		},
		"chosen": func(*testing.T) dataset.Source {
			m := pipelinetest.NewMemory([]string{"y", "x"}, squares(50))
			m.Table.BatchRows = 8
			return m.Choose(dataset.Choice{Features: []string{"x"}, Target: "y"})
		},
	} {
		t.Run(name, func(t *testing.T) { pipelinetest.TestSource(t, open) })
	}
}

func TestColumnsOfAnotherFormAreErrors(t *testing.T) {
	for name, c := range map[string]struct {
		names  []string
		data   [][]float64
		shards []int
		want   string
	}{
		"nothing":         {want: "0 names for 0 columns"},
		"a name too few":  {names: []string{"x"}, data: [][]float64{{1}, {2}}, want: "1 names for 2 columns"},
		"a name twice":    {names: []string{"x", "y", "x"}, data: [][]float64{{1}, {2}, {3}}, want: `two columns "x"`},
		"a short column":  {names: []string{"x", "y"}, data: [][]float64{{1, 2}, {3}}, want: `"y" has 1 rows, "x" has 2`},
		"too many shards": {names: []string{"x"}, data: [][]float64{{1, 2}}, shards: []int{1, 2}, want: "shards of [1 2] rows in a table of 2"},
		"negative shards": {names: []string{"x"}, data: [][]float64{{1, 2}}, shards: []int{-1}, want: "shards of [-1] rows"},
	} {
		if _, err := dataset.Columns(c.names, c.data, c.shards...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestColumnsAreChosen(t *testing.T) {
	table := pipelinetest.NewMemory([]string{"c", "y", "a", "b"}, [][]float64{{1}, {2}, {3}, {4}})
	for name, c := range map[string]struct {
		features, exclude []string
		target            string
		want              []string
		faults            []string
	}{
		"all but the target":  {target: "y", want: []string{"a", "b", "c", "y"}},
		"all":                 {want: []string{"a", "b", "c", "y"}},
		"some are left out":   {exclude: []string{"a"}, target: "b", want: []string{"c", "y", "b"}},
		"in their own order":  {features: []string{"b", "a"}, target: "y", want: []string{"b", "a", "y"}},
		"unknown names":       {features: []string{"b", "d"}, target: "z", faults: []string{`features: the rows have no column "d"`, `target: the rows have no column "z"`}},
		"unknown exclusions":  {exclude: []string{"d", "e"}, target: "y", faults: []string{`exclude: the rows have no column "d"`, `column "e"`}},
		"no feature":          {exclude: []string{"a", "b", "c"}, target: "y", faults: []string{"no column is left"}},
		"a feature twice":     {features: []string{"a", "a"}, target: "y", faults: []string{`features: column "a" is named twice`}},
		"the target, as both": {features: []string{"a", "y"}, target: "y", faults: []string{`target: column "y" is named twice`}},
	} {
		src, err := table.Table.Open(t.Context(), dataset.Choice{Features: c.features, Exclude: c.exclude, Target: c.target})
		if c.faults == nil {
			if err != nil || !slices.Equal(src.Columns(), c.want) {
				t.Errorf("%s: %v, %v, want the columns %q", name, src, err, c.want)
			}
			continue
		}
		demandFaults(t, name, err, c.faults)
	}
}

func TestColumnsMarkRejectedRows(t *testing.T) {
	a := []float64{1, math.NaN(), 3, math.Inf(1)}
	src := pipelinetest.NewMemory([]string{"a", "b"}, [][]float64{a, {1, 2, 3, math.Inf(-1)}}).Choose(dataset.Choice{Mark: true})
	record, err := first(t.Context(), src)
	fatal.If(t, err)
	defer record.Release()
	reasons, ok := record.Column(2).(*array.String)
	if !ok {
		t.Fatalf("the last column is a %T", record.Column(2))
	}
	for i, want := range []string{"", "a is NaN", "", "a is infinite; b is infinite"} {
		if reasons.IsNull(i) != (want == "") || want != "" && reasons.Value(i) != want {
			t.Errorf("row %d: reason %q, want %q", i, reasons.Value(i), want)
		}
	}
	values, ok := record.Column(0).(*array.Float64)
	if !ok || !math.IsNaN(values.Value(3)) || !math.IsInf(a[3], 1) {
		t.Errorf("the bad cell is %v of %v: want NaN in the batch, and the caller's column as it was", record.Column(0), a)
	}
}

// first reads the first batch of a source.
func first(ctx context.Context, src dataset.Source) (arrow.Record, error) {
	b, err := src.Open(ctx, 0)
	if err != nil {
		return nil, err
	}
	record, err := b.Next(ctx)
	return record, errors.Join(err, b.Close())
}
