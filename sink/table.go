package sink

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// A tableRow is one inducing point in a model file: its coordinates; its whitened mean under Q; its
// rows of L and of the factor of S, up to the diagonal; its weight in predictions; and its row of
// the factor of B⁻¹, the covariance of these weights.
type tableRow struct {
	Z      []float64 `parquet:"z,list"`
	Mean   float64   `parquet:"mean"`
	L      []float64 `parquet:"l,list"`
	S      []float64 `parquet:"s,list"`
	Weight float64   `parquet:"weight"`
	B      []float64 `parquet:"b,list"`
}

// tableRowOf returns the row of inducing point i. Its slices share the memory of the model.
func tableRowOf(from pass.Model, i int) tableRow {
	p, q := from.Posterior, from.Predictive
	m, d := len(p.Mean), len(p.Z)/len(p.Mean)
	return tableRow{p.Z[i*d : (i+1)*d], p.Mean[i], p.L[i*m : i*m+i+1], p.Factor[i*m : i*m+i+1], q.Mean[i], q.Factor[i*m : i*m+i+1]}
}

// tableBytes returns how many bytes the numbers of m inducing points in d dimensions need.
func tableBytes(m, d int) int64 {
	rows := int64(m)
	return 8 * (rows*int64(d) + 2*rows + 3*rows*(rows+1)/2)
}

const (
	// groupValues is how many values close a row group, to bound the writer's buffers. Values are
	// counted, not bytes, so that the file depends on the model alone.
	groupValues = 1 << 20
	// pageBytes is the size in bytes at which a page is closed.
	pageBytes = 1 << 20
)

// writeTable writes a model file, neither compressed nor encoded: its numbers do not compress, and
// so the size of the file bounds the size of the table. Each page has its CRC.
func writeTable(w io.Writer, metadata string, m pass.Model) error {
	pw := parquet.NewGenericWriter[tableRow](w,
		parquet.CreatedBy("pacsgp", "1", ""),
		parquet.Compression(&parquet.Uncompressed),
		parquet.DataPageVersion(1),
		parquet.DataPageStatistics(false),
		parquet.PageBufferSize(pageBytes),
		parquet.KeyValueMetadata(metadataKey, metadata),
		parquet.KeyValueMetadata(sealKey, strings.Repeat("0", sealDigits)),
	)
	buffered := 0
	for i := range m.Posterior.Mean {
		row := tableRowOf(m, i)
		if _, err := pw.Write([]tableRow{row}); err != nil {
			return err
		}
		if buffered += len(row.Z) + 2 + len(row.L) + len(row.S) + len(row.B); buffered >= groupValues {
			buffered = 0
			if err := pw.Flush(); err != nil {
				return err
			}
		}
	}
	return pw.Close()
}

// readTable reads the numbers of a model file in d dimensions. The caller has checked the number of
// inducing points, d and tableBytes against the size of the file.
func readTable(f *tableFile, meta pass.ModelMeta, d int) (pass.Model, error) {
	m, none := meta.Inducing, pass.Model{}
	if f.meta.Rows != int64(m) {
		return none, fmt.Errorf("it has %d rows, and its metadata says %d inducing points", f.meta.Rows, m)
	}
	p := &model.Posterior{Z: make([]float64, m*d), Mean: make([]float64, m), L: make([]float64, m*m), Factor: make([]float64, m*m)}
	q := &model.Posterior{Z: p.Z, Mean: make([]float64, m), L: p.L, Factor: make([]float64, m*m)}
	found := pass.Model{Meta: meta, Posterior: p, Predictive: q}
	at := 0
	err := eachRow(f, func(row tableRow) error {
		to := tableRowOf(found, at)
		for _, list := range []struct {
			name      string
			to, found []float64
		}{{"z", to.Z, row.Z}, {"mean", p.Mean[at : at+1], []float64{row.Mean}}, {"l", to.L, row.L}, {"s", to.S, row.S}, {"weight", q.Mean[at : at+1], []float64{row.Weight}}, {"b", to.B, row.B}} {
			if len(list.found) != len(list.to) {
				return fmt.Errorf("column %s: row %d has %d values, want %d", list.name, at, len(list.found), len(list.to))
			}
			if i := slices.IndexFunc(list.found, func(v float64) bool { return !finite(v) }); i >= 0 {
				return fmt.Errorf("column %s: row %d: %v is no finite number", list.name, at, list.found[i])
			}
			copy(list.to, list.found)
		}
		at++
		return nil
	})
	if err != nil {
		return none, err
	}
	triangle := int64(m) * int64(m+1) / 2
	if at != m || !slices.Equal(f.values, []int64{int64(m) * int64(d), int64(m), triangle, triangle, int64(m), triangle}) {
		return none, errors.New("its columns have more values than its rows")
	}
	return found, nil
}
