package sink_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A lakeRow has the columns of waves, b as an integer, next to one that no job
// uses.
type lakeRow struct {
	Y    float64 `parquet:"y"`
	Note string  `parquet:"note"`
	B    int64   `parquet:"b"`
	A    float64 `parquet:"a"`
}

// published are the files of a job on disk, as another program finds them.
type published struct {
	result                   *pipeline.Result
	model, certificate, data string // paths
}

// lakeWaves are the 900 rows of publish.
func lakeWaves() [][]float64 {
	columns := waves(900, 7)
	for i, b := range columns[1] {
		columns[1][i] = math.Round(b)
	}
	return columns
}

// publish runs a job over 900 rows and writes its artifacts, and the rows
// as a lake of two folders and three row groups.
func publish(t testing.TB, change func(j *job.Job)) published {
	t.Helper()
	j, columns := smallJob(), lakeWaves()
	if change != nil {
		change(&j)
	}
	r := certified(t, []string{"a", "b", "y"}, columns, []int{300, 350, 250}, j)
	dir := t.TempDir()
	document, err := certify.Marshal(r.Certificate)
	fatal.If(t, err)
	p := published{
		result: r, model: filepath.Join(dir, "model.parquet"), data: filepath.Join(dir, "lake"),
		certificate: filepath.Join(dir, "certificate-"+r.ID+".json"),
	}
	writeFile(t, p.model, encode(t, r.Model))
	writeFile(t, p.certificate, document)
	writeFile(t, filepath.Join(p.data, "_SUCCESS"), nil)
	writeFile(t, filepath.Join(p.data, ".hidden.parquet"), []byte("no data"))
	writeFile(t, filepath.Join(p.data, "z.parquet"), lakeFile(t, columns, 650, 900)) // after m=1/, bytewise
	writeFile(t, filepath.Join(p.data, "m=1", "part.parquet"), lakeFile(t, columns, 0, 300, 650))
	return p
}

func writeFile(t testing.TB, name string, data []byte) {
	t.Helper()
	fatal.If(t, os.MkdirAll(filepath.Dir(name), 0o755))
	fatal.If(t, os.WriteFile(name, data, 0o644))
}

// lakeFile is a file of the rows between the given ends, a row group between
// two of them.
func lakeFile(t testing.TB, columns [][]float64, ends ...int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[lakeRow](&b, parquet.Compression(&parquet.Snappy))
	for i := 1; i < len(ends); i++ {
		for row := ends[i-1]; row < ends[i]; row++ {
			if _, err := w.Write([]lakeRow{{A: columns[0][row], B: int64(columns[1][row]), Y: columns[2][row], Note: "n"}}); err != nil {
				t.Fatal(err)
			}
		}
		fatal.If(t, w.Flush())
	}
	fatal.If(t, w.Close())
	return b.Bytes()
}

// withHoldout asks for a guarantee from held-out rows too.
func withHoldout(j *job.Job) {
	j.Guarantees = []certify.MethodID{certify.MethodPACBayes, certify.MethodHoldout}
	j.Split.Holdout = 0.2
}

// heavier returns an empirical risk with a larger sum over the same rows.
func heavier(t testing.TB, r certify.RiskSum, units int64) certify.RiskSum {
	t.Helper()
	var form struct {
		N   int64  `json:"n"`
		Sum string `json:"sum"`
	}
	document, err := json.Marshal(r)
	fatal.If(t, err)
	fatal.If(t, json.Unmarshal(document, &form))
	sum, ok := new(big.Int).SetString(form.Sum, 16)
	if !ok {
		t.Fatalf("risk sum %s", document)
	}
	form.Sum = fmt.Sprintf("%032x", sum.Add(sum, big.NewInt(units)))
	document, err = json.Marshal(form)
	fatal.If(t, err)
	fatal.If(t, json.Unmarshal(document, &r))
	return r
}
