package pipeline_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// unevenShards cuts n rows into shards of very different sizes.
var unevenShards = []int{40, 1, 130, 2, 300, 77, 50}

// trainedOn trains on a lake and returns what is left for the last pass.
func trainedOn(t testing.TB, l *lake, change func(*job.Job)) (*pass.TrainingState, fit.Environment, *pipelinetest.Store) {
	t.Helper()
	store := &pipelinetest.Store{}
	env := l.environment(store)
	h, err := fit.Fit(t.Context(), testJob(t, change), env)
	fatal.If(t, err)
	return h, env, store
}

func passOver(t testing.TB, h *pass.TrainingState, env fit.Environment, shards []int) *pass.Pass {
	t.Helper()
	p, err := readPass(t.Context(), h, env, shards)
	fatal.If(t, err)
	return p
}

func encode(t testing.TB, p *pass.Pass) []byte {
	t.Helper()
	var out bytes.Buffer
	fatal.If(t, p.Write(t.Context(), &out))
	return out.Bytes()
}

func decode(t testing.TB, data []byte) *pass.Pass {
	t.Helper()
	p, err := pass.ReadPass(bytes.NewReader(data), int64(len(data)))
	fatal.If(t, err)
	return p
}

// No matter who reads which shards, with how many workers and in how little memory, kept or
// written and read again, merged in whatever order and grouping: the pass has the same
// bytes, and the certificate is that of a run in one piece.
func TestPassIsTheSameInAnyParts(t *testing.T) {
	for name, change := range map[string]func(*job.Job){
		"duplicates limited": tiny, "duplicates dropped": drop, "rejected rows": tolerant, "rejected rows and duplicates": tolerantDrop, "no scaling": func(j *job.Job) { tiny(j); unscaled(j) },
		"last rows held out": func(j *job.Job) { tiny(j); withHoldout(0.2)(j); j.Split.Last = true },
		"spread of losses":   func(j *job.Job) { tiny(j); withHoldout(0.2)(j); j.Loss.Kind = certify.LossSquared },
	} {
		t.Run(name, func(t *testing.T) {
			columns := waves(600, 0.3, 90)
			for _, column := range columns { // 3 duplicates, in other shards
				column[5], column[200], column[599] = column[300], column[300], column[400]
			}
			l := newLake(columns, unevenShards...)
			if strings.HasPrefix(name, "rejected rows") {
				l.spoil(7, 201, 450)
			}
			want := publish(t, l, change).document
			h, env, store := trainedOn(t, l, change)
			all := []int{0, 1, 2, 3, 4, 5, 6}
			whole := passOver(t, h, env, all)
			bytesOfAll := encode(t, whole)
			rng := rand.New(rand.NewPCG(90, 1))
			rounds := 12
			if testing.Short() {
				rounds = 2
			}
			for round := range rounds {
				env.Resources = job.Resources{Workers: 1 + round%4, Memory: []int64{0, 1}[round%2]}
				parts := make([][]int, 1+rng.IntN(5))
				for _, shard := range all {
					k := rng.IntN(len(parts))
					parts[k] = append(parts[k], shard)
				}
				var passes []*pass.Pass
				for _, shards := range parts {
					p := passOver(t, h, env, shards)
					if rng.IntN(2) == 0 {
						again := decode(t, encode(t, p))
						fatal.If(t, p.Close())
						p = again
					}
					passes = append(passes, p)
				}
				for len(passes) > 1 { // any two of them
					rng.Shuffle(len(passes), func(i, j int) { passes[i], passes[j] = passes[j], passes[i] })
					fatal.If(t, passes[0].Merge(passes[1]))
					passes = slices.Delete(passes, 1, 2)
				}
				if !bytes.Equal(encode(t, passes[0]), bytesOfAll) {
					t.Errorf("parts %v with %+v: other bytes", parts, env.Resources)
				}
				r, err := pipeline.Certify(t.Context(), h, passes[0], env)
				fatal.If(t, err)
				if got := store.Certificates[len(store.Certificates)-1]; !bytes.Equal(got, want) {
					t.Errorf("parts %v: certificate %s is another one", parts, r.ID)
				}
				fatal.If(t, passes[0].Close())
			}
			fatal.If(t, whole.Close())
		})
	}
}

