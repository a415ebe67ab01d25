package pipeline_test

import (
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// Identifiers and targets of two values are reported, and nothing of the kind of quantities.
func TestWarned(t *testing.T) {
	const n = 400
	column := func(value func(i int) float64) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = value(i)
		}
		return values
	}
	for name, c := range map[string]struct {
		column string
		values []float64
		target []float64
		says   string // "": nothing
	}{
		"an identifier, in order":   {"b", column(func(i int) float64 { return float64(7 + i) }), nil, `column "b" is left out: it seems to be an identifier: its values are whole numbers, all different on all 40 prior rows, and they count the rows`},
		"an identifier by its name": {"customer_id", column(func(i int) float64 { return float64(i*7919%n) * 1000 }), nil, "it is named like one"},
		"hours":                     {"b", column(func(i int) float64 { return float64(3600 * i) }), nil, ""},
		"a quantity":                {"b", column(func(i int) float64 { return float64(i * 7919 % n) }), nil, ""},
		"a fraction":                {"id", column(func(i int) float64 { return float64(i) + 0.5 }), nil, ""},
		"of few values":             {"humid", column(func(i int) float64 { return float64(i % 50) }), nil, ""},
		"made of the target":        {"b", nil, column(func(i int) float64 { return float64(i*7919%n) / 7 }), `column "b" may leak the target: it is the target, or a straight line of it`},
		"a target of classes":       {"b", column(func(i int) float64 { return float64(i * 7919 % n) }), column(func(i int) float64 { return float64(i % 2) }), `the target "y" has two values on all 40 prior rows, 0 and 1`},
	} {
		columns := waves(n, 0.1, 3)
		columns[1] = c.values
		if c.target != nil {
			columns[2] = c.target
		}
		if c.values == nil {
			columns[1] = column(func(i int) float64 { return 32 - 1.8*c.target[i] })
		}
		l := newLake(columns)
		l.names[1] = c.column
		env := l.environment(&pipelinetest.Store{})
		var warned []string
		env.Observer.Warning = func(text string) { warned = append(warned, text) }
		r, err := pipeline.Run(t.Context(), testJob(t, tiny), env)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if features := r.Model.Meta.Features; (len(features) == 1) != strings.HasPrefix(name, "an identifier") {
			t.Errorf("%s: features %v", name, features)
		}
		said := ""
		for _, text := range warned {
			if strings.Contains(text, "identifier") || strings.Contains(text, "two values") || strings.Contains(text, "straight line") {
				said += text
			}
		}
		if !strings.Contains(said, c.says) || (said == "") != (c.says == "") {
			t.Errorf("%s: warnings %q", name, warned)
		}
	}
}

// Hard rows that were put where no row certifies are reported by a check with the rows.
func TestHardPriorRows(t *testing.T) {
	j := testJob(t, func(j *job.Job) { j.Loss = job.LossDecl{Epsilon: 0.5} })
	for _, forged := range []bool{false, true} {
		columns := waves(1000, 0.2, 5)
		split, err := dataset.NewSplit(t.Context(), j, 1000, dataset.LeftOut{}, 1)
		fatal.If(t, err)
		for k, ordinal := range split.PriorRows {
			if forged {
				columns[2][ordinal] = 3 * float64(k%7-3)
			}
		}
		l := newLake(columns)
		store := &pipelinetest.Store{}
		r := run(t, j, l.environment(store))
		v, err := pipeline.Verify(t.Context(), r.Certificate, r.Model, r.ArtifactRef.Model, openTable(l), job.Resources{})
		fatal.If(t, err)
		if said := strings.Join(v.Warnings, ""); strings.HasPrefix(said, "the mean loss is 0.") != forged {
			t.Errorf("forged %v: %q", forged, said)
		}
	}
}
