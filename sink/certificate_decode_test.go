package sink_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/sink"
)

// encodedRow is a certificate of a small job, and its row.
func encodedRow(t testing.TB, change func(j *job.Job)) (certify.Certificate, []byte) {
	t.Helper()
	job := smallJob()
	if change != nil {
		change(&job)
	}
	c := certified(t, []string{"a", "b", "y"}, waves(300, 1), []int{100, 200}, job).Certificate
	data, err := sink.CertificateRow(c)
	fatal.If(t, err)
	return c, data
}

func TestCertificateRowReadsBackAsTheCertificate(t *testing.T) {
	for name, change := range map[string]func(j *job.Job){
		"zero-one": nil,
		"band":     func(j *job.Job) { j.Loss = job.LossDecl{Kind: "band", Below: 0.5, Above: 1.25} },
		"relative": func(j *job.Job) { withHoldout(j); j.Loss = job.LossDecl{Kind: "relative"} },
		"unscaled": func(j *job.Job) { j.Loss, j.Scaling = job.LossDecl{Epsilon: 0.4}, job.ScalingNone },
		"held-out": withHoldout,
	} {
		want, data := encodedRow(t, change)
		got, err := sink.DecodeCertificateRow(data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		a, errA := certify.Marshal(want)
		b, errB := certify.Marshal(got)
		if diff := cmp.Diff(string(a), string(b)); diff != "" || errA != nil || errB != nil {
			t.Errorf("%s: %v, %v (-written +read):\n%s", name, errA, errB, diff)
		}
		if !sink.IsCertificateRow(data) {
			t.Errorf("%s: a certificate row does not look like one", name)
		}
	}
	if sink.IsCertificateRow(encode(t, testModel(3, 2, true))) {
		t.Error("a model file is taken for a certificate row")
	}
}

// rowFile writes a row as another program could, and seals it.
func rowFile(t testing.TB, options []parquet.WriterOption, rows ...map[string]any) []byte {
	t.Helper()
	_, good := encodedRow(t, nil)
	f, err := parquet.OpenFile(bytes.NewReader(good), int64(len(good)))
	fatal.If(t, err)
	values := make([]parquet.Row, 1)
	reader := parquet.NewReader(f)
	if n, _ := reader.ReadRows(values); n != 1 {
		t.Fatalf("%d rows", n)
	}
	fatal.If(t, reader.Close())
	var b bytes.Buffer
	w := parquet.NewWriter(&b, append(options, f.Schema(), parquet.KeyValueMetadata("pacsgp-sha256", strings.Repeat("0", 64)))...)
	for _, changes := range rows {
		row := values[0].Clone()
		for name, value := range changes {
			leaf, ok := f.Schema().Lookup(strings.Split(name, ".")...)
			if !ok {
				t.Fatalf("there is no column %q", name)
			}
			level := 0
			if leaf.Node.Optional() && value != nil {
				level = 1
			}
			at := slices.IndexFunc(row, func(v parquet.Value) bool { return v.Column() == leaf.ColumnIndex })
			if row[at].DefinitionLevel() == 1 && !leaf.Node.Optional() { // of a list
				if level = 1; value == nil {
					row = slices.Delete(row, at+1, at+2)
					continue
				}
			}
			row[at] = parquet.ValueOf(value).Level(0, level, leaf.ColumnIndex)
		}
		_, err := w.WriteRows([]parquet.Row{row})
		fatal.If(t, err)
	}
	fatal.If(t, w.Close())
	return resealed(b.Bytes())
}

func TestCertificateRowThatContradictsItsDocumentIsRefused(t *testing.T) {
	c, good := encodedRow(t, nil)
	document, err := certify.Marshal(c)
	fatal.If(t, err)
	compressed := []parquet.WriterOption{parquet.Compression(&parquet.Snappy)}
	if _, err := sink.DecodeCertificateRow(rowFile(t, compressed, map[string]any{})); err != nil {
		t.Errorf("the same row, written otherwise: %v", err)
	}
	for want, changes := range map[string]map[string]any{
		`"draw_bound" is [0.01]`:                {"draw_bound": 0.01},
		`"draw_status" is [vacuous]`:            {"draw_status": certify.StatusVacuous},
		`"below" is [1]`:                        {"below": 1.0},
		`"bound" is [0]`:                        {"bound": 0.0},
		`"claims.list.element.bound" is [0.25 `: {"claims.list.element.bound": 0.25},
		"no values found":                       {"claims.list.element.n": nil},
		`"unit" is [km/h]`:                      {"unit": "km/h"},
		`"training" is [1000000]`:               {"training": int64(1000000)},
		`"certificate" is [0123]`:               {"certificate": "0123"},
		`"warnings" is [7]`:                     {"warnings": int64(7)},
		"canonical":                             {"document": " " + string(document)},
		"unknown field":                         {"document": strings.Replace(string(document), `"kl"`, `"x": 1, "kl"`, 1)},
	} {
		if _, err := sink.DecodeCertificateRow(rowFile(t, nil, changes)); !errors.Is(err, sink.ErrCertificateRow) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for want, data := range map[string][]byte{
		"0 rows":   rowFile(t, nil),
		"2 rows":   rowFile(t, nil, map[string]any{}, map[string]any{}),
		"columns":  encode(t, testModel(3, 2, true)),
		"checksum": bytes.Replace(good, []byte("pacsgp-sha256"), []byte("pacsgp-sha999"), 1),
	} {
		if _, err := sink.DecodeCertificateRow(data); !errors.Is(err, sink.ErrCertificateRow) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestDamagedCertificateRowIsRefused(t *testing.T) {
	_, good := encodedRow(t, nil)
	refusesDamage(t, good, 1000, sink.ErrCertificateRow, func(b []byte) error { _, err := sink.DecodeCertificateRow(b); return err })
}
