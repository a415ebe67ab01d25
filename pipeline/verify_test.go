package pipeline_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

func TestVerifyAcceptsTheHonestArtifact(t *testing.T) {
	for name, change := range map[string]func(*job.Job){
		"prior scaling":                 func(*job.Job) {},
		"peaked grid":                   func(j *job.Job) { j.Grid.Prior = "peaked" },
		"no scaling":                    unscaled,
		"relative loss":                 func(j *job.Job) { j.Loss = job.LossDecl{Kind: "relative"} },
		"relative zero-one loss":        func(j *job.Job) { j.Loss = job.LossDecl{Kind: "relative-zero-one", Epsilon: 0.1} },
		"band loss":                     func(j *job.Job) { j.Loss = job.LossDecl{Kind: "band", Below: 0.3, Above: 0.5} },
		"isotropic kernel":              func(j *job.Job) { j.Kernel.Isotropic = true },
		"methods by the number of rows": func(j *job.Job) { j.Guarantees = nil },
		"held-out rows":                 withHoldout(0.2),
	} {
		t.Run(name, func(t *testing.T) {
			p := publish(t, newLake(waves(300, 0.2, 4), 140, 160), func(j *job.Job) { tiny(j); change(j) })
			parsed, err := certify.Parse(p.document)
			fatal.If(t, err)
			for _, rows := range []*lake{nil, p.lake} {
				v, err := p.verify(t, parsed, p.result.Model, p.result.ArtifactRef.Model, rows)
				fatal.If(t, err)
				if v.Evidence != (rows != nil) || len(v.Checked) == 0 {
					t.Errorf("with rows %v: evidence checked %v, %q", rows != nil, v.Evidence, v.Checked)
				}
			}
		})
	}
}

// Rows that change between two readings are detected, whatever the later one is for.
func TestVerifyComparesTheSampleAtEachReading(t *testing.T) {
	columns := waves(150, 0.2, 4)
	l := &lake{names: []string{"a", "b", "c", "y"}, columns: [][]float64{columns[0], columns[1], make([]float64, 150), columns[2]}, shards: []int{150}}
	p := publish(t, l, func(j *job.Job) { tiny(j); j.Grid.Prior = "peaked" })
	for changed := range 4 { // the last pass, the features, the peaks; there is no fourth reading
		readings, value := 0, columns[2][trainingRow]
		open := func(ctx context.Context, want dataset.Choice) (dataset.Source, error) {
			src, err := l.open(ctx, want.Features)
			return &faulty{Source: src, batch: -1, seen: func(_, batch int) {
				if batch == 0 {
					if readings++; readings == changed+1 {
						columns[2][trainingRow] = value + 1e-9
					}
				}
			}}, err
		}
		_, err := pipeline.Verify(t.Context(), p.certificate, p.result.Model, p.result.ArtifactRef.Model, open, job.Resources{Memory: 1}) // so that no reading is kept
		columns[2][trainingRow] = value
		if want := [...]error{job.ErrRefused, job.ErrChanged, job.ErrChanged, nil}[changed]; !errors.Is(err, want) {
			t.Errorf("a change at reading %d of %d: %v, want %v", changed+1, readings, err, want)
		}
	}
}

// unscaled is a job without prior rows.
func unscaled(j *job.Job) {
	j.Loss, j.Scaling = job.LossDecl{Epsilon: 0.4}, job.ScalingNone
}

// A scalar is a number, string or truth value of a JSON document.
type scalar struct {
	path     string
	from, to int // bytes
	value    any // json.Number, string or bool
}

// scalars walks through a document.
func scalars(t *testing.T, doc []byte) []scalar {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	var found []scalar
	next := func() (json.Token, int) {
		from := int(dec.InputOffset())
		token, err := dec.Token()
		fatal.If(t, err)
		return token, from + bytes.IndexFunc(doc[from:], func(r rune) bool { return !strings.ContainsRune(" \n\t:,", r) })
	}
	var walk func(path string)
	walk = func(path string) {
		token, from := next()
		delim, ok := token.(json.Delim)
		if !ok {
			found = append(found, scalar{path, from, int(dec.InputOffset()), token})
			return
		}
		for i := 0; dec.More(); i++ {
			if delim == '[' {
				walk(fmt.Sprintf("%s[%d]", path, i))
				continue
			}
			key, _ := next()
			walk(fmt.Sprintf("%s.%s", path, key))
		}
		next()
	}
	walk("")
	return found
}

