package pipeline_test

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// spoil makes rows bad, each in another column, and marks them.
func (l *lake) spoil(rows ...int) {
	l.mark = true
	for k, i := range rows {
		l.columns[k%len(l.columns)][i] = []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[k%3]
	}
}

func tolerant(j *job.Job) {
	tiny(j)
	j.Rejected.Limit = 0.01
}

func tolerantDrop(j *job.Job) {
	tolerant(j)
	j.Duplicates = job.DuplicatesDecl{Policy: job.DuplicatesDropped}
}

// A rejectedFile is a file of rejected rows in memory.
type rejectedFile struct {
	columns []string
	rows    []dataset.RejectedRow
}

func (s *rejectedFile) Put(_ context.Context, columns []string, _ []dataset.Shard, each func(func(dataset.RejectedRow) error) error) error {
	s.columns, s.rows = columns, nil
	return each(func(r dataset.RejectedRow) error {
		r.Values = slices.Clone(r.Values)
		s.rows = append(s.rows, r)
		return nil
	})
}

// Rejected rows that a job tolerates are counted and used for nothing: whatever their good
// cells hold, model and losses are the same. All other rows keep their subset.
func TestToleratedRejectedRowsAreUsedForNothing(t *testing.T) {
	spoilt := []int{3, 77, 130, 299, 300, 555} // of all shards' beginnings, middles and ends
	clean := waves(600, 0.3, 12)
	split := plainly(clean, "pacsgp")
	publishWith := func(cell float64) (*published, *rejectedFile) {
		columns := [][]float64{slices.Clone(clean[0]), slices.Clone(clean[1]), slices.Clone(clean[2])}
		for _, i := range spoilt {
			for c := range columns {
				columns[c][i] = cell
			}
		}
		l := newLake(columns, 300, 300)
		l.spoil(spoilt...)
		p := &published{lake: l, store: &pipelinetest.Store{}}
		kept := &rejectedFile{}
		env := l.environment(p.store)
		env.Rejects = kept
		p.result = run(t, testJob(t, tolerant), env)
		p.certificate = p.result.Certificate
		return p, kept
	}
	a, kept := publishWith(0.5)
	b, _ := publishWith(-7e5)
	if !bytes.Equal(a.store.Models[a.result.ArtifactRef.Model], b.store.Models[b.result.ArtifactRef.Model]) {
		t.Error("the model depends on the good cells of rejected rows")
	}
	ga, gb := a.certificate.About(certify.PredictorDraw), b.certificate.About(certify.PredictorDraw)
	if *ga.Risk != *gb.Risk || a.certificate.Constant.Risk != b.certificate.Constant.Risk {
		t.Error("the risk depends on the good cells of rejected rows")
	}
	gone := func(rows []int) (n int64) {
		for _, i := range rows {
			if slices.Contains(spoilt, i) {
				n++
			}
		}
		return n
	}
	want := certify.Counts{
		Rows: 600, Rejected: int64(len(spoilt)),
		Prior: int64(len(split.prior)) - gone(split.prior), Training: int64(len(split.train)) - gone(split.train),
	}
	if diff := cmp.Diff(want, a.certificate.Counts); diff != "" {
		t.Error(diff)
	}
	if a.certificate.Duplicates.Rows != 0 {
		t.Errorf("%+v: rejected rows are counted as duplicates", a.certificate.Duplicates)
	}
	var positions []int
	for _, r := range kept.rows {
		positions = append(positions, 300*r.Shard+int(r.Row))
		if !slices.ContainsFunc(r.Values, math.IsNaN) || !strings.Contains(r.Reason, " is NaN") && !strings.Contains(r.Reason, " is infinite") {
			t.Errorf("%+v is kept without what is wrong with it", r)
		}
	}
	if !slices.Equal(positions, spoilt) || !slices.Equal(kept.columns, []string{"a", "b", "y"}) {
		t.Errorf("the rejected rows has the rows %v of %q, want %v", positions, kept.columns, spoilt)
	}
	for _, l := range []*lake{nil, a.lake} {
		a.accepts(t, "what is honest", l)
	}
}

// A job without a tolerance stops at the first rejected row, and one with a tolerance at too
// many, before it trains and before it counts as an attempt.
func TestTooManyRejectedRowsStopTheJob(t *testing.T) {
	all := make([]int, 600)
	for i := range all {
		all[i] = i
	}
	for name, c := range map[string]struct {
		change func(*job.Job)
		spoilt []int
		mark   bool
		words  []string
	}{
		"all":            {tolerant, all, true, []string{"600 of 600 rows (100 %)"}},
		"none tolerated": {tiny, []int{77}, false, []string{`row 77 (from 0), column "a" is NaN`}},
		"too many":       {tolerant, []int{77, 78, 201, 202, 203, 204, 205}, true, []string{"7 of 600 rows (1.17 %)", "rejected.limit is 1 %", "rows 0 to 300, row 77 (from 0): a is NaN", `bad values: "a" in 3 rows, "b" in 2 rows`}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLake(waves(600, 0.3, 12), 300, 300)
			l.spoil(c.spoilt...)
			l.mark = c.mark
			var store pipelinetest.Store
			env, kept := l.environment(&store), &rejectedFile{}
			env.Rejects = kept
			_, err := pipeline.Run(t.Context(), testJob(t, c.change), env)
			if c.mark && len(kept.rows) != len(c.spoilt) {
				t.Errorf("%d rows are kept, want all %d", len(kept.rows), len(c.spoilt))
			}
			if err == nil {
				t.Fatal("no error")
			}
			for _, words := range c.words {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("error %q does not say %q", err, words)
				}
			}
			if log, err := store.Log(); err != nil || len(store.Models) > 0 || len(log.Attempts) > 0 {
				t.Error("it trained, or counted as an attempt")
			}
		})
	}
}

// A column that is left out, for it has one value on the prior rows, makes no row bad.
func TestUnusedColumnsMakeNoRowBad(t *testing.T) {
	columns := waves(600, 0.3, 12)
	for i := range columns[1] {
		columns[1][i] = 5
	}
	for _, i := range plainly(columns, "pacsgp").train[:50] {
		columns[1][i] = math.NaN()
	}
	l := newLake(columns, 300, 300)
	l.mark = true
	p := publish(t, l, tolerant)
	if p.certificate.Counts.Rejected != 0 || len(p.result.Model.Meta.Features) != 1 {
		t.Errorf("%+v with %d features: want no rejected row", p.certificate.Counts, len(p.result.Model.Meta.Features))
	}
	p.accepts(t, "what is honest", l)
}

// Who writes certificates by hand cannot call rows bad that he does not like, nor count
// bad ones among the certified.
func TestForgedRejectedRowsAreRefused(t *testing.T) {
	l := newLake(waves(600, 0.3, 12), 300, 300)
	l.spoil(3, 77, 130)
	p := publish(t, l, tolerant)
	for name, change := range map[string]func(*certify.Evidence){
		"two more": func(ev *certify.Evidence) {
			ev.Counts.Rejected += 2
			ev.Counts.Prior -= 2
		},
		"one less": func(ev *certify.Evidence) {
			ev.Counts.Rejected--
			ev.Counts.Prior++
		},
	} {
		p.refused(t, name, forge(t, p.certificate, change), p.result.Model, p.result.ArtifactRef.Model, l)
	}
	forged := forge(t, p.certificate, func(ev *certify.Evidence) {
		ev.Counts.Rejected += 10 // beyond the tolerance
		ev.Counts.Prior -= 10
	})
	p.refused(t, "more rejected rows than the job tolerates", forged, p.result.Model, p.result.ArtifactRef.Model, nil)
}
