package sink_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
	"github.com/pacsgp/pacsgp/sink"
	"github.com/pacsgp/pacsgp/sink/verifytest"
)

func TestPythonVerifiesWhatGoCertified(t *testing.T) {
	verifytest.Need(t)
	var names []string
	var calls [][]string
	conditional, byWord := map[string]bool{}, map[string]bool{}
	for name, change := range map[string]func(j *pipeline.Job){
		"zero-one":    nil,
		"raw epsilon": func(j *pipeline.Job) { j.Loss = pipeline.LossDecl{Epsilon: 0.75} },
		"band":        func(j *pipeline.Job) { j.Loss = pipeline.LossDecl{Kind: "band", Below: 0.5, Above: 1.25} },
		"squared":     func(j *pipeline.Job) { j.Loss.Kind = "squared" },
		"exponential": func(j *pipeline.Job) { j.Loss.Kind = "exponential" },
		"relative":    func(j *pipeline.Job) { j.Loss = pipeline.LossDecl{Kind: "relative"} },
		"isotropic":   func(j *pipeline.Job) { j.Kernel.Isotropic = true },
		"Matérn 3/2":  func(j *pipeline.Job) { j.Kernel.Family = []string{certify.KernelMatern32} },
		"isotropic Matérn 5/2": func(j *pipeline.Job) {
			j.Kernel = pipeline.KernelDecl{Family: []string{certify.KernelMatern52}, Isotropic: true}
		},
		"all families, peaked prior": func(j *pipeline.Job) {
			j.Kernel.Family = []string{certify.KernelMatern52, certify.KernelSquaredExponential, certify.KernelMatern32}
			j.Grid.Prior, j.Inducing, j.Train.Passes = certify.PriorPeaked, []int{5, 20}, 10
		},
		"sweep of kernels": func(j *pipeline.Job) {
			j.Inducing, j.Train.Passes = []int{5}, 2
			j.Sweep = []pipeline.Alternative{
				{Kernel: pipeline.KernelChange{Family: []string{certify.KernelMatern32, certify.KernelMatern52}}},
				{Kernel: pipeline.KernelChange{Isotropic: new(true)}},
			}
		},
		"peaked prior, Matérn 3/2": func(j *pipeline.Job) {
			j.Kernel.Family, j.Grid.Prior = []string{certify.KernelMatern32}, certify.PriorPeaked
		},
		"peaked prior": func(j *pipeline.Job) {
			j.Grid.Prior = certify.PriorPeaked
			j.Roles.Key = "another key <&> ü"
		},
		"sweep": func(j *pipeline.Job) {
			j.Inducing, j.Train.Passes = []int{5}, 2
			j.Sweep = []pipeline.Alternative{{Inducing: []int{3}, Train: pipeline.TrainChange{Passes: 1.5, Seed: new(uint64)}}, {Loss: pipeline.Tolerance{Epsilon: 2.5}, Exclude: []string{"note"}, Kernel: pipeline.KernelChange{Isotropic: new(true)}}}
		},
		"roles by position": func(j *pipeline.Job) {
			j.Roles = pipeline.RolesDecl{By: pipeline.RolesByPosition, Reference: 90, Holdout: 0.3}
			j.Guarantees = []certify.MethodWeight{{ID: certify.MethodPACBayes, Weight: 1}, {ID: certify.MethodHoldout, Weight: 1}}
		},
		"while rows arrive": func(j *pipeline.Job) {
			j.Roles = pipeline.RolesDecl{By: pipeline.RolesByPosition, Reference: 90}
			j.Train.Mode, j.Train.Rows = pipeline.TrainArrival, 800
		},
		"kl-PAC-SGP, free alpha": func(j *pipeline.Job) {
			j.Train = pipeline.TrainDecl{Method: pipeline.MethodKLPACSGP, Alpha: new(0.5), FreeAlpha: true, Evaluations: 5, Noise: []float64{0.2, 1}}
		},
		"VFE, alpha 1": func(j *pipeline.Job) {
			j.Train = pipeline.TrainDecl{Method: pipeline.MethodVFE, Alpha: new(1.0), Evaluations: 5}
		},
		"full-GP": func(j *pipeline.Job) {
			j.Inducing, j.Train = nil, pipeline.TrainDecl{Method: pipeline.MethodFullGP, Evaluations: 3}
		},
		"of a sequence":     func(j *pipeline.Job) { j.DeltaPolicy = certify.DeltaSequence },
		"by itself":         func(j *pipeline.Job) { withHoldout(j); j.DeltaPolicy = certify.DeltaEach },
		"declared scaling":  declareScaling,
		"all-rows scaling":  func(j *pipeline.Job) { j.Scaling.Mode = pipeline.ScalingAllRows },
		"hold-out":          withHoldout,
		"hold-out by word":  func(j *pipeline.Job) { withHoldout(j); j.Loss = pipeline.LossDecl{Epsilon: 4} },
		"hold-out, squared": func(j *pipeline.Job) { withHoldout(j); j.Loss.Kind = "squared" },
		"betting": func(j *pipeline.Job) {
			withHoldout(j)
			j.Loss.Kind = "exponential"
		},
		"betting, relative":  func(j *pipeline.Job) { withHoldout(j); j.Loss = pipeline.LossDecl{Kind: "relative"} },
		"hold-out, hurried":  func(j *pipeline.Job) { withHoldout(j); j.Train.Time = 1 },
		"column of the mean": withMean,
		"mean, outside":      func(j *pipeline.Job) { withMean(j); j.Roles.Outside, j.Grid.Prior = 0.3, certify.PriorPeaked },
		"mean, all-rows":     func(j *pipeline.Job) { withMean(j); j.Scaling.Mode = pipeline.ScalingAllRows },
		"mean, outside, later": func(j *pipeline.Job) {
			withMean(j)
			j.Roles = pipeline.RolesDecl{By: pipeline.RolesByPosition, Reference: 90, Holdout: 0.2, Outside: 0.3}
		},
		"last": func(j *pipeline.Job) { withHoldout(j); j.Roles.Last = true },
		"last, by position": func(j *pipeline.Job) {
			withHoldout(j)
			j.Roles = pipeline.RolesDecl{By: pipeline.RolesByPosition, Reference: 90, Holdout: 0.3, Last: true}
		},
		"hold-out, all-rows": func(j *pipeline.Job) { withHoldout(j); j.Scaling.Mode = pipeline.ScalingAllRows },
	} {
		names = append(names, name)
		p := publish(t, change)
		if c := p.result.Certificate; len(c.Conditional()) > 0 {
			conditional[name] = c.Ledger.Holdout > 0
			if mean := c.About(certify.PredictorMean); mean.Status != certify.StatusCertified {
				byWord[name] = true
			}
		}
		calls = append(calls, []string{"verify", p.model, p.certificate, p.data, "--id", p.result.ID})
	}
	for _, policy := range []certify.CopiesPolicy{pipeline.CopiesDropped, pipeline.CopiesIndependent} {
		columns := lakeWaves()
		for _, column := range columns {
			copy(column[250:450], column[:200]) // across shards, reference rows among them
		}
		copy(columns[0][600:630], columns[0][:30]) // equal in the features alone
		copy(columns[1][600:630], columns[1][:30])
		p := publishRows(t, columns, func(j *pipeline.Job) { j.Copies.Policy = policy })
		names, calls = append(names, "copies "+string(policy)), append(calls, []string{"verify", p.model, p.certificate, p.data})
		p = publishRows(t, columns, func(j *pipeline.Job) {
			j.Copies.Policy, j.Roles.By, j.Roles.Reference = policy, pipeline.RolesByPosition, 300
		})
		names, calls = append(names, "copies, roles by position: "+string(policy)), append(calls, []string{"verify", p.model, p.certificate, p.data})
		what := "copies and hold-out rows: " + string(policy)
		p = publishRows(t, columns, func(j *pipeline.Job) { withHoldout(j); j.Copies.Policy = policy })
		conditional[what] = true
		names, calls = append(names, what), append(calls, []string{"verify", p.model, p.certificate, p.data})
	}
	for _, policy := range []certify.CopiesPolicy{"", pipeline.CopiesDropped} {
		columns := lakeWaves()
		for _, column := range columns {
			column[30], column[700] = column[310], column[311]
		}
		for k, i := range []int{0, 30, 299, 300, 400, 555, 899} {
			columns[2*(k%2)][i] = []float64{math.NaN(), math.Inf(-1)}[k%2]
		}
		p := publishRows(t, columns, func(j *pipeline.Job) {
			j.BadRows.Tolerance, j.Copies.Policy, j.Grid.Prior = 0.01, policy, certify.PriorPeaked
		})
		names, calls = append(names, "bad rows, copies: "+string(policy)), append(calls, []string{"verify", p.model, p.certificate, p.data})
	}
	for size, name := range map[float64]string{4e6: "large numbers", 3e-7: "small numbers"} {
		columns := lakeWaves()
		for i := range columns[2] {
			columns[2][i] *= size
		}
		p := publishRows(t, columns, func(j *pipeline.Job) { j.Loss = pipeline.LossDecl{Epsilon: size} })
		names, calls = append(names, name), append(calls, []string{"verify", p.model, p.certificate, p.data})
	}
	columns := lakeWaves()
	for i := range columns[2] { // near to a column that is spread over a thousand tolerances
		columns[1][i], columns[2][i] = float64(i), float64(i)+0.3*math.Tanh(columns[0][i])
	}
	narrow := publishRows(t, columns, func(j *pipeline.Job) {
		withMean(j)
		j.Loss, j.Grid.Prior = pipeline.LossDecl{Epsilon: 0.2}, certify.PriorPeaked
	})
	names, calls = append(names, "mean, narrow"), append(calls, []string{"verify", narrow.model, narrow.certificate, narrow.data})
	byWord["mean, narrow"], conditional["mean, narrow"] = true, true
	if !byWord["hold-out by word"] || byWord["hold-out"] || !conditional["hold-out"] || conditional["hold-out, all-rows"] || conditional["zero-one"] {
		t.Errorf("by the maker's word alone: %v", byWord)
	}
	for i, r := range verifytest.Verify(t, calls) {
		status, verdict := 0, "verified:"
		switch {
		case byWord[names[i]]:
			status, verdict = 3, "by the maker's word:"
		case meanOf(t, calls[i][2]).Status != certify.StatusCertified:
			status, verdict = 3, "nothing is certified about the mean of Q:"
		}
		if r.Status != status || !strings.Contains(r.Out, verdict) {
			t.Errorf("%s: exit status %d, want %d:\n%s", names[i], r.Status, status, r.Out)
		}
		if strings.Contains(r.Out, "NOT CHECKED: that training did not see the hold-out rows") != conditional[names[i]] {
			t.Errorf("%s: it says otherwise what is not checked:\n%s", names[i], r.Out)
		}
		// Two programs that prove their bounds in two ways: a fifth of what is allowed, or errors of their own.
		most := 2e-8
		if names[i] == "mean, narrow" {
			most = 1e-5
		}
		ends := regexp.MustCompile(`draw of Q: .*off by ([-+]\S+)`).FindAllStringSubmatch(r.Out, -1)
		for _, m := range ends {
			var off float64
			if _, err := fmt.Sscan(m[1], &off); err != nil || !(math.Abs(off) <= most) {
				t.Errorf("%s: the empirical risk is off by %s, want at most %g:\n%s", names[i], m[1], most, r.Out)
			}
		}
		if len(ends) != 1 {
			t.Errorf("%s: %d sums of losses are compared, want 1:\n%s", names[i], len(ends), r.Out)
		}
		t.Logf("%s:\n%s", names[i], r.Out)
	}
}