// falsified returns other values of the same kind, as JSON.
func (s scalar) falsified(t *testing.T) [][]byte {
	t.Helper()
	var values []any
	switch v := s.value.(type) {
	case bool:
		values = append(values, !v)
	case json.Number:
		if i, err := strconv.ParseInt(v.String(), 10, 64); err == nil && i < 1<<53 {
			values = append(values, i+1, i-1, -i, 3*i+7)
			break
		}
		x, err := v.Float64()
		fatal.If(t, err)
		values = append(values, math.Nextafter(x, 0), math.Nextafter(x, math.MaxFloat64), 1.001*x, x/3, -x, 0)
	case string:
		values = append(values, v+" ", "", "x"+v)
		for i, r := range v {
			if '0' <= r && r <= '9' { // every digit of every number in words and digests
				values = append(values, v[:i]+string('0'+(r-'0'+1)%10)+v[i+1:])
			}
		}
		if len(v) > 3 {
			values = append(values, v[:len(v)/2], strings.ToUpper(v))
		}
	}
	var out [][]byte
	for _, v := range values {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		fatal.If(t, enc.Encode(v))
		out = append(out, bytes.TrimSpace(b.Bytes()))
	}
	return out
}

// No number or word of a certificate can be changed, wherever it stands.
// Exempt is what cannot be checked: the name of the software, how it trained and the count of
// attempts, which nothing can be held against. Only the certificate's id covers
// these.
func TestVerifyRefusesEveryChangeOfTheCertificate(t *testing.T) {
	p := publish(t, newLake(waves(80, 0.2, 5), 30, 50), func(j *job.Job) { tiny(j); j.Loss.Unit = "volts" })
	changes, refused := 0, map[bool]int{}
	for _, s := range scalars(t, p.document) {
		for _, value := range s.falsified(t) {
			doc := slices.Concat(p.document[:s.from], value, p.document[s.to:])
			if bytes.Equal(doc, p.document) {
				continue
			}
			changes++
			c, err := certify.Parse(doc)
			if err != nil {
				refused[false]++
				continue
			}
			_, err = p.verify(t, c, p.result.Model, p.result.ArtifactRef.Model, p.lake)
			switch {
			case errors.Is(err, job.ErrRefused):
				refused[true]++
				if reason := strings.TrimPrefix(err.Error(), job.ErrRefused.Error()+": "); len(reason) < 20 {
					t.Errorf("%s = %s: refused for no reason: %q", s.path, value, err)
				}
			case err != nil:
				t.Errorf("%s = %s: %v, want a refusal", s.path, value, err)
			case strings.HasPrefix(s.path, ".publisher."):
			default:
				t.Errorf("%s = %s was %v: accepted", s.path, value, s.value)
			}
		}
	}
	if refused[true] < 200 {
		t.Errorf("%d changes, %d do not parse and %d are refused: want 200 at the least that get as far as Verify", changes, refused[false], refused[true])
	}
	t.Logf("%d changes: %d do not parse, %d are refused", changes, refused[false], refused[true])
}