// Each shard belongs to one part, whatever the number of parts.
func TestPartsCoverTheShards(t *testing.T) {
	for _, rows := range [][]int{{}, {7}, unevenShards, {1, 1, 1}, {0, 5, 0, 0, 5, 0}, slices.Repeat([]int{10}, 100)} {
		var shards []dataset.Shard
		var n int64
		for _, k := range rows {
			shards = append(shards, dataset.Shard{First: n, Rows: int64(k)})
			n += int64(k)
		}
		for of := range 12 {
			got := []int{}
			for number := range of + 1 {
				got = append(got, pass.Part{Number: number + 1, Of: of + 1}.Shards(shards)...)
			}
			if len(got) != len(rows) || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(rows) {
				t.Errorf("%d shards in %d parts: %v", len(rows), of+1, got)
			}
		}
	}
}

// What is no part of this pass is refused, with the reason.
func TestForeignPartsAreRefused(t *testing.T) {
	l := newLake(waves(600, 0.3, 91), unevenShards...)
	h, env, _ := trainedOn(t, l, tiny)
	part := func(number, total int) *pass.Pass {
		p, err := passPart(t.Context(), h, pass.Part{Number: number, Of: total}, env)
		fatal.If(t, err)
		return p
	}
	other := func(l *lake, change func(*job.Job)) *pass.Pass {
		h, env, _ := trainedOn(t, l, change)
		p, err := passPart(t.Context(), h, pass.Part{Number: 2, Of: 2}, env)
		fatal.If(t, err)
		return p
	}
	for name, c := range map[string]struct {
		with *pass.Pass
		want string
	}{
		"missing":           {nil, "2 of 7 shards are in no part (the first: shards 6 to 7, from row 473 on)"},
		"twice":             {part(1, 2), "shard 1 of 7 was read twice"},
		"overlapping":       {part(1, 1), "read twice"},
		"of another model":  {other(l, func(j *job.Job) { tiny(j); j.Train.Seed = 5 }), "another model"},
		"of another job":    {other(l, func(j *job.Job) { tiny(j); j.Loss.Unit = "m" }), "another"},
		"of another lake":   {other(newLake(waves(600, 0.3, 91), 300, 300), tiny), "another"},
		"of another sample": {other(newLake(waves(600, 0.3, 92), unevenShards...), tiny), "another"},
		"of another run":    {other(l, tiny), "another run of training"},
	} {
		t.Run(name, func(t *testing.T) {
			p := decode(t, encode(t, part(1, 2)))
			before := encode(t, p)
			var err error
			if c.with != nil {
				if err = p.Merge(c.with); err != nil && !bytes.Equal(encode(t, p), before) {
					t.Error("a part that was refused has changed the other one")
				}
			}
			if err == nil {
				_, err = pipeline.Certify(t.Context(), h, p, env)
			}
			if !errors.Is(err, pass.ErrPart) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one about %q", err, c.want)
			}
		})
	}
	// All of it, but from elsewhere.
	whole := other(newLake(waves(600, 0.3, 92), 600), tiny)
	if _, err := pipeline.Certify(t.Context(), h, whole, env); !errors.Is(err, pass.ErrPart) {
		t.Errorf("Certify of another pass: %v, want ErrPart", err)
	}
}

// Every bit that flips, and every byte that is lost, is detected.
func TestDamagedPartsAreRefused(t *testing.T) {
	h, env, _ := trainedOn(t, newLake(waves(60, 0.3, 93), 30, 30), tiny)
	data := encode(t, passOver(t, h, env, []int{1}))
	refused := func(what string, changed []byte) {
		if _, err := pass.ReadPass(bytes.NewReader(changed), int64(len(changed))); !errors.Is(err, pass.ErrPart) {
			t.Errorf("%s: %v, want ErrPart", what, err)
		}
	}
	for at := range data {
		changed := bytes.Clone(data)
		changed[at] ^= 1 << (at % 8)
		refused(fmt.Sprintf("bit %d of byte %d flipped", at%8, at), changed)
		refused(fmt.Sprintf("cut after %d bytes", at), data[:at])
	}
	refused("a byte more", append(bytes.Clone(data), 0))
}

