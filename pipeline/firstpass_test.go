package pipeline_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// inParts has passes through a lake made in so many parts, by as many processes, and merges them in a random
// order. change, unless it is nil, is done to the whole. made counts the passes.
func inParts(t *testing.T, l *lake, total int, change func(*pass.Pass), made *int) pass.Parts {
	rng := rand.New(rand.NewPCG(90, uint64(total)))
	return func(ctx context.Context, h *pass.TrainingState, _ []dataset.Shard, use func(*pass.Pass) error) error {
		document, err := json.Marshal(h)
		fatal.If(t, err)
		*made++
		written := func(p *pass.Pass) []byte {
			var data bytes.Buffer
			fatal.If(t, p.Write(ctx, &data))
			return data.Bytes()
		}
		part := func(number, total int) *pass.Pass {
			h, err := pass.ParseTrainingState(document)
			fatal.If(t, err)
			env := l.environment(&pipelinetest.Store{})
			env.Resources = job.Resources{Workers: 1 + rng.IntN(3), Memory: []int64{0, 1}[rng.IntN(2)]}
			p, err := passPart(ctx, h, pass.Part{Number: number, Of: total}, env)
			fatal.If(t, err)
			return decode(t, written(p))
		}
		var all *pass.Pass
		for _, i := range rng.Perm(total) {
			if p := part(i+1, total); all == nil {
				all = p
			} else {
				fatal.If(t, all.Merge(p))
			}
		}
		if !bytes.Equal(written(all), written(part(1, 1))) {
			t.Errorf("%d parts have other bytes than the whole", total)
		}
		if change != nil {
			change(all)
		}
		return use(all)
	}
}

// A first pass in parts gives the certificate, the log and the warnings of a run by one
// process, and the run itself reads no row for it.
func TestFirstPassInParts(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*job.Job)
		passes int
	}{
		"duplicates kept":                      {keepAll, 1},
		"rows held out":                        {withHoldout(0.2), 1},
		"last rows held out":                   {func(j *job.Job) { withHoldout(0.2)(j); j.Split.Last = true }, 1},
		"no scaling":                           {func(j *job.Job) { tiny(j); unscaled(j) }, 1},
		"a constant column distinguishes rows": {keepAll, 2},
		"duplicates dropped":                   {drop, 1},
		"rejected rows tolerated":              {tolerant, 0},
	} {
		t.Run(name, func(t *testing.T) {
			columns := waves(600, 0.3, 90)
			for _, column := range columns { // 3 duplicates, in other shards
				if c.passes == 1 && !strings.Contains(name, "duplicates") {
					break // they are dropped, and the first pass is made here
				}
				column[5], column[200], column[599] = column[300], column[300], column[400]
			}
			l := newLake(columns, 40, 0, 1, 130, 2, 300, 77, 50)
			if c.passes == 2 {
				distinguish(columns[1])
			}
			l.mark = name == "rejected rows tolerated"
			by := func(parts pass.Parts) (document []byte, warnings []string, log fit.Log) {
				store := &pipelinetest.Store{}
				env := l.environment(store)
				env.FirstPass = parts
				env.Observer.Warning = func(text string) { warnings = append(warnings, text) }
				run(t, testJob(t, c.change), env)
				log, err := store.Log()
				fatal.If(t, err)
				return store.Certificates[0], warnings, log
			}
			made := 0
			wantDocument, wantWarnings, wantLog := by(nil)
			document, warnings, log := by(inParts(t, l, 3, nil, &made))
			if !bytes.Equal(document, wantDocument) || made != c.passes {
				t.Errorf("%d passes, want %d; or another certificate", made, c.passes)
			}
			if diff := cmp.Diff(wantWarnings, warnings) + cmp.Diff(wantLog, log); diff != "" {
				t.Errorf("other warnings, or another log (-want +got):\n%s", diff)
			}
		})
	}
}

// distinguish makes a column constant but for the row of highest rank, which is no prior row.
func distinguish(column []float64) {
	highest := 0
	for i := range column {
		column[i] = 7
		if key := job.DefaultKey; splitHash(key, int64(i)) > splitHash(key, int64(highest)) {
			highest = i
		}
	}
	column[highest] = 8
}

