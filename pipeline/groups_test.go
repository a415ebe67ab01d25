package pipeline_test

import (
	"context"
	"errors"
	"math"
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

// stations are waves with a third feature, one of three stations.
func stations(n int) *lake {
	columns := waves(n, 0.2, 4)
	at := make([]float64, n)
	for i, b := range columns[1] {
		at[i] = math.Floor(3 * b)
	}
	return &lake{names: []string{"a", "b", "station", "y"}, columns: [][]float64{columns[0], columns[1], at, columns[2]}, shards: []int{n / 3, n - n/3}}
}

// byStation asks for groups, whose column is no feature.
func byStation(values ...float64) func(*job.Job) {
	return func(j *job.Job) {
		tiny(j)
		j.Exclude, j.Guarantees, j.Split.Holdout, j.Groups = []string{"station"}, nil, 0.3, job.GroupsDecl{Column: "station", Values: values}
	}
}

// openTable opens the lake as an adapter does, with excluded columns.
func openTable(l *lake) dataset.OpenData {
	return func(ctx context.Context, want dataset.Choice) (dataset.Source, error) {
		return pipelinetest.NewMemory(l.names, l.columns, l.shards...).Table.Open(ctx, want)
	}
}

// Groups by a column next to the features, from the prior rows, from the job, in two parts, and as a
// feature, have the rows and misses that they should, and are verified.
func TestGroupsThroughThePipeline(t *testing.T) {
	l := stations(900)
	verify := func(c certify.Certificate, r *pipeline.Result) error {
		_, err := pipeline.Verify(t.Context(), c, r.Model, r.ArtifactRef.Model, openTable(l), job.Resources{})
		return err
	}
	for _, values := range [][]float64{nil, {2, 0}} {
		store, j := &pipelinetest.Store{}, testJob(t, byStation(values...))
		env := environment(nil, store)
		rows := pipelinetest.NewMemory(l.names, l.columns, l.shards...).Table
		env.Open = func(ctx context.Context, features []string) (dataset.Source, error) {
			return dataset.Open(ctx, j, rows, features, env.Resources, nil)
		}
		r := run(t, j, env)
		g, ok := r.Certificate.Claim(certify.ClaimGroups)
		want := []float64{0, 1, 2}
		if values != nil {
			want = []float64{0, 2}
		}
		if !ok || !slices.Equal(r.Certificate.Grouping.Values, want) || !r.Certificate.Grouping.NotAFeature || !slices.Equal(r.Certificate.Features(), []string{"a", "b"}) {
			t.Fatalf("%t, %+v of %q", ok, g.Groups, r.Certificate.Features())
		}
		held := splitOf(900, 0.3)
		n := make([]int64, len(want)+1)
		for _, i := range holdoutRows(held, 77) {
			n[r.Certificate.Grouping.Of(l.columns[2][i])]++
		}
		var misses int64
		for i, of := range g.Groups {
			if misses += of.Misses; of.N != n[i] {
				t.Errorf("group %d has %d rows, want %d", i, of.N, n[i])
			}
		}
		if whole, _ := r.Certificate.Claim(certify.ClaimHoldout); misses != int64(math.Round(*whole.Risk*float64(whole.N))) {
			t.Errorf("%d misses in groups", misses)
		}
		fatal.If(t, verify(r.Certificate, r))
		forged := forge(t, r.Certificate, func(ev *certify.Evidence) {
			of := ev.LossSums.At(certify.PredictorMean, certify.SubsetHoldout).Groups
			of[0].N, of[1].N = of[0].N-1, of[1].N+1
		})
		if err := verify(forged, r); !errors.Is(err, job.ErrRefused) {
			t.Errorf("a row in another group: %v", err)
		}
		forged = forge(t, r.Certificate, func(ev *certify.Evidence) { ev.Grouping.Values[0] = -1 })
		if err := verify(forged, r); !errors.Is(err, job.ErrRefused) {
			t.Errorf("other values: %v", err)
		}
		h, err := fit.Fit(t.Context(), j, env)
		fatal.If(t, err)
		whole, err := passPart(t.Context(), h, pass.Part{Number: 2, Of: 2}, env)
		fatal.If(t, err)
		whole = decode(t, encode(t, whole))
		first, err := passPart(t.Context(), h, pass.Part{Number: 1, Of: 2}, env)
		fatal.If(t, err)
		fatal.If(t, whole.Merge(first))
		parts, err := pipeline.Certify(t.Context(), h, whole, env)
		fatal.If(t, err)
		if parts.ID != r.ID {
			t.Error("in two parts the certificate is another one")
		}
		fatal.If(t, whole.Close())
	}
}

// A column of groups that the rows do not have, or that is text, is an error of the job before a row is
// read, and refused in a forged certificate.
func TestGroupsNeedTheirColumn(t *testing.T) {
	l := stations(900)
	for _, values := range [][]float64{nil, {0, 1}} {
		of := func(column string) func(*job.Job) {
			return func(j *job.Job) {
				byStation(values...)(j)
				j.Exclude, j.Groups.Column = nil, column
			}
		}
		_, err := pipeline.Run(t.Context(), testJob(t, of("stattion")), l.environment(&pipelinetest.Store{}))
		if !errors.Is(err, job.ErrConfig) || !strings.Contains(err.Error(), `groups: "stattion" is no column`) {
			t.Errorf("values %v: %v", values, err)
		}
		p := publish(t, l, of("station"))
		forged := forge(t, p.certificate, func(ev *certify.Evidence) {
			reword(t, ev, `"column":"station"`, `"column":"stattion"`)
		})
		if _, err := p.verify(t, forged, p.result.Model, p.result.ArtifactRef.Model, l); !errors.Is(err, job.ErrRefused) {
			t.Errorf("values %v: forged: %v", values, err)
		}
	}
}

// A use that shows three groups counts as five of all rows.
func TestReuseOfGroups(t *testing.T) {
	l, log := stations(400), &pipelinetest.Store{}
	groups := func(j *job.Job) { j.Groups = job.GroupsDecl{Column: "station", Values: []float64{0, 1}} }
	for _, c := range []struct {
		name string
		what func(*job.Job)
		uses int
	}{
		{"a count", func(*job.Job) {}, 0},
		{"groups of the same model", groups, 1},
		{"the same groups again", groups, 1},
		{"another count", func(j *job.Job) { j.Train.Seed = 5 }, 6},
	} {
		reuse := reuser(t, log, l, c.what, 0).Delta.Reuse
		if reuse == nil {
			reuse = &certify.Reuse{}
		}
		if len(reuse.Earlier) != c.uses || reuse.Ended {
			t.Errorf("%s: %+v, want %d uses", c.name, reuse, c.uses)
		}
	}
}