// meanOf is what a file says about the mean.
func meanOf(t *testing.T, certificate string) certify.Guarantee {
	t.Helper()
	data, err := os.ReadFile(certificate)
	fatal.If(t, err)
	c, err := certify.Parse(data)
	fatal.If(t, err)
	return c.About(certify.PredictorMean)
}

// withMean makes a column the mean function of the prior.
func withMean(j *pipeline.Job) {
	withHoldout(j)
	j.Mean.Column = "b"
}

// withHoldout asks for a guarantee from hold-out rows too.
func withHoldout(j *pipeline.Job) {
	j.Guarantees = []certify.MethodWeight{{ID: certify.MethodPACBayes, Weight: 1}, {ID: certify.MethodHoldout, Weight: 2}}
	j.Roles.Holdout = 0.2
}

// Targets are multiples of 0.2, which tolerances are not: the best constant lies
// between them and has some on both edges of what it covers, where rounding
// would decide. Both programs must find it and count the same misses.
func TestPythonFindsTheConstantOnTheEdge(t *testing.T) {
	verifytest.Need(t)
	columns := lakeWaves()
	for i, y := range columns[2] {
		columns[2][i] = math.Round(5*y) / 5
	}
	edges := []struct {
		name         string
		loss         pipeline.LossDecl
		below, above float64
	}{
		{"zero-one", pipeline.LossDecl{Epsilon: 0.7}, 0.7, 0.7},
		{"band, wide above", pipeline.LossDecl{Kind: "band", Below: 0.35, Above: 1.05}, 0.35, 1.05},
		{"band, wide below", pipeline.LossDecl{Kind: "band", Below: 1.05, Above: 0.35}, 1.05, 0.35},
	}
	var calls [][]string
	for _, edge := range edges {
		p := publishRows(t, columns, func(j *pipeline.Job) { j.Loss = edge.loss })
		calls = append(calls, []string{"verify", p.model, p.certificate, p.data})
		constant, onEdge, misses := p.result.Certificate.Baseline.Constant, 0, int64(0)
		isTarget, isTargetAndWidth := false, false
		reference := referenceRows(p.result.Certificate)
		for i, y := range columns[2] {
			if reference[i] {
				isTarget = isTarget || y == constant
				isTargetAndWidth = isTargetAndWidth || y+edge.above == constant
				continue
			}
			r, least, most := math.Round(20*(constant-y)), math.Round(-20*edge.below), math.Round(20*edge.above) // integers
			if r == least || r == most {
				onEdge++
			}
			if r < least || r > most {
				misses++
			}
		}
		if isTarget || !isTargetAndWidth {
			t.Errorf("%s: the constant %v is a target: %t, is a target and the tolerance: %t; want no, yes", edge.name, constant, isTarget, isTargetAndWidth)
		}
		if onEdge < 20 {
			t.Errorf("%s: only %d train targets lie on the edge of %v", edge.name, onEdge, constant)
		}
		var want certify.RiskSum
		for i := range p.result.Certificate.Ledger.Train {
			fatal.If(t, want.AddUnits(certify.UnitsPerLoss*uint64(min(1, max(0, misses-i)))))
		}
		if got := p.result.Certificate.Baseline.EmpiricalRisk.Exact; got != want {
			t.Errorf("%s: the constant's risk is %v, want %v: %d misses", edge.name, got.Upper(), want.Upper(), misses)
		}
	}
	for i, r := range verifytest.Verify(t, calls) {
		if r.Status != 0 || !strings.Contains(r.Out, "verified:") || !strings.Contains(r.Out, "to the last unit") {
			t.Errorf("%s: exit status %d:\n%s", edges[i].name, r.Status, r.Out)
		}
	}
}

