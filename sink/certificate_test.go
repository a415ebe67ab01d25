package sink_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
	"github.com/pacsgp/pacsgp/sink"
	"github.com/pacsgp/pacsgp/sink/verifytest"
)

// certified runs a small job over columns (features, then the target).
func certified(t testing.TB, names []string, columns [][]float64, shards []int, job job.Job) *pipeline.Result {
	t.Helper()
	job, err := job.WithDefaults()
	fatal.If(t, err)
	store := &encodedStore{}
	if job.Repeated {
		job = job.Numbered("waves <&> ü", 7)
	}
	r, err := pipeline.Run(t.Context(), job, fit.Environment{
		Open: func(context.Context, []string) (dataset.Source, error) {
			return pipelinetest.NewMemory(names, columns, shards...).Choose(dataset.Choice{Features: names, Encoded: job.Encode, Mark: job.Rejected.Some()}), nil
		},
		Sink: store, Log: store, Checkpoints: store, Software: "pacsgp test",
	})
	fatal.If(t, err)
	return r
}

// An encodedStore keeps models in the bytes of their files.
type encodedStore struct {
	pipelinetest.Store
	models map[string][]byte
}

func (s *encodedStore) PutModel(_ context.Context, m pass.Model) (string, error) {
	data, err := sink.EncodeModel(m)
	if err != nil {
		return "", err
	}
	id := digest.Of(data)
	s.models = map[string][]byte{id: data}
	return id, nil
}

func (s *encodedStore) GetModel(_ context.Context, digest string) (pass.Model, error) {
	return sink.DecodeModel(s.models[digest])
}

// waves are n rows of y = 10 + 3 sin 2a + noise, with a second feature that
// does not matter.
func waves(n int, seed uint64) [][]float64 {
	rng := rand.New(rand.NewPCG(seed, 1))
	columns := [][]float64{make([]float64, n), make([]float64, n), make([]float64, n)}
	for i := range n {
		a := 6*rng.Float64() - 3
		columns[0][i], columns[1][i] = a, 100*rng.Float64()
		columns[2][i] = 10 + 3*math.Sin(2*a) + 0.2*rng.NormFloat64()
	}
	return columns
}

func smallJob() job.Job {
	return job.Job{
		Target: "y", Loss: job.LossDecl{EpsilonStd: 0.6, Unit: "m/s"}, Delta: 0.01, Inducing: []int{20},
		Train: job.TrainDecl{Passes: 12}, Guarantees: []certify.MethodID{certify.MethodPACBayes},
	}
}

func TestPredictionsGiveNullsAndAReasonForRejectedRows(t *testing.T) {
	var b bytes.Buffer
	p := sink.NewPredictions(&b, "0123")
	var want []pipeline.Prediction
	for i := range 300_000 {
		row := pipeline.Prediction{Ordinal: int64(i), Mean: float64(i), Deviation: 0.5} // the first mean is 0, not null
		if i%7 == 3 {
			row = pipeline.Prediction{Ordinal: int64(i), Reason: "column \"x\" is null"}
		}
		want = append(want, row)
	}
	for batch := want; len(batch) > 0; batch = batch[min(len(batch), 4096):] {
		fatal.If(t, p.Write(batch[:min(len(batch), 4096)]))
	}
	fatal.If(t, p.Close())
	type row struct {
		Row         int64    `parquet:"row"`
		Mean        *float64 `parquet:"mean,optional"`
		Deviation   *float64 `parquet:"deviation,optional"`
		Certificate *string  `parquet:"certificate,optional"`
		Reason      *string  `parquet:"reason,optional"`
	}
	rows, err := parquet.Read[row](bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil || len(rows) != len(want) {
		t.Fatalf("%d rows, %v, want %d", len(rows), err, len(want))
	}
	for i, r := range rows {
		w := want[i]
		good := r.Row == w.Ordinal && (r.Reason == nil) == (w.Reason == "") && (r.Reason != nil || r.Mean != nil && r.Deviation != nil && r.Certificate != nil &&
			*r.Mean == w.Mean && *r.Deviation == w.Deviation && *r.Certificate == "0123") &&
			(r.Reason == nil || *r.Reason == w.Reason && r.Mean == nil && r.Deviation == nil && r.Certificate == nil)
		if !good {
			t.Fatalf("row %d is %+v, want %+v", i, r, w)
		}
	}
}

// Files of ours are read by other programs: pyarrow, and DuckDB and polars where
// they are installed.
func TestOthersReadOurFiles(t *testing.T) {
	dir := t.TempDir()
	m := testModel(1100, 3, true)
	c := certified(t, []string{"a", "b", "y"}, waves(600, 1), []int{250, 350}, smallJob()).Certificate
	row, err := sink.CertificateRow(c)
	fatal.If(t, err)
	var predictions bytes.Buffer
	p := sink.NewPredictions(&predictions, "0123")
	fatal.If(t, p.Write([]pipeline.Prediction{{Ordinal: 0, Mean: 0, Deviation: 1}, {Ordinal: 1, Reason: "null"}}))
	fatal.If(t, p.Close())
	for name, data := range map[string][]byte{"model": encode(t, m), "certificate": row, "predictions": predictions.Bytes()} {
		fatal.If(t, os.WriteFile(filepath.Join(dir, name+".parquet"), data, 0o644))
	}
	sum := 0.0
	for i := range 1100 {
		for j := range i + 1 {
			sum += m.Posterior.L[i*1100+j]
		}
	}
	got := verifytest.Script(t, readers, dir)
	lines := strings.Split(got, "\n")
	if len(lines) < 1 {
		t.Fatal("no reader is installed")
	}
	for _, line := range lines {
		var reader, bound, nulls string
		var total float64
		if _, err := fmt.Sscan(line, &reader, &total, &bound, &nulls); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if !(math.Abs(total-sum) <= 1e-9*math.Abs(sum)) || bound != fmt.Sprintf("%.17g", c.Claims[0].Bound) || nulls != "1" {
			t.Errorf("%s reads sum of L %v, bound %s, %s null means; want %v, %.17g, 1", reader, total, bound, nulls, sum, c.Claims[0].Bound)
		}
	}
	t.Log("read by: ", got)
}

const readers = `
import sys
d = sys.argv[1]
import pyarrow.compute as pc, pyarrow.parquet as pq
kw = dict(page_checksum_verification=True)
m = pq.read_table(d + "/model.parquet", **kw)
assert [len(x) for x in m["l"].to_pylist()] == list(range(1, 1101))
assert all(len(x) == 3 for x in m["z"].to_pylist())
print("pyarrow", pc.sum(pc.list_flatten(m["l"])).as_py(),
      "%.17g" % pq.read_table(d + "/certificate.parquet", **kw)["bound"][0].as_py(),
      pq.read_table(d + "/predictions.parquet", **kw)["mean"].null_count)
try:
    import duckdb
    q = lambda s: duckdb.sql(s).fetchall()[0][0]
    print("duckdb", q(f"select sum(list_sum(l)) from '{d}/model.parquet'"),
          "%.17g" % q(f"select bound from '{d}/certificate.parquet'"),
          q(f"select count(*) from '{d}/predictions.parquet' where mean is null"))
except ImportError:
    pass
try:
    import polars as pl
    print("polars", pl.read_parquet(d + "/model.parquet")["l"].explode().sum(),
          "%.17g" % pl.read_parquet(d + "/certificate.parquet")["bound"][0],
          pl.read_parquet(d + "/predictions.parquet")["mean"].null_count())
except ImportError:
    pass
`
