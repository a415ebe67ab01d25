package sink_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/verifytest"
)

// Both programs derive encoded models, and refuse the same forged ones.
func TestPythonVerifiesEncodings(t *testing.T) {
	verifytest.Need(t)
	columns := lakeWaves()
	for i, b := range columns[1] {
		columns[1][i] = math.Mod(b, 4)
	}
	on := func(rows [][]float64, e pipeline.Encoding, change func(*pipeline.Job)) published {
		return publishRows(t, rows, func(j *pipeline.Job) {
			change(j)
			e.Column = "b"
			j.Encode = append(j.Encode, e)
		})
	}
	of := func(e pipeline.Encoding, change func(*pipeline.Job)) published { return on(columns, e, change) }
	declared := of(pipeline.Encoding{OneHot: []float64{1, 2}}, func(j *pipeline.Job) { j.Kernel.Isotropic = true })
	open := of(pipeline.Encoding{}, func(j *pipeline.Job) { withHoldout(j); j.Grid.Prior = certify.PriorPeaked })
	cyclic := of(pipeline.Encoding{Cyclic: []float64{4}}, func(j *pipeline.Job) {
		j.Encode = pipeline.Encodings{{Column: "a", Cyclic: []float64{1.5, 7}}}
		withHoldout(j)
	})
	unscaled := of(pipeline.Encoding{OneHot: []float64{0, 1, 2, 3}}, func(j *pipeline.Job) {
		declareScaling(j)
		delete(j.Scaling.Features, "b")
	})
	gaps := append([][]float64{slices.Clone(columns[0])}, columns[1:]...) // in a
	for i := 0; i < len(gaps[0]); i += 5 {
		gaps[0][i] = math.NaN()
	}
	half := 0.5
	median := on(gaps, pipeline.Encoding{OneHot: []float64{1, 2}}, func(j *pipeline.Job) {
		withHoldout(j)
		j.Grid.Prior, j.Copies = certify.PriorPeaked, pipeline.CopiesDecl{Policy: pipeline.CopiesDropped}
		j.Encode = pipeline.Encodings{{Column: "a", Scaled: true, Fill: &pipeline.Fill{Flag: true}}}
	})
	number := on(gaps, pipeline.Encoding{Cyclic: []float64{4}, Fill: &pipeline.Fill{With: &half}}, func(j *pipeline.Job) {
		j.Encode = pipeline.Encodings{{Column: "a", Scaled: true, Fill: &pipeline.Fill{With: &half}}}
		withHoldout(j)
	})
	var all []forgery
	for name, p := range map[string]published{"declared": declared, "open": open, "cyclic": cyclic, "unscaled": unscaled, "median": median, "number": number} {
		all = append(all, forgery{name, "", []string{"verify", p.model, p.certificate, p.data}})
	}
	all = append(all, forgery{"open, without rows", "", []string{"verify", open.model, open.certificate}}, forgery{"median, without rows", "", []string{"verify", median.model, median.certificate}})
	model := func(name, want string, p published, from, to string) {
		file := rewrite(t, encode(t, p.result.Model), func(rows []fileRow, metadata string) ([]fileRow, string) {
			changed := strings.Replace(metadata, from, to, 1)
			if changed == metadata {
				t.Errorf("%s: %q does not stand in the metadata", name, from)
			}
			return rows, changed
		})
		document, err := os.ReadFile(p.certificate)
		fatal.If(t, err)
		sum := sha256.Sum256(file)
		all = append(all, forgery{name, want, handed(t, p, file, everywhere(t, document, p.result.ModelDigest, hex.EncodeToString(sum[:])))})
	}
	model("another level than the job's", "encode", declared, `"one_hot":[1,2]`, `"one_hot":[1,3]`)
	model("a level twice", "out of order", declared, `"one_hot":[1,2]`, `"one_hot":[1,1]`)
	model("a level for two", "another length", declared, `"one_hot":[1,2]`, `"one_hot":[1]`)
	model("an encoding of another column", "encode", declared, `"encode":[{"column":"b"`, `"encode":[{"column":"a"`)
	model("an encoding of no column", "none of its features", declared, `"encode":[{"column":"b"`, `"encode":[{"column":"c"`)
	model("no encoding", "another length", declared, `"encode":[{"column":"b","one_hot":[1,2]}],`, ``)
	model("a level that no reference row has", "encode", open, `"one_hot":[0,`, `"one_hot":[-1,`)
	model("another period", "encode", cyclic, `"cyclic":[4]`, `"cyclic":[5]`)
	model("a scale of an encoded feature", "scale is", unscaled, `{"name":"b","centre":0,"scale":1}`, `{"name":"b","centre":0,"scale":2}`)
	model("another number for missing values", "encode", number, `"fill":{"with":0.5}}`, `"fill":{"with":0.25}}`)
	with := fmt.Sprintf(`"fill":{"with":%v`, *median.result.Model.Meta.Encode[0].Fill.With)
	model("another median", "encode", median, with, `"fill":{"with":0.125`)
	model("no number for missing values", "out of order", median, with+",", `"fill":{`)
	model("no flag", "another length", median, `,"flag":true`, ``)
	model("a flag more", "another length", number, `{"with":0.5}}`, `{"with":0.5,"flag":true}}`)
	model("no fill", "encode", number, `{"column":"a","scaled":true,"fill":{"with":0.5}},`, ``)
	model("nothing to fill", "out of order", number, `"scaled":true,"fill":{"with":0.5}`, `"scaled":true`)
	job := func(name, from, to string) {
		all = append(all, forgery{name, "configuration", forged(t, declared, declared.result.Model, func(ev *certify.Evidence) {
			changed := bytes.Replace(ev.Configuration, []byte(from), []byte(to), 1)
			if bytes.Equal(changed, ev.Configuration) {
				t.Errorf("%s: %q does not stand in the job", name, from)
			}
			ev.Configuration = changed
		})})
	}
	job("two encodings of one column", `[{"column":"b","one_hot":[1,2]}]`, `[{"column":"b","one_hot":[1,2]},{"column":"b","one_hot":[1,2]}]`)
	job("a median of levels", `"one_hot":[1,2]`, `"one_hot":[1,2],"fill":{}`)
	job("two forms", `"one_hot":[1,2]`, `"one_hot":[1,2],"scaled":true`)
	job("levels out of order", `[1,2]`, `[2,1]`)
	job("an encoding of the target", `[{"column":"b"`, `[{"column":"y"`)
	job("texts of other levels", `"one_hot":[1,2]`, `"one_hot":[1,2],"texts":["AA","WN"]`)
	var calls [][]string
	for _, f := range all {
		calls = append(calls, f.args)
	}
	for i, r := range verifytest.Verify(t, calls) {
		f := all[i]
		_, reason, refused := strings.Cut(r.Out, "REFUSED")
		if err := goVerifies(t, f.args); refused != (f.want != "") || (err != nil) != refused || !strings.Contains(reason, f.want) {
			t.Errorf("%s: this program says %v, Python with status %d: %s", f.name, err, r.Status, r.Out)
		}
	}
}
