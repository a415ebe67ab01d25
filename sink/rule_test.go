package sink_test

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
	"github.com/pacsgp/pacsgp/sink/verifytest"
)

// A liar keeps another model than the one that it is given.
type liar struct {
	encodedStore
	change func(m *pipeline.Model)
}

func (s *liar) PutModel(ctx context.Context, m pipeline.Model) (string, error) {
	s.change(&m)
	return s.encodedStore.PutModel(ctx, m)
}

// Python makes a model by rule again, and refuses every other one, which has a certificate from the
// program's own last pass.
func TestPythonMakesTheModelByRuleAgain(t *testing.T) {
	verifytest.Need(t)
	columns := lakeWaves()
	forgeries := []struct {
		name, want string
		change     func(m *pipeline.Model)
	}{
		{"nothing", "made again by its rule", func(*pipeline.Model) {}},
		{"a bit of m", "another mean", func(m *pipeline.Model) { m.Posterior.Mean[3] *= 1 + 0x1p-16 }},
		{"a bit of C", "another covariance", func(m *pipeline.Model) { m.Posterior.Factor[0] *= 1 + 0x1p-8 }},
		{"a bit of Z", "other inducing points", func(m *pipeline.Model) { m.Posterior.Z[5] = math.Nextafter(m.Posterior.Z[5], 9) }},
		{"a bit of the noise", "the rule gives the noise", func(m *pipeline.Model) { m.Meta.Noise.Variance *= 1 + 0x1p-50 }},
		{"another lengthscale", "the rule gives 'ln lengthscale of a'", func(m *pipeline.Model) { pipelinetest.NextValue(m, 0) }},
	}
	if testing.Short() {
		forgeries = forgeries[:2] // each takes Python seconds
	}
	var calls [][]string
	for _, f := range forgeries {
		j := smallJob()
		j.Train, j.Inducing, j.Loss = pipeline.TrainDecl{Method: pipeline.MethodRule}, []int{12}, pipeline.LossDecl{Epsilon: 1.5}
		j.Guarantees = nil
		j, err := j.WithDefaults()
		fatal.If(t, err)
		store := &liar{change: f.change}
		r, err := pipeline.Run(t.Context(), j, pipeline.Environment{
			Open: func(context.Context, []string) (pipeline.Source, error) {
				return pipelinetest.NewMemory([]string{"a", "b", "y"}, columns, 900), nil
			},
			Sink: store, Attempts: store, Checkpoints: store, Software: "pacsgp test",
		})
		fatal.If(t, err)
		dir := t.TempDir()
		document, err := certify.Marshal(r.Certificate)
		fatal.If(t, err)
		call := []string{"verify", filepath.Join(dir, "model.parquet"), filepath.Join(dir, "certificate-"+r.ID+".json"), filepath.Join(dir, "lake.parquet")}
		writeFile(t, call[1], encode(t, r.Model))
		writeFile(t, call[2], document)
		writeFile(t, call[3], lakeFile(t, columns, 0, 900))
		calls = append(calls, call)
	}
	for i, r := range verifytest.Verify(t, calls) {
		f := forgeries[i]
		if refused := r.Status != 0 && r.Status != 3; refused != (i > 0) || !strings.Contains(r.Out, f.want) {
			t.Errorf("%s: exit status %d, want a word of %q:\n%s", f.name, r.Status, f.want, r.Out)
		}
		if i == 0 && (strings.Contains(r.Out, "NOT CHECKED: that training") || strings.Contains(r.Out, "NOT CHECKED: the noise")) {
			t.Errorf("it leaves open what it has checked:\n%s", r.Out)
		}
	}
}
