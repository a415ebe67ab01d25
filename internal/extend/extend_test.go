package extend_test

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
	"github.com/pacsgp/pacsgp/sink"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// A csvFile has rows as comma-separated values. Its first line names the columns.
type csvFile string

// Open reads the file into memory.
func (f csvFile) Open(ctx context.Context, want dataset.Choice) (dataset.Opened, error) {
	file, err := os.Open(string(f))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil || len(lines) == 0 {
		return nil, fmt.Errorf("%w: %s: no line, or a damaged one (%w)", job.ErrData, f, err)
	}
	columns := make([][]float64, len(lines[0]))
	for i, line := range lines[1:] {
		for c, text := range line {
			x, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return nil, fmt.Errorf("%w: %s: row %d (from 0), column %q: %q is no number", job.ErrData, f, i, lines[0][c], text)
			}
			columns[c] = append(columns[c], x)
		}
	}
	table, err := dataset.Columns(lines[0], columns)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f, err)
	}
	return table.Open(ctx, want)
}

// Release does nothing: the file is only read.
func (csvFile) Release(bool) error { return nil }

// A folder keeps models and certificates under their digests.
type folder string

func (f folder) put(ctx context.Context, data []byte) (string, error) {
	if err := errors.Join(ctx.Err(), os.MkdirAll(string(f), 0o750)); err != nil {
		return "", err
	}
	id := digest.Of(data)
	return id, durable.WriteFile(durable.OS{}, filepath.Join(string(f), id), data)
}

// PutModel stores a model.
func (f folder) PutModel(ctx context.Context, m pass.Model) (string, error) {
	data, err := sink.EncodeModel(m)
	if err != nil {
		return "", err
	}
	return f.put(ctx, data)
}

// GetModel reads a model back.
func (f folder) GetModel(ctx context.Context, id string) (pass.Model, error) {
	if err := ctx.Err(); err != nil {
		return pass.Model{}, err
	}
	data, err := os.ReadFile(filepath.Join(string(f), filepath.Base(id)))
	if err != nil {
		return pass.Model{}, err
	}
	if digest.Of(data) != id {
		return pass.Model{}, fmt.Errorf("%w: model %s", job.ErrChanged, id)
	}
	return sink.DecodeModel(data)
}

// PutCertificate stores a certificate.
func (f folder) PutCertificate(ctx context.Context, c certify.Certificate) (string, error) {
	data, err := certify.Marshal(c)
	if err != nil {
		return "", err
	}
	return f.put(ctx, data)
}

// Check makes the folder.
func (f folder) Check(context.Context) error { return os.MkdirAll(string(f), 0o750) }

// Publish stores a result.
func (f folder) Publish(ctx context.Context, r *pipeline.Result, _ error) error {
	_, err := f.PutModel(ctx, r.Model)
	if err == nil {
		_, err = f.PutCertificate(ctx, r.Certificate)
	}
	return err
}

func written(t *testing.T, rows int) csvFile {
	t.Helper()
	text := []byte("x,y\n")
	for i := range rows {
		x := 6 * float64(i*7%rows) / float64(rows)
		text = fmt.Appendf(text, "%g,%g\n", x, 3*math.Sin(2*x))
	}
	path := filepath.Join(t.TempDir(), "rows.csv")
	fatal.If(t, os.WriteFile(path, text, 0o600))
	return csvFile(path)
}

func TestContracts(t *testing.T) {
	rows := written(t, 20)
	pipelinetest.TestSource(t, func(t *testing.T) dataset.Source {
		src, err := rows.Open(t.Context(), dataset.Choice{Target: "y"})
		fatal.If(t, err)
		return src
	})
	pipelinetest.TestSink(t, func(t *testing.T) func(t *testing.T) pass.Sink {
		f := folder(t.TempDir())
		return func(*testing.T) pass.Sink { return f }
	})
}

func TestTrainAndVerify(t *testing.T) {
	rows, to := written(t, 2000), folder(t.TempDir())
	declared, err := job.Job{Target: "y", Loss: job.LossDecl{Epsilon: 0.5}, Delta: 0.01, Inducing: []int{20}}.WithDefaults()
	fatal.If(t, err)
	out := sinklake.NewOutput(t.TempDir(), nil)
	o, err := pipeline.Train(t.Context(), declared, rows, out, pipeline.RunConfig{Software: "example 1.0", Publisher: to})
	fatal.If(t, err)
	m, err := to.GetModel(t.Context(), o.Result.ArtifactRef.Model)
	fatal.If(t, err)
	open := func(ctx context.Context, want dataset.Choice) (dataset.Source, error) { return rows.Open(ctx, want) }
	if v, err := pipeline.Verify(t.Context(), o.Result.Certificate, m, o.Result.ArtifactRef.Model, open, job.Resources{}); err != nil || !v.Evidence {
		t.Errorf("verification by the copy: %v", err)
	}
}