// referenceRows reports which rows of a certificate's sample are reference rows.
func referenceRows(c certify.Certificate) map[int]bool {
	type rank struct {
		hash    uint64
		ordinal int
	}
	ranks := make([]rank, c.Ledger.Rows)
	for i := range ranks {
		sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte("pacsgp/roles/1\x00"+c.Roles.Key+"\x00"), uint64(i)))
		ranks[i] = rank{binary.BigEndian.Uint64(sum[:8]), i}
	}
	slices.SortFunc(ranks, func(a, b rank) int { return cmp.Or(cmp.Compare(a.hash, b.hash), a.ordinal-b.ordinal) })
	reference := make(map[int]bool)
	for _, r := range ranks[:c.Ledger.Reference] {
		reference[r.ordinal] = true
	}
	return reference
}

func TestPythonRefusesWhatWasChanged(t *testing.T) {
	verifytest.Need(t)
	p := publish(t, nil)
	document, err := os.ReadFile(p.certificate)
	fatal.If(t, err)
	other := publish(t, func(j *pipeline.Job) { j.Train.Seed = 3; j.Inducing = []int{12} })
	changed := changedRow(t)
	type refusal struct {
		name, want string
		args       []string
	}
	refusals := []refusal{
		{"another model", "another model file", []string{"verify", other.model, p.certificate, p.data}},
		{"another certificate", "another model file", []string{"verify", p.model, other.certificate, p.data}},
		{"another id", "id is", []string{"verify", p.model, p.certificate, "--id", other.result.ID}},
		{"half the rows", "250 rows in 1 shards", []string{"verify", p.model, p.certificate, filepath.Join(p.data, "z.parquet")}},
		{"another order", "sample digest", []string{"verify", p.model, p.certificate, filepath.Join(p.data, "z.parquet"), filepath.Join(p.data, "m=1")}},
		{"a changed row", "sample digest", []string{"verify", p.model, p.certificate, filepath.Join(p.data, "m=1"), changed}},
		{"no rows", "no data file", []string{"verify", p.model, p.certificate, t.TempDir()}},
	}
	for i, edit := range []struct{ name, want, from, to string }{
		{"bound", `\.bound is`, `"bound": 0.`, `"bound": 0.0`},
		{"kl of one guarantee", "kl is", `"kl": `, `"kl": 1`},
		{"setting", "digest of the configuration", `"buffer": 65536`, `"buffer": 65537`},
		{"status", "status is 'vacuous'", `"status": "certified"`, `"status": "vacuous"`},
		{"headline", "headline is", `in at most `, `in at most 0.`},
		{"sum in other digits", "exact.sum", `"sum": "0000`, `"sum": "0x00`},
		{"format", "certificate/4", `certificate/3`, `certificate/4`},
		{"unknown member", "unknown member 'x'", `"kl": `, `"x": 1, "kl": `},
		{"member twice", "stands twice", `"kl": `, `"kl": 1, "kl": `},
		{"NaN", "NaN", `"kl": `, `"kl": NaN, "x": `},
		{"text for a number", "'0.01'", `"delta": 0.01`, `"delta": "0.01"`},
		{"number in other digits", "canonical form", `"delta": 0.01`, `"delta": 1e-2`},
		{"white space", "canonical form", `"delta": 0.01`, `"delta":  0.01`},
	} {
		edited := bytes.Replace(document, []byte(edit.from), []byte(edit.to), 1)
		if bytes.Equal(edited, document) {
			t.Errorf("%s: %q does not stand in the certificate", edit.name, edit.from)
		}
		file := filepath.Join(t.TempDir(), fmt.Sprintf("edited-%d.json", i)) // a name without an id
		writeFile(t, file, edited)
		refusals = append(refusals, refusal{edit.name, edit.want, []string{"verify", p.model, file, p.data}})
	}
	declared := publish(t, declareScaling)
	for i, l := range lies(t) {
		of := p
		if l.declared {
			of = declared
		}
		file := filepath.Join(t.TempDir(), fmt.Sprintf("lie-%d.json", i))
		writeFile(t, file, told(t, of.result.Certificate, l))
		refusals = append(refusals, refusal{l.name, l.want, []string{"verify", of.model, file, of.data}})
	}
	var calls [][]string
	for _, r := range refusals {
		calls = append(calls, r.args)
	}
	calls = append(calls, []string{"verify", p.model, p.certificate})
	runs := verifytest.Verify(t, calls)
	for i, r := range refusals {
		if err := goVerifies(t, r.args); err == nil {
			t.Errorf("%s: the Go program accepts it", r.name)
		}
		_, reason, _ := strings.Cut(runs[i].Out, "REFUSED")
		if runs[i].Status != 1 || !regexp.MustCompile(r.want).MatchString(reason) {
			t.Errorf("%s: exit status %d, want 1 and %q:\n%s", r.name, runs[i].Status, r.want, runs[i].Out)
		}
	}
	if last := runs[len(refusals)]; last.Status != 3 || !strings.Contains(last.Out, "evidence not rechecked") {
		t.Errorf("without rows: exit status %d:\n%s", last.Status, last.Out)
	}
}

