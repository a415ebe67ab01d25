package pass

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/allocated"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// Any bytes are an error or a pass that, written again, gives the same bytes, in memory
// that is in proportion to them. The fuzzer's bytes get the checksum that belongs to them.
func FuzzPass(f *testing.F) {
	var risk certify.RiskSum
	fatal.If(f, risk.Add(0.5))
	marks := newCounter(3, job.Resources{}, nil)
	for _, b := range []dataset.Block{{First: 1, Marks: []uint64{3}}, {First: 9, Marks: []uint64{2}}, {First: 1, Marks: []uint64{2}}} {
		fatal.If(f, marks.add(f.Context(), b, nil))
	}
	for _, p := range []*Pass{
		{of: subject{columns: 1}, marks: newCounter(0, job.Resources{}, nil)},
		{of: subject{rows: 3, shards: 2, columns: 2}, duplicates: job.Duplicates{Rows: 3, Distinct: 2}},
		{
			of: subject{rows: 5, shards: 1, columns: 2}, marks: newCounter(0, job.Resources{}, nil), shards: map[int]*ShardPass{},
			held: &HeldOut{},
		},
		{
			of: subject{rows: 9, shards: 4, columns: 2, model: job.Digest{1}, constant: 0.25},
			shards: map[int]*ShardPass{2: {
				first: 4, rows: 3, Columns: make([]dataset.ColumnDigest, 2), targets: dataset.Multiset{Count: 3},
				targetsInOrder: series{Series: certify.Series{Rows: 3, Sum: -5}, first: [certify.Lags]int64{1, 2}}, Kept: []float64{2, 3, 4, 5},
				summaries: []summary{{one: true}, {first: 1}},
			}},
			lossSums: certify.LossSums{
				{Predictor: certify.PredictorDraw, Subset: certify.SubsetTraining}: {Risk: risk, Unproven: 1},
				{Predictor: certify.PredictorMean, Subset: certify.SubsetHoldout}:  {Risk: risk},
			},
			marks: marks,
		},
	} {
		var out bytes.Buffer
		fatal.If(f, p.Write(f.Context(), &out))
		f.Add(out.Bytes()[:out.Len()-sha256.Size])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		sum := sha256.Sum256(data)
		data = append(bytes.Clone(data), sum[:]...)
		var p *Pass
		var err error
		allocated.Within(t, 64*uint64(len(data))+1<<20, func() {
			p, err = ReadPass(bytes.NewReader(data), int64(len(data)))
		})
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := p.Write(t.Context(), &again); err != nil || !bytes.Equal(again.Bytes(), data) {
			t.Errorf("written again it has other bytes: %v", err)
		}
		if p.missing() == nil {
			if _, err := p.counted(t.Context()); err != nil {
				t.Errorf("its duplicates cannot be counted: %v", err)
			}
			p.digests(dataset.Indices(p.of.columns))
			p.dependence()
		}
	})
}

// Somebody can make parts with any numbers of columns and kept rows.
func TestForgedPartsAreErrors(t *testing.T) {
	m := Model{Meta: ModelMeta{Features: []job.Affine{{Name: "x", Scale: 1}}, Target: job.Affine{Name: "y", Scale: 1}}}
	var risk certify.RiskSum
	for range 3 {
		fatal.If(t, risk.Add(0.5))
	}
	train := certify.LossSums{{Predictor: certify.PredictorDraw, Subset: certify.SubsetTraining}: {Risk: risk}}
	for name, c := range map[string]struct {
		columns  int
		kept     []float64
		lossSums certify.LossSums
	}{
		"fewer columns":      {1, []float64{5, 6, 7}, nil},
		"more columns":       {3, nil, nil},
		"no prior row":       {2, nil, nil},
		"too few prior rows": {2, []float64{5, 6, 7, 8}, nil},
		"no start row":       {2, nil, train},
		"too few start rows": {2, []float64{5, 6}, train},
	} {
		p := &Pass{
			of: subject{rows: 3, shards: 1, columns: c.columns}, duplicates: job.Duplicates{Rows: 3, Distinct: 3}, lossSums: c.lossSums,
			shards: map[int]*ShardPass{0: {rows: 3, Columns: make([]dataset.ColumnDigest, c.columns), targets: dataset.Multiset{Count: 3}, Kept: c.kept}},
		}
		if _, err := p.result(t.Context(), job.Job{}, m); !errors.Is(err, ErrPart) {
			t.Errorf("%s: %v, want ErrPart", name, err)
		}
	}
}
