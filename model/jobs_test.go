package model

import (
	"errors"
	"flag"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model/kernel"
	"github.com/pacsgp/pacsgp/model/loss"
)

// allJobs are the 500 of TestTrainingKeepsWhatItHasReached, and 20 on all rows of their
// sets, which is for a change of training, by hand. Otherwise it tries a tenth of them, or four with -short.
var allJobs = flag.Bool("jobs", false, "train all jobs, not a tenth of them")

// sets are those that samples are drawn from: the target first.
var sets = []struct {
	name    string
	columns []string
}{
	{"nights", []string{"arr_delay", "dep_delay", "distance", "taxi_out", "air_time"}},
	{"concrete", numbered(8)},
	{"powerplant", numbered(4)},
	{"kin8nm", numbered(8)},
	{"bike", numbered(17)},
	{"pol", numbered(26)},
	{"boston", []string{"MEDV", "CRIM", "ZN", "INDUS", "CHAS", "NOX", "RM", "AGE", "DIS", "RAD", "TAX", "PTRATIO", "B", "LSTAT"}},
	{"kin40k", numbered(8)},
	{"keggdirected", numbered(20)},
	{"flights", []string{"delay", "distance", "time"}},
	{"hflights", []string{"ArrDelay", "DepDelay", "Distance", "TaxiOut", "AirTime", "DepTime"}},
	{"beijing_air", []string{"PM2.5", "TEMP", "PRES", "DEWP", "WSPM", "hour", "RAIN"}},
}

func numbered(features int) []string {
	columns := []string{"y"}
	for j := range features {
		columns = append(columns, "x"+string(rune('0'+(j+1)/10))+string(rune('0'+(j+1)%10)))
	}
	return columns
}

// A sample is what a job trains on: rows of a set, scaled by the first of them.
type sample struct {
	name        string
	first, rows Rows
	epsilon     float64
	family      *kernel.Family
}

// Whatever the rows, the tolerance, the kernel, the number of inducing points and the
// seed: training ends at most 5 % above the lowest bound that it has seen, and 99 of 100
// at most 15 % above the median of the seeds.
func TestTrainingKeepsWhatItHasReached(t *testing.T) {
	const samples, seeds = 25, 4
	points := []int{25, 40, 50, 75, 100}
	jobs, above := 0, 0
	for i := range samples {
		var s *sample
		for k, m := range points {
			if !*allJobs && (testing.Short() && (i != 0 || m != 50) || i != 0 && (i+k)%10 != 0) {
				continue
			}
			if s == nil {
				s = drawSample(t, i)
			}
			var bounds []float64
			for seed := range uint64(seeds) {
				bounds = append(bounds, s.train(t, m, seed))
			}
			median := slices.Sorted(slices.Values(bounds))
			for _, b := range bounds {
				if jobs++; b > 1.15*(median[seeds/2-1]+median[seeds/2])/2 {
					above++
					t.Logf("sample %d, %s, M = %d: bounds %.4f", i, s.name, m, bounds)
				}
			}
		}
	}
	if above*100 > jobs {
		t.Errorf("%d of %d jobs are more than 15 %% above the median of their sample", above, jobs)
	}
	if !*allJobs {
		return
	}
	for i, set := range sets[:10] {
		rng := rand.New(rand.NewPCG(uint64(i), 2))
		s := scaledSample(t, i, rng, math.MaxInt, len(set.columns), false)
		s.epsilon, s.family = 0.6, kernel.SquaredExponential
		for seed := range uint64(2) {
			s.train(t, 200, seed)
		}
	}
}

// drawSample draws a sample: of 300 to 3,000 rows, of all columns or a few, with a
// tolerance from a twentieth to one standard deviation. The first is one that once left
// its course.
func drawSample(t *testing.T, i int) *sample {
	rng := rand.New(rand.NewPCG(uint64(i), 1))
	rows, columns := int(300*math.Pow(10, rng.Float64())), 100
	if rng.IntN(2) == 0 {
		columns = 3 + rng.IntN(8)
	}
	epsilon, family, heavy := 0.05*math.Pow(20, rng.Float64()), kernel.Families()[0], rng.IntN(4) == 0
	if rng.IntN(2) == 0 {
		family = kernel.Families()[rng.IntN(len(kernel.Families()))]
	}
	if i == 0 {
		rows, columns, epsilon, family, heavy = 4732, 100, 0.45, kernel.SquaredExponential, false
	}
	s := scaledSample(t, i%len(sets), rng, rows, columns, heavy)
	s.epsilon, s.family = epsilon, family
	return s
}