// goVerifies checks the model, the data and the certificate that the verifier's
// arguments name with this program.
func goVerifies(t testing.TB, args []string) error {
	t.Helper()
	var files []string
	id := ""
	for i := 1; i < len(args); i++ {
		if args[i] == "--id" {
			i++
			id = args[i]
			continue
		}
		files = append(files, args[i])
	}
	model, certificate, data := files[0], files[1], files[2:]
	document, err := os.ReadFile(certificate)
	fatal.If(t, err)
	if sum := sha256.Sum256(document); id != "" && id != hex.EncodeToString(sum[:]) {
		return errors.New("another id")
	}
	c, err := certify.Parse(document)
	if err != nil {
		return err
	}
	bytes, err := os.ReadFile(model)
	fatal.If(t, err)
	m, err := sink.DecodeModel(bytes)
	if err != nil {
		return err
	}
	open := func(ctx context.Context, want pipeline.Choice) (pipeline.Source, error) {
		return lake.Open(ctx, lake.Config{Paths: data, Features: want.Features, Exclude: want.Exclude, Target: want.Target, BadRows: ingest.Marking(want.Mark), Labels: want.Labels, Encoded: want.Encoded})
	}
	if len(data) == 0 {
		open = nil
	}
	sum := sha256.Sum256(bytes)
	_, err = pipeline.Verify(t.Context(), c, m, hex.EncodeToString(sum[:]), open, pipeline.Resources{})
	return err
}