// A forger who certifies changed evidence again gets a document without a
// contradiction. The rows and the model contradict it.
func TestVerifyRefusesForgedEvidence(t *testing.T) {
	p := publish(t, newLake(waves(200, 0.2, 6), 90, 110), func(j *job.Job) { tiny(j) })
	lossless := func(n int64) (s certify.RiskSum) {
		for range n {
			fatal.If(t, s.Add(0.001))
		}
		return s
	}
	configure := func(ev *certify.Evidence, change func(*job.Job)) {
		var j job.Job
		fatal.If(t, json.Unmarshal(ev.Job.Values, &j))
		change(&j)
		values, err := json.Marshal(j)
		fatal.If(t, err)
		ev.Job, err = certify.State(values)
		fatal.If(t, err)
	}
	for _, f := range []struct {
		name    string
		change  func(*certify.Evidence)
		onFiles bool // whether model and certificate alone give it away
	}{
		{"delta", func(ev *certify.Evidence) { ev.Delta.Declared = 0.5 }, true},
		{"delta with its configuration", func(ev *certify.Evidence) {
			ev.Delta.Declared = 0.5
			configure(ev, func(j *job.Job) { j.Delta = 0.5; j.Loss.EpsilonStd = 9 })
		}, true},
		{"risk", func(ev *certify.Evidence) {
			ev.LossSums.At(certify.PredictorDraw, certify.SubsetTraining).Risk = lossless(ev.LossSums.At(certify.PredictorDraw, certify.SubsetTraining).Risk.Count())
		}, false},
		{"a unit of the risk", func(ev *certify.Evidence) {
			draw := ev.LossSums.At(certify.PredictorDraw, certify.SubsetTraining)
			draw.Risk = shifted(t, draw.Risk, -1)
		}, false},
		{"a unit of the constant's", func(ev *certify.Evidence) { ev.Constant.Risk = shifted(t, ev.Constant.Risk, -1) }, false},
		{"risk of the constant", func(ev *certify.Evidence) {
			ev.Constant.Risk = lossless(ev.LossSums.At(certify.PredictorDraw, certify.SubsetTraining).Risk.Count())
		}, false},
		{"the constant", func(ev *certify.Evidence) { ev.Constant.Value += 3 }, false},
		{"KL", func(ev *certify.Evidence) { ev.Model.KL *= 0.999999 }, true},
		{"epsilon", func(ev *certify.Evidence) { ev.Loss.Epsilon *= 2 }, true},
		{"loss", func(ev *certify.Evidence) { ev.Loss.Kind = certify.LossSquared }, true},
		{"unit", func(ev *certify.Evidence) { ev.Loss.Unit = "miles" }, true},
		{"theta's index", func(ev *certify.Evidence) { ev.Model.Theta[0].Index++ }, true},
		{"theta's grid", func(ev *certify.Evidence) {
			for i := range ev.Model.Theta {
				g := &ev.Model.Theta[i].Grid
				*g = certify.Grid{Min: g.Value(ev.Model.Theta[i].Index), Step: 1, Count: 1, Prior: certify.PriorFlat}
				ev.Model.Theta[i].Index = 0
			}
		}, true},
		{"the split's key with its configuration", func(ev *certify.Evidence) {
			configure(ev, func(j *job.Job) { j.Split.Key = "better" })
		}, false},
		{"counts", func(ev *certify.Evidence) {
			ev.Counts.Prior--
			ev.Counts.Training++
			ev.LossSums.At(certify.PredictorDraw, certify.SubsetTraining).Risk, ev.Constant.Risk = lossless(ev.Counts.Training), lossless(ev.Counts.Training)
		}, true},
		{"sample's digest", func(ev *certify.Evidence) { ev.Sample.Digest = strings.Repeat("0", 64) }, false},
		{"shards", func(ev *certify.Evidence) { ev.Sample.Shards++ }, false},
		{"columns", func(ev *certify.Evidence) { ev.Sample.Columns[0], ev.Model.Theta[0].Name = "c", "ln lengthscale of c" }, true},
		{"accuracy", func(ev *certify.Evidence) { ev.Model.Accuracy /= 2 }, true},
		{"unproven rows", func(ev *certify.Evidence) { ev.LossSums.At(certify.PredictorDraw, certify.SubsetTraining).Unproven++ }, false},
		{"likeness of targets", func(ev *certify.Evidence) {
			ev.Dependence.Products[2]++
		}, false},
		{"model", func(ev *certify.Evidence) { ev.Model.Digest = strings.Repeat("0", 64) }, true},
		{"jitter's bound", func(ev *certify.Evidence) { ev.Model.Jitter.Holds = false }, true},
		{"jitter's limit", func(ev *certify.Evidence) { ev.Model.Jitter.Limit *= 2 }, true},
		{"configured grid", func(ev *certify.Evidence) { configure(ev, func(j *job.Job) { j.Grid.Max = 5 }) }, true},
		{"configured target", func(ev *certify.Evidence) { configure(ev, func(j *job.Job) { j.Target = "z" }) }, true},
		{"configured scaling", func(ev *certify.Evidence) { configure(ev, unscaled) }, true},
	} {
		t.Run(f.name, func(t *testing.T) {
			c := forge(t, p.certificate, func(ev *certify.Evidence) {
				ev.Model.Theta, ev.Sample.Columns = slices.Clone(ev.Model.Theta), slices.Clone(ev.Sample.Columns)
				f.change(ev)
			})
			p.refused(t, "with the rows", c, p.result.Model, p.result.ArtifactRef.Model, p.lake)
			_, err := p.verify(t, c, p.result.Model, p.result.ArtifactRef.Model, nil)
			if errors.Is(err, job.ErrRefused) != f.onFiles || (err == nil) == f.onFiles {
				t.Errorf("without the rows: error %v, want a refusal: %v", err, f.onFiles)
			}
		})
	}
}