// What was made with another arithmetic is refused by its name: a part when it is read, and what
// training left before any row is.
func TestAnotherArithmeticIsRefused(t *testing.T) {
	h, env, _ := trainedOn(t, newLake(waves(60, 0.3, 93), 30, 30), tiny)
	data := encode(t, passOver(t, h, env, []int{1}))
	body := data[:len(data)-sha256.Size]
	body[bytes.IndexByte(body, '\n')+1+8] = '0' // behind the format and the name's length
	sum := sha256.Sum256(body)
	forged := append(body, sum[:]...)
	if _, err := pass.ReadPass(bytes.NewReader(forged), int64(len(forged))); !errors.Is(err, pass.ErrPart) || !strings.Contains(err.Error(), `arithmetic "0"`) {
		t.Errorf("a part: %v", err)
	}
	h.Arithmetic = "0"
	left, err := json.Marshal(h)
	fatal.If(t, err)
	if _, err := pass.ParseTrainingState(left); err == nil || !strings.Contains(err.Error(), `arithmetic "0"`) {
		t.Errorf("a training state: %v", err)
	}
}

// Parts find outside rows by their own hashes, too, and the certificate is that of a run in one piece.
func TestOutsideRowsInParts(t *testing.T) {
	table := pipelinetest.NewMemory([]string{"p", "y", "a", "b"}, slices.Insert(waves(600, 0.3, 96), 0, make([]float64, 600)), 40, 200, 360).Table
	j := testJob(t, func(j *job.Job) {
		tiny(j)
		outside(j)
		j.Mean.Column, j.Guarantees = "p", nil
	})
	var whole, parts pipelinetest.Store
	env := environment(nil, &whole)
	env.Open = func(ctx context.Context, features []string) (dataset.Source, error) {
		return dataset.Open(ctx, j, table, features, job.Resources{}, nil)
	}
	if r := run(t, j, env); r.Certificate.Counts.Outside == 0 {
		t.Fatal("no row is outside")
	}
	env.Sink, env.Log, env.Checkpoints = &parts, &parts, &parts
	h, err := fit.Fit(t.Context(), j, env)
	fatal.If(t, err)
	p := passOver(t, h, env, []int{2})
	defer p.Close()
	fatal.If(t, errors.Join(p.Merge(passOver(t, h, env, []int{0})), p.Merge(passOver(t, h, env, []int{1}))))
	_, err = pipeline.Certify(t.Context(), h, p, env)
	fatal.If(t, err)
	if !bytes.Equal(parts.Certificates[0], whole.Certificates[0]) {
		t.Error("the certificate of the parts is another one")
	}
}

// The split that a training state has is that of the key: another prior row, or another number of
// outside rows, is found when the parts are certified.
func TestTrainingStateHasTheSplitOfItsKey(t *testing.T) {
	h, env, _ := trainedOn(t, newLake(waves(600, 0.3, 95), unevenShards...), tiny)
	good := h.Order
	for name, order := range map[string][]int64{
		"two swapped": slices.Concat(good[1:2], good[:1], good[2:]), "one less": good[:len(good)-1], "one twice": slices.Concat(good[:len(good)-1], good[:1]),
		"a row that is not there": slices.Concat(good[1:], []int64{600}), "a negative row": slices.Concat(good[1:], []int64{-1}),
	} {
		h.Order = order
		p, err := readPass(t.Context(), h, env, []int{0, 1, 2, 3, 4, 5, 6})
		if err == nil {
			_, err = pipeline.Certify(t.Context(), h, p, env)
			fatal.If(t, p.Close())
		}
		if !errors.Is(err, pass.ErrPart) {
			t.Errorf("%s: %v, want ErrPart", name, err)
		}
	}
	h.Order, h.Outside = good, 1
	p := passOver(t, h, env, []int{0, 1, 2, 3, 4, 5, 6})
	defer p.Close()
	if _, err := pipeline.Certify(t.Context(), h, p, env); !errors.Is(err, pass.ErrPart) {
		t.Errorf("an outside row more: %v, want ErrPart", err)
	}
}

// Rows that change between training and a part are detected when it is certified.
func TestRowsThatChangeBeforeAPartAreRefused(t *testing.T) {
	before, after := newLake(waves(600, 0.3, 94), unevenShards...), newLake(waves(600, 0.3, 94), unevenShards...)
	after.columns[1][400] += 1e-9
	h, env, _ := trainedOn(t, before, tiny)
	p := passOver(t, h, env, []int{0, 1, 2, 3})
	env.Open = after.environment(nil).Open
	fatal.If(t, p.Merge(passOver(t, h, env, []int{4, 5, 6})))
	if _, err := pipeline.Certify(t.Context(), h, p, env); !errors.Is(err, job.ErrChanged) {
		t.Errorf("Certify = %v, want ErrChanged", err)
	}
}
