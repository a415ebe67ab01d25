package ingest_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// checkRef is Check as its comment words it.
func checkRef(values []float64) (lo, hi float64, finite bool) {
	lo, hi, finite = math.Inf(1), math.Inf(-1), true
	for _, v := range values {
		finite = finite && math.Abs(v) <= 1e30
		if !math.IsNaN(v) {
			lo, hi = math.Min(lo, v), math.Max(hi, v)
		}
	}
	return lo, hi, finite
}

func TestCheck(t *testing.T) {
	odd := []float64{
		math.NaN(), math.Copysign(math.NaN(), -1), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, 1e30, -1.01e30,
		0, math.Copysign(0, -1), math.SmallestNonzeroFloat64, ingest.Null.Cell(),
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for n := range 67 {
		for k := range 2 * (n + 1) {
			values := make([]float64, n)
			for i := range values {
				values[i] = rng.NormFloat64()
			}
			if k < n { // one odd value at each position
				values[k] = odd[rng.IntN(len(odd))]
			}
			lo, hi, finite := ingest.Check(values)
			wantLo, wantHi, wantFinite := checkRef(values)
			if lo != wantLo || hi != wantHi || finite != wantFinite {
				t.Fatalf("Check(%v) = %v, %v, %v, want %v, %v, %v", values, lo, hi, finite, wantLo, wantHi, wantFinite)
			}
		}
	}
}

func TestFaultOf(t *testing.T) {
	for f := ingest.Null; f <= ingest.TooLarge; f++ {
		if v := f.Cell(); !math.IsNaN(v) || ingest.FaultOf(v) != f {
			t.Errorf("FaultOf(%v.Cell()) = %v", f, ingest.FaultOf(v))
		}
	}
	for v, want := range map[float64]ingest.Fault{
		0: ingest.None, -1e30: ingest.None, math.Nextafter(1e30, 2e30): ingest.TooLarge, -math.MaxFloat64: ingest.TooLarge, math.Inf(1): ingest.Infinite, math.Inf(-1): ingest.Infinite,
	} {
		if got := ingest.FaultOf(v); got != want {
			t.Errorf("FaultOf(%v) = %v, want %v", v, got, want)
		}
	}
	if got := ingest.FaultOf(math.NaN()); got != ingest.NotANum {
		t.Errorf("FaultOf(NaN) = %v", got)
	}
}

func TestRecordsMark(t *testing.T) {
	r := ingest.NewRecords([]string{"a", "b"}, true, nil)
	block := r.Block(3)
	copy(block.Columns[0], []float64{1, math.Inf(-1), 3})
	copy(block.Columns[1], []float64{4, ingest.Null.Cell(), ingest.TooLong.Cell()})
	record := r.New(block, []int{1, 2}, nil)
	defer record.Release()
	reasons := record.Column(2).(*array.String)
	if !reasons.IsNull(0) || reasons.Value(1) != "a is infinite; b is null" || !strings.HasPrefix(reasons.Value(2), "b has more digits") {
		t.Errorf("reasons %v", reasons)
	}
	a, b := record.Column(0).(*array.Float64), record.Column(1).(*array.Float64)
	if !math.IsNaN(a.Value(1)) || a.Value(2) != 3 || math.Float64bits(b.Value(1)) != math.Float64bits(math.NaN()) {
		t.Errorf("columns %v, %v: bad cells must be the usual NaN, good ones untouched", a, b)
	}
}

// A released batch's memory is used again, and only then.
func TestRecordsReuseMemory(t *testing.T) {
	r := ingest.NewRecords([]string{"a"}, false, nil)
	kept := r.New(fill(r.Block(100), 1), nil, nil)
	for i := range 20 {
		record := r.New(fill(r.Block(100), float64(i+2)), nil, nil)
		record.Release()
	}
	for i, v := range kept.Column(0).(*array.Float64).Float64Values() {
		if v != 1 {
			t.Fatalf("row %d of a batch that was kept is %v, want 1", i, v)
		}
	}
	kept.Release()
}

func fill(b *ingest.Block, v float64) *ingest.Block {
	for _, c := range b.Columns {
		for i := range c {
			c[i] = v
		}
	}
	return b
}

func ExampleSelect() {
	text := ingest.Column{Name: "city", Type: "text", Use: ingest.Unusable, Why: "encode it as numbers", Text: true}
	tables := []ingest.Table{
		{Name: "a.parquet", Columns: []ingest.Column{{Name: "wind", Type: "double"}, text, {Name: "pm", Type: "int16"}, {Name: "hour", Type: "int32"}}},
		{Name: "b.parquet", Columns: []ingest.Column{{Name: "wind", Type: "text", Use: ingest.Unusable, Text: true}, text, {Name: "pm"}, {Name: "hour"}}},
	}
	columns, warnings, err := ingest.Select(tables, dataset.Choice{Target: "pm"})
	fmt.Printf("%q %q %v\n", columns, warnings, err)
	// Output: ["hour" "pm"] ["column \"wind\" is left out: it is text in b.parquet" "column \"city\" is left out: it is text; to use it: encode: {city: one-hot}; if it holds numbers as text (\"12,50\"), store them as numbers (12.5)"] <nil>
}

// The choice takes a time that is in proportion to the columns: a file with many
// of them is no reason to stand still.
func TestSelectFromManyColumns(t *testing.T) {
	const n = 100_000
	table := ingest.Table{Name: "wide.parquet", Columns: make([]ingest.Column, n)}
	var exclude []string
	for i := range table.Columns {
		table.Columns[i].Name = fmt.Sprintf("c%06d", i)
		if i%2 == 0 {
			exclude = append(exclude, table.Columns[i].Name)
		}
	}
	began := time.Now()
	names, _, err := ingest.Select([]ingest.Table{table}, dataset.Choice{Exclude: exclude, Target: "c000001"})
	if err != nil || len(names) != n/2 {
		t.Errorf("%d columns, %v, want %d", len(names), err, n/2)
	}
	if took := time.Since(began); took > 20*time.Second { // a fraction of one; by comparing each with each, minutes
		t.Errorf("it took %v", took)
	}
}

// What cannot be used of a file is said to all; that a job can do without it, to jobs about
// their features only.
func TestSelectHintsFitTheChoice(t *testing.T) {
	const hint = "or leave it out of the features"
	table := ingest.Table{Name: "a.parquet", Columns: []ingest.Column{{Name: "city", Type: "text", Use: ingest.Unusable, Why: "encode it as numbers"}, {Name: "y"}}}
	for _, c := range []struct {
		choice dataset.Choice
		hint   bool
	}{
		{dataset.Choice{Features: []string{"city"}, Target: "y"}, true},
		{dataset.Choice{Features: []string{"y"}, Target: "city"}, false},
		{dataset.Choice{Features: []string{"city"}}, false},
	} {
		_, _, err := ingest.Select([]ingest.Table{table}, c.choice)
		if err == nil || !strings.Contains(err.Error(), `a.parquet: column "city" is text, which is not read as numbers: encode it as numbers`) || strings.Contains(err.Error(), hint) != c.hint {
			t.Errorf("%+v: %v", c.choice, err)
		}
	}
}

// A column that some files have and another has not, or has as text, is a fault of that file, and
// one that no file has is a fault of the choice.
func TestSelectTellsFilesFromTheChoice(t *testing.T) {
	good := ingest.Table{Name: "good.parquet", Columns: []ingest.Column{{Name: "x"}, {Name: "y"}}}
	text := ingest.Table{Name: "text.parquet", Columns: []ingest.Column{{Name: "x", Type: "text", Use: ingest.Unusable, Why: "no"}, {Name: "y"}}}
	none := ingest.Table{Name: "none.parquet", Columns: []ingest.Column{{Name: "y"}}}
	for _, c := range []struct {
		tables []ingest.Table
		choice bool
		says   string
	}{
		{[]ingest.Table{text}, true, "text.parquet"},
		{[]ingest.Table{none, text}, true, "none.parquet"},
		{[]ingest.Table{text, good}, false, "text.parquet"},
		{[]ingest.Table{good, none}, false, "none.parquet"},
	} {
		_, _, err := ingest.Select(c.tables, dataset.Choice{Features: []string{"x"}, Target: "y"})
		_, choice := errors.AsType[*ingest.ChoiceError](err)
		if err == nil || choice != c.choice || !strings.HasPrefix(err.Error(), c.says) || !c.choice && !strings.Contains(err.Error(), "good.parquet has it as numbers; write "+c.says+" again") {
			t.Errorf("%s and so on: %v, want a fault of the choice: %v", c.tables[0].Name, err, c.choice)
		}
	}
}