// shifted is a sum of losses with some units more, or less.
func shifted(t *testing.T, s certify.RiskSum, units int64) certify.RiskSum {
	t.Helper()
	doc, err := json.Marshal(s)
	fatal.If(t, err)
	var form struct {
		N   int64  `json:"n"`
		Sum string `json:"sum"`
	}
	fatal.If(t, json.Unmarshal(doc, &form))
	sum, ok := new(big.Int).SetString(form.Sum, 16)
	if !ok {
		t.Fatalf("sum %q is no hexadecimal number", form.Sum)
	}
	form.Sum = fmt.Sprintf("%032x", sum.Add(sum, big.NewInt(units)))
	doc, err = json.Marshal(form)
	fatal.If(t, err)
	fatal.If(t, json.Unmarshal(doc, &s))
	return s
}

// Every used value of every row counts, to its last bit; others do not.
func TestVerifyRefusesEveryChangeOfTheRows(t *testing.T) {
	columns := waves(40, 0.2, 7)
	columns[1] = make([]float64, 40) // constant: left out of the model
	p := publish(t, newLake(columns, 15, 25), tiny)
	if got := p.certificate.Sample.Columns; !slices.Equal(got, []string{"a", "y"}) {
		t.Fatalf("certified columns are %q, want a and y", got)
	}
	for c, column := range columns {
		for i, old := range column {
			column[i] = math.Nextafter(old, 1)
			_, err := p.verify(t, p.certificate, p.result.Model, p.result.ArtifactRef.Model, p.lake)
			column[i] = old
			if c == 1 && errors.Is(err, job.ErrData) { // a difference among the prior rows that cannot be scaled
				continue
			}
			if used := c != 1; errors.Is(err, job.ErrRefused) != used || (err == nil) == used {
				t.Fatalf("row %d, column %d changed by one bit: error %v", i, c, err)
			}
		}
	}
	for name, other := range map[string]*lake{
		"other row groups": newLake(columns, 16, 24),
		"one row less":     newLake([][]float64{columns[0][:39], columns[1][:39], columns[2][:39]}, 15, 24),
	} {
		p.refused(t, name, p.certificate, p.result.Model, p.result.ArtifactRef.Model, other)
	}
}

