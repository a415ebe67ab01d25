package pipeline

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/allocated"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// Any bytes are an error or a pass that, written again, gives the same bytes, in memory
// that is in proportion to them. The fuzzer's bytes get the checksum that belongs to them.
func FuzzPass(f *testing.F) {
	var risk certify.RiskSum
	fatal.If(f, risk.Add(0.5))
	marks := newCounter(3, Resources{}, nil)
	fatal.If(f, marks.add(f.Context(), []rowRecord{{3, 1}, {2, 9}, {2, 1}}))
	for _, p := range []*Pass{
		{of: subject{columns: 1}, marks: newCounter(0, Resources{}, nil)},
		{of: subject{rows: 3, shards: 2, columns: 2}, copies: Copies{Rows: 3, Distinct: 2}},
		{
			of: subject{rows: 5, shards: 1, columns: 2}, marks: newCounter(0, Resources{}, nil), shards: map[int]*shardPass{},
			held: &heldRows{},
		},
		{
			of: subject{rows: 9, shards: 4, columns: 2, model: Digest{1}, constant: 0.25},
			shards: map[int]*shardPass{2: {
				first: 4, rows: 3, columns: make([]ColumnDigest, 2), targets: multiset{count: 3},
				targetsInOrder: series{Series: certify.Series{Rows: 3, Sum: -5}, first: [certify.Lags]int64{1, 2}}, kept: []float64{2, 3, 4, 5},
				summaries: []summary{{one: true}, {first: 1}},
			}},
			tallies: certify.Tallies{
				{Predictor: certify.PredictorDraw, Role: certify.RoleTrain}:   {Risk: risk, Unproven: 1},
				{Predictor: certify.PredictorMean, Role: certify.RoleHoldout}: {Risk: risk},
			},
			marks: marks,
		},
	} {
		data, err := p.MarshalBinary()
		fatal.If(f, err)
		f.Add(data[:len(data)-sha256.Size])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		sum := sha256.Sum256(data)
		data = append(bytes.Clone(data), sum[:]...)
		var p Pass
		var err error
		allocated.Within(t, 64*uint64(len(data))+1<<20, func() {
			p = Pass{}
			err = p.UnmarshalBinary(data)
		})
		if err != nil {
			return
		}
		if again, err := p.MarshalBinary(); err != nil || !bytes.Equal(again, data) {
			t.Errorf("written again it has other bytes: %v", err)
		}
		if p.missing() == nil {
			if _, err := p.counted(t.Context()); err != nil {
				t.Errorf("its copies cannot be counted: %v", err)
			}
			p.digests(indices(p.of.columns))
			p.dependence()
		}
	})
}

// Somebody can make parts with any numbers of columns and kept rows.
func TestForgedPartsAreErrors(t *testing.T) {
	m := Model{Meta: ModelMeta{Features: []Affine{{Name: "x", Scale: 1}}, Target: Affine{Name: "y", Scale: 1}}}
	var risk certify.RiskSum
	for range 3 {
		fatal.If(t, risk.Add(0.5))
	}
	train := certify.Tallies{{Predictor: certify.PredictorDraw, Role: certify.RoleTrain}: {Risk: risk}}
	for name, c := range map[string]struct {
		columns int
		kept    []float64
		tallies certify.Tallies
	}{
		"fewer columns":          {1, []float64{5, 6, 7}, nil},
		"more columns":           {3, nil, nil},
		"no reference row":       {2, nil, nil},
		"too few reference rows": {2, []float64{5, 6, 7, 8}, nil},
		"no start row":           {2, nil, train},
		"too few start rows":     {2, []float64{5, 6}, train},
	} {
		p := &Pass{
			of: subject{rows: 3, shards: 1, columns: c.columns}, copies: Copies{Rows: 3, Distinct: 3}, tallies: c.tallies,
			shards: map[int]*shardPass{0: {rows: 3, columns: make([]ColumnDigest, c.columns), targets: multiset{count: 3}, kept: c.kept}},
		}
		if _, err := p.result(t.Context(), Job{}, m); !errors.Is(err, ErrPart) {
			t.Errorf("%s: %v, want ErrPart", name, err)
		}
	}
}