// What a forged first pass says ends in no certificate, unless it is about what only training has to know:
// start rows make another Q, whose certificate is true.
func TestForgedFirstPass(t *testing.T) {
	l := newLake(waves(600, 0.3, 91), 200, 400)
	const wide = 3 // columns
	declared := testJob(t, withHoldout(0.2))
	split := newSplit(declared, 600, nil)
	prior := map[float64]bool{} // by the first column
	for _, ordinal := range split.PriorRows {
		prior[l.columns[0][ordinal]] = true
	}
	for name, c := range map[string]struct {
		forge func(kept []float64, columns []dataset.ColumnDigest) []float64
		job   func(*job.Job)
		want  string // "": it is certified
	}{
		"digest": {func(kept []float64, columns []dataset.ColumnDigest) []float64 { columns[0][3] ^= 1; return kept }, tiny, "changed since training"},
		"prior row": {func(kept []float64, _ []dataset.ColumnDigest) []float64 {
			for i := 0; i < len(kept); i += wide {
				kept[i]++
			}
			return kept
		}, tiny, "other prior rows than training had"},
		"prior rows in another order": {func(kept []float64, _ []dataset.ColumnDigest) []float64 {
			for i := wide; i < len(kept); i += wide {
				kept[i-wide], kept[i] = kept[i], kept[i-wide]
			}
			return kept
		}, tiny, "other prior rows than training had"},
		"column of one value on the prior rows": {func(kept []float64, _ []dataset.ColumnDigest) []float64 {
			for i := 0; i < len(kept); i += wide {
				kept[i+1] = 0.5
			}
			return kept
		}, tiny, `column "b" is `},
		"a row too few": {func(kept []float64, _ []dataset.ColumnDigest) []float64 { return kept[wide:] }, tiny, "one has not what"},
		"NaN":           {func(kept []float64, _ []dataset.ColumnDigest) []float64 { kept[0] = math.NaN(); return kept }, tiny, "values that no source gives"},
		"start rows": {func(kept []float64, _ []dataset.ColumnDigest) []float64 {
			for i := 0; i < len(kept); i += wide {
				if !prior[kept[i]] {
					kept[i+2] = 0
				}
			}
			return kept
		}, withHoldout(0.2), ""},
	} {
		t.Run(name, func(t *testing.T) {
			made, store := 0, &pipelinetest.Store{}
			env := l.environment(store)
			env.FirstPass = inParts(t, l, 2, func(p *pass.Pass) { forgePass(p, c.forge) }, &made)
			r, err := pipeline.Run(t.Context(), testJob(t, c.job), env)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) || len(store.Certificates) > 0 {
					t.Errorf("%d certificates, error %v, want one about %q", len(store.Certificates), err, c.want)
				}
				return
			}
			fatal.If(t, err)
			p := &published{lake: l, store: store, result: r, certificate: r.Certificate}
			_, err = p.verify(t, r.Certificate, r.Model, r.ArtifactRef.Model, l)
			fatal.If(t, err)
			if honest := publish(t, l, c.job); honest.result.ArtifactRef.Model == r.ArtifactRef.Model {
				t.Error("nothing was forged")
			}
		})
	}
}

// Parts of another first pass, missing ones, and those of a last pass are refused; and who has only the
// training state of a first pass cannot certify.
func TestForeignPartsOfAFirstPass(t *testing.T) {
	l := newLake(waves(600, 0.3, 91), unevenShards...)
	h, env, _ := trainedOn(t, l, tiny)
	last := passOver(t, h, env, []int{0, 1, 2, 3, 4, 5, 6})
	var before *pass.Pass
	fit := func(change func(h *pass.TrainingState) *pass.Pass) error {
		env := l.environment(&pipelinetest.Store{})
		env.FirstPass = func(ctx context.Context, h *pass.TrainingState, _ []dataset.Shard, use func(*pass.Pass) error) error {
			if _, err := pipeline.Certify(ctx, h, last, env); !errors.Is(err, pass.ErrUntrained) {
				t.Errorf("Certify with the training state of a first pass: %v", err)
			}
			return use(change(h))
		}
		_, err := fit.Fit(t.Context(), testJob(t, tiny), env)
		return err
	}
	part := func(number, total int) func(*pass.TrainingState) *pass.Pass {
		return func(h *pass.TrainingState) *pass.Pass {
			p, err := passPart(t.Context(), h, pass.Part{Number: number, Of: total}, env)
			fatal.If(t, err)
			before = p
			return p
		}
	}
	fatal.If(t, fit(part(1, 1)))
	for name, err := range map[string]error{
		"a last pass":    fit(func(*pass.TrainingState) *pass.Pass { return last }),
		"one before":     fit(func(*pass.TrainingState) *pass.Pass { return before }),
		"missing shards": fit(part(1, 2)),
	} {
		if !errors.Is(err, pass.ErrPart) {
			t.Errorf("%s: %v, want ErrPart", name, err)
		}
	}
	changed := newLake(slices.Clone(l.columns), unevenShards...)
	changed.names = []string{"a", "c", "y"}
	err := fit(func(h *pass.TrainingState) *pass.Pass {
		_, err := pipeline.Prepare(t.Context(), h, changed.environment(&pipelinetest.Store{}))
		if !errors.Is(err, job.ErrChanged) {
			t.Errorf("a source with other columns: %v", err)
		}
		return last
	})
	if !errors.Is(err, pass.ErrPart) {
		t.Error(err)
	}
}