// Every number of the model counts: another file has another digest, and if the
// certificate is forged to name that one, rows and numbers contradict it.
func TestVerifyRefusesEveryChangeOfTheModel(t *testing.T) {
	p := publish(t, newLake(waves(60, 0.2, 8)), func(j *job.Job) { j.Inducing, j.Train.Passes = []int{3}, 2 })
	read := func() pass.Model {
		m, err := p.store.GetModel(t.Context(), p.result.ArtifactRef.Model)
		fatal.If(t, err)
		return m
	}
	numbers := func(m *pass.Model) map[string][]*float64 {
		q := m.Posterior
		all := map[string][]*float64{
			"jitter": {&q.Jitter, &m.Meta.Jitter}, "variance": {&q.Kernel.Variance, &m.Meta.Variance},
			"target's centre": {&m.Meta.Target.Centre}, "target's scale": {&m.Meta.Target.Scale}, "epsilon": {&m.Meta.Loss.Epsilon},
		}
		for i := range m.Meta.Features {
			all[fmt.Sprint("centre ", i)] = []*float64{&m.Meta.Features[i].Centre}
			all[fmt.Sprint("scale ", i)] = []*float64{&m.Meta.Features[i].Scale}
			all[fmt.Sprint("lengthscale ", i)] = []*float64{&m.Meta.Lengthscales[i], &q.Kernel.Lengthscales[i]}
			all[fmt.Sprint("description's lengthscale ", i)] = []*float64{&m.Meta.Lengthscales[i]}
		}
		for name, part := range map[string][]float64{"Z": q.Z, "mean": q.Mean, "L": q.L, "factor": q.Factor} {
			for i := range part {
				all[fmt.Sprint(name, " ", i)] = []*float64{&part[i]}
			}
		}
		return all
	}
	honest := read()
	for name := range numbers(&honest) {
		for _, change := range []func(float64) float64{
			func(x float64) float64 { return math.Nextafter(x, 9) },
			func(x float64) float64 { return 1.01*x + 0.001 },
		} {
			m := read()
			for _, x := range numbers(&m)[name] {
				*x = change(*x)
			}
			digest, err := p.store.PutModel(t.Context(), m)
			fatal.If(t, err)
			if _, err := p.verify(t, p.certificate, m, digest, nil); !errors.Is(err, job.ErrRefused) || !strings.Contains(err.Error(), digest) {
				t.Errorf("%s: error %v, want a refusal that names the digest %s", name, err, digest)
			}
		}
		m := read()
		for _, x := range numbers(&m)[name] {
			*x = 1.01**x + 0.001
		}
		digest, err := p.store.PutModel(t.Context(), m)
		fatal.If(t, err)
		c := forge(t, p.certificate, func(ev *certify.Evidence) { ev.Model.Digest = digest })
		if _, err := p.verify(t, c, m, digest, p.lake); err == nil {
			t.Errorf("%s is changed by 1 %%, and the certificate names that model: accepted", name)
		}
	}
}

// The peak of a peaked prior has to stand where the prior rows put it.
func TestVerifyRefusesAMovedPeak(t *testing.T) {
	p := publish(t, newLake(waves(200, 0.2, 9)), func(j *job.Job) { tiny(j); j.Grid.Prior = "peaked" })
	c := forge(t, p.certificate, func(ev *certify.Evidence) {
		for i := range ev.Model.Theta {
			ev.Model.Theta[i].Grid.Centre += 3
		}
	})
	m := p.result.Model
	m.Meta.Theta = evidence(c).Model.Theta
	if _, err := p.verify(t, c, m, p.result.ArtifactRef.Model, nil); err != nil {
		t.Fatalf("without rows nothing is wrong with it, but: %v", err)
	}
	if _, err := p.verify(t, c, m, p.result.ArtifactRef.Model, p.lake); !errors.Is(err, job.ErrRefused) || !strings.Contains(err.Error(), "peak") {
		t.Errorf("error %v, want a refusal because of the peak", err)
	}
}

// A check reads rows that fit into its memory once, and more than that in each of its passes.
func TestVerifyReadsTheRowsOnce(t *testing.T) {
	p := publish(t, newLake(waves(300, 0.2, 7), 150, 150), tiny)
	for memory, want := range map[int64]bool{1 << 20: true, 1: false} {
		var opened int
		_, err := pipeline.Verify(t.Context(), p.certificate, p.result.Model, p.result.ArtifactRef.Model, func(ctx context.Context, c dataset.Choice) (dataset.Source, error) {
			src, err := p.lake.open(ctx, c.Features)
			return counting{src.(dataset.Opened), &opened}, err
		}, job.Resources{Workers: 1, Memory: memory})
		fatal.If(t, err)
		if once := opened == 2; once != want {
			t.Errorf("with %d bytes of memory the two shards are opened %d times", memory, opened)
		}
	}
}

// counting counts how often shards are opened.
type counting struct {
	dataset.Opened
	opened *int
}

func (s counting) Open(ctx context.Context, i int) (dataset.Batches, error) {
	*s.opened++
	return s.Opened.Open(ctx, i)
}