// scaledSample draws rows and columns of a set. heavy gives the target heavy tails.
func scaledSample(t *testing.T, set int, rng *rand.Rand, rows, columns int, heavy bool) *sample {
	t.Helper()
	table := readSet(t, sets[set].name, sets[set].columns)
	order := rng.Perm(len(table[0]))
	order = order[:min(rows, len(order))]
	first := min(300, max(20, len(order)/20))
	kept := [][]float64{scaled(table[0], order, first)}
	if heavy {
		for i, y := range kept[0] {
			kept[0][i] = math.Sinh(2 * y)
		}
		kept[0] = rescaled(kept[0], first)
	}
	for _, j := range rng.Perm(len(table) - 1) {
		if column := scaled(table[j+1], order, first); column != nil && len(kept) < columns {
			kept = append(kept, column)
		}
	}
	all := Rows{Y: kept[0], Dim: len(kept) - 1}
	for i := range order {
		for _, column := range kept[1:] {
			all.X = append(all.X, column[i])
		}
	}
	return &sample{name: sets[set].name, first: all.Slice(0, first), rows: all.Slice(first, all.Len())}
}

// scaled returns the values of some rows; nil if the first of them are all alike.
func scaled(column []float64, order []int, first int) []float64 {
	values := make([]float64, len(order))
	for i, at := range order {
		values[i] = column[at]
	}
	return rescaled(values, first)
}

func rescaled(values []float64, first int) []float64 {
	mean, square := 0.0, 0.0
	for _, v := range values[:first] {
		mean += v / float64(first)
	}
	for _, v := range values[:first] {
		square += (v - mean) * (v - mean) / float64(first)
	}
	if square == 0 {
		return nil
	}
	for i := range values {
		values[i] = (values[i] - mean) / math.Sqrt(square)
	}
	return values
}

// train trains a job and returns its bound.
func (s *sample) train(t *testing.T, m int, seed uint64) float64 {
	t.Helper()
	c := Config{
		Dim: s.rows.Dim, N: int64(s.rows.Len()), Delta: 0.01, Loss: mustLoss(t, loss.ZeroOne, s.epsilon), Kernel: s.family, Scales: Scales{ARD: true},
		Inducing: m, Plan: Plan{EstimateRows: 300}, Seed: seed, Workers: 2,
	}
	for range c.Parameters() {
		c.Grids = append(c.Grids, Grid{Min: -6, Step: 0.25, Count: 49})
	}
	start := Rows{X: slices.Concat(s.first.X, s.rows.X), Y: slices.Concat(s.first.Y, s.rows.Y), Dim: c.Dim}
	tr, err := NewTrainer(c, start)
	fatal.If(t, err)
	defer tr.Close()
	drive(t, tr, s.rows, 1000, nil)
	p := tr.Progress()
	if !(p.Bound <= 1.05*tr.reached) {
		t.Errorf("%s, %d rows of %d features, ε = %.3f, %s, M = %d, seed %d: the bound was %.4f, and is %.4f at the end; warning %q",
			s.name, c.N, c.Dim, s.epsilon, s.family.Name, m, seed, tr.reached, p.Bound, tr.Warning())
	}
	return p.Bound
}

// readSet reads the rows of a set of the test data that are complete, column by column.
func readSet(t *testing.T, name string, columns []string) [][]float64 {
	t.Helper()
	table := make([][]float64, len(columns))
	fatal.If(t, filepath.WalkDir(fatal.Data(t, name), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".parquet" {
			return err
		}
		return readFile(path, columns, table)
	}))
	return table
}

func readFile(path string, columns []string, table [][]float64) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	f, err := parquet.OpenFile(file, info.Size())
	if err != nil {
		return err
	}
	at := make([]int, len(columns))
	for j, name := range columns {
		leaf, _ := f.Schema().Lookup(name)
		at[j] = leaf.ColumnIndex
	}
	for _, group := range f.RowGroups() {
		reader := group.Rows()
		rows := make([]parquet.Row, 1000)
		for {
			n, err := reader.ReadRows(rows)
			for _, row := range rows[:n] {
				appendRow(row, at, table)
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
		}
		if err := reader.Close(); err != nil {
			return err
		}
	}
	return nil
}

// appendRow appends a row unless a value is missing.
func appendRow(row parquet.Row, at []int, table [][]float64) {
	values := make([]float64, len(at))
	for j, c := range at {
		switch v := row[c]; v.Kind() {
		case parquet.Double:
			values[j] = v.Double()
		case parquet.Float:
			values[j] = float64(v.Float())
		case parquet.Int32:
			values[j] = float64(v.Int32())
		case parquet.Int64:
			values[j] = float64(v.Int64())
		default:
			return
		}
		if math.IsNaN(values[j]) {
			return
		}
	}
	for j, v := range values {
		table[j] = append(table[j], v)
	}
}