// declareScaling is a job without reference rows.
func declareScaling(j *pipeline.Job) {
	j.Loss = pipeline.LossDecl{Epsilon: 1.5}
	j.Scaling = pipeline.Scaling{
		Mode: pipeline.ScalingDeclared, Target: &pipeline.Affine{Centre: 10, Scale: 2.5},
		Features: map[string]pipeline.Affine{"a": {Centre: 0, Scale: 1.5}, "b": {Centre: 50, Scale: 30}},
	}
}

// changedRow is the last file of the lake with one bit of one value changed.
func changedRow(t testing.TB) string {
	t.Helper()
	columns := lakeWaves()
	columns[2][700] = math.Nextafter(columns[2][700], 100)
	file := filepath.Join(t.TempDir(), "z.parquet")
	writeFile(t, file, lakeFile(t, columns, 650, 900))
	return file
}

func TestPythonPredictsWhatGoPredicts(t *testing.T) {
	verifytest.Need(t)
	for name, change := range map[string]func(*pipeline.Job){"constant mean": nil, "column of the mean": withMean} {
		t.Run(name, func(t *testing.T) { predictInBoth(t, publish(t, change)) })
	}
}

func predictInBoth(t *testing.T, p published) {
	out := filepath.Join(t.TempDir(), "predictions.parquet")
	if text, status := verifytest.Python(t, "-m", "pacsgp", "predict", p.model, out, p.data, "--certificate", p.certificate); status != 0 {
		t.Fatalf("exit status %d:\n%s", status, text)
	}
	data, err := os.ReadFile(out)
	fatal.If(t, err)
	type row struct {
		Row         int64    `parquet:"row,optional"`
		Mean        *float64 `parquet:"mean,optional"`
		Deviation   *float64 `parquet:"deviation,optional"`
		Certificate *string  `parquet:"certificate,optional"`
	}
	rows, err := parquet.Read[row](bytes.NewReader(data), int64(len(data)))
	fatal.If(t, err)
	columns := lakeWaves()
	src := pipelinetest.NewMemory([]string{"a", "b"}, columns[:2], 900)
	model, err := sink.DecodeModel(encode(t, p.result.Model))
	fatal.If(t, err)
	worst, id := 0.0, pipeline.CarriedID(p.result.Certificate, p.result.ID)
	err = pipeline.Predict(context.Background(), src, model, 1, func(batch []pipeline.Prediction) error {
		for _, want := range batch {
			got := rows[want.Ordinal]
			if got.Row != want.Ordinal || got.Mean == nil || got.Certificate == nil && id != "" || got.Certificate != nil && *got.Certificate != id {
				return fmt.Errorf("row %d is %+v", want.Ordinal, got)
			}
			worst = max(worst, math.Abs(*got.Mean-want.Mean), math.Abs(*got.Deviation-want.Deviation))
		}
		return nil
	})
	if err != nil || len(rows) != 900 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if scale := model.Meta.Target.Scale; !(worst <= 1e-9*scale) {
		t.Errorf("predictions differ by %g, want at most 1e-9 of the target's scale %g", worst, scale)
	}
	t.Logf("predictions differ by at most %g", worst)
}
