package certify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// variants returns evidence of every loss, status and kind of grid.
func variants(t *testing.T) map[string]Evidence {
	t.Helper()
	change := func(f func(*Evidence)) Evidence {
		ev := sound(t)
		f(&ev)
		return ev
	}
	extra := withGroups(t)
	extra.Grouping.Column, extra.Grouping.NotAFeature = "carrier", true
	extra.Sample.Columns = []string{"distance", "hour", "carrier", "delay"}
	return map[string]Evidence{
		"groups":             withGroups(t),
		"groups by a column": extra,
		"curve":              withCurve(t, 16, MethodPACBayes, MethodCurve),
		"curve of no error":  withCurve(t, .001, MethodPACBayes, MethodHoldout, MethodCurve),
		"curve of nothing":   withCurve(t, 1e9, MethodPACBayes, MethodHoldout, MethodCurve),
		"zero-one":           sound(t),
		"band": change(func(ev *Evidence) {
			ev.Loss = TargetLoss{Loss: Loss{Kind: LossBand, Below: 2, Above: 3}, Target: "delay"}
		}),
		"squared": change(func(ev *Evidence) { ev.Loss.Kind = LossSquared }),
		"exponential": change(func(ev *Evidence) {
			ev.Loss = TargetLoss{Loss: Loss{Kind: LossExponential, Epsilon: .25}, Target: "delay"}
		}),
		"relative": change(func(ev *Evidence) { ev.Loss = TargetLoss{Loss: Loss{Kind: LossRelative}, Target: "delay"} }),
		"share": change(func(ev *Evidence) {
			ev.Loss = TargetLoss{Loss: Loss{Kind: LossRelativeZeroOne, Epsilon: .1}, Target: "delay"}
		}),
		"units":     withUnits(t),
		"vacuous":   change(func(ev *Evidence) { ev.Model.KL = 20_000 }),
		"worse":     change(func(ev *Evidence) { ev.Constant.Risk = ev.LossSums.At(PredictorDraw, SubsetTraining).Risk }),
		"jitter":    change(func(ev *Evidence) { ev.Model.Jitter.Holds = false }),
		"sequence":  change(func(ev *Evidence) { ev.Delta.Sequence = &Sequence{"flights/trainers", MaxNumber} }),
		"dependent": change(func(ev *Evidence) { ev.Dependence = dependence(12600, .5) }),
		"duplicates tolerated": change(func(ev *Evidence) {
			ev.Duplicates.Policy, ev.Duplicates.Limit, ev.Counts.Duplicates, ev.Counts.Holdout = DuplicatesLimited, 5.0/12690, 0, 90
			missAll(t, ev)
		}),
		"alone": change(func(ev *Evidence) {
			ev.Delta.Methods = alone()
			ev.LossSums = ev.LossSums.For(ev.Delta)
			ev.Counts.Holdout, ev.Counts.Prior, ev.Dependence = 0, 685, dependence(12685, 0)
		}),
		"families": change(func(ev *Evidence) {
			ev.Model.Kernel.Family, ev.Model.Kernel.Families = KernelMatern52, Families()
		}),
		"isotropic": change(func(ev *Evidence) {
			ev.Model.Kernel.Isotropic, ev.Model.Theta = true, ev.Model.Theta[1:]
			ev.Model.Theta[0].Name = "ln lengthscale"
		}),
		"start": change(func(ev *Evidence) {
			ev.Constant = Constant{Value: -1, Origin: OriginStart, Risk: ev.Constant.Risk}
			ev.Counts.Prior, ev.Counts.Holdout, ev.Dependence = 0, 685, dependence(12000, 0)
			missAll(t, ev)
		}),
	}
}

func marshal(t testing.TB, c Certificate) []byte {
	t.Helper()
	data, err := Marshal(c)
	fatal.If(t, err)
	return data
}

// missAll fills the loss sum of the held-out rows with losses of 1.
func missAll(t testing.TB, ev *Evidence) {
	t.Helper()
	lossSum := ev.LossSums.At(PredictorMean, SubsetHoldout)
	for lossSum.Risk.Count() < ev.Counts.Holdout {
		fatal.If(t, lossSum.AddSpread(1))
	}
}

// What Certify makes satisfies the schema, reads back to the same bytes, and follows from the evidence in it.
func TestDocumentRoundTrip(t *testing.T) {
	schema := compileSchema(t)
	for name, ev := range variants(t) {
		t.Run(name, func(t *testing.T) {
			c := certificate(t, ev)
			data := marshal(t, c)
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
			fatal.If(t, err)
			if err := schema.Validate(value); err != nil {
				t.Errorf("the schema refuses the document: %v", err)
			}
			parsed, err := Parse(data)
			fatal.If(t, err)
			if diff := cmp.Diff(string(data), string(marshal(t, parsed))); diff != "" {
				t.Errorf("the document changes when it is read (-written +read):\n%s", diff)
			}
			for _, c := range []Certificate{c, parsed} {
				if err := Recompute(c); err != nil {
					t.Error(err)
				}
			}
			if again := marshal(t, certificate(t, ev)); !bytes.Equal(again, data) {
				t.Error("the same evidence gives other bytes")
			}
		})
	}
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile("schema.json")
	fatal.If(t, err)
	return schema
}

// The bound in the document is that of all terms of the evidence, and each term
// moves it: a certificate that forgets one cannot pass.
func TestCertifyUsesEveryTerm(t *testing.T) {
	ev := sound(t)
	g := guarantee(t, certificate(t, ev), ClaimDraw)
	weight, err := LnInverseWeight(1, ev.Model.Theta)
	fatal.If(t, err)
	if want := math.Log(1201 * 25); !(weight > want) {
		t.Errorf("ln 1/p is %g, not above that of the two flat grids, %g", weight, want)
	}
	terms := Terms{Risk: ev.LossSums.At(PredictorDraw, SubsetTraining).Risk.Upper(), KL: ev.Model.KL, LnInverseWeight: weight, N: 12_000, Delta: ev.Delta.Declared, Share: ev.Delta.Share(MethodPACBayes)}
	want, err := Bound(terms)
	fatal.If(t, err)
	if g.Bound != want.Upper || g.BoundPinsker != want.Pinsker || g.Exponent != want.Exponent {
		t.Errorf("the guarantee is %+v, want the bounds %+v", g, want)
	}
	for name, forget := range map[string]func(*Terms){
		"risk": func(x *Terms) { x.Risk = 0 }, "KL": func(x *Terms) { x.KL = 0 }, "weight": func(x *Terms) { x.LnInverseWeight = 0 },
		"N": func(x *Terms) { x.N *= 2 }, "delta": func(x *Terms) { x.Delta = .5 },
	} {
		less := terms
		forget(&less)
		if b, err := Bound(less); err != nil || !(b.Upper < g.Bound) {
			t.Errorf("%s does not count: the bound without it is %g (%v), with it %g", name, b.Upper, err, g.Bound)
		}
	}
	if b, err := HoldoutBound(ev.Constant.Risk.Lower(), 12_000, ev.Delta.Declared); err != nil || g.Baseline != b {
		t.Errorf("the baseline's bound is %g, want %g (%v)", g.Baseline, b, err)
	}
}

// A leaf of a JSON document: its path, and how to change it.
type leaf struct {
	path string
	set  func(any)
	old  any
}

// leaves returns the leaves below value.
func leaves(path string, value any, set func(any)) []leaf {
	var all []leaf
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			all = append(all, leaves(path+"."+key, member, func(x any) { value[key] = x })...)
		}
	case []any:
		for i, member := range value {
			all = append(all, leaves(fmt.Sprintf("%s[%d]", path, i), member, func(x any) { value[i] = x })...)
		}
	default:
		all = append(all, leaf{path, set, value})
	}
	return all
}

// altered returns other values for a leaf: numbers move as little as they can.
func altered(old any) []any {
	switch old := old.(type) {
	case bool:
		return []any{!old}
	case string:
		if old == "" {
			return []any{"x"}
		}
		last := byte('0')
		if old[len(old)-1] == last {
			last = '1'
		}
		return []any{old + "x", old[:len(old)-1] + string(last)}
	case json.Number:
		x, err := old.Float64()
		if err != nil {
			return nil
		}
		return []any{math.Nextafter(x, math.Inf(1)), math.Nextafter(x, math.Inf(-1)), x + 1}
	}
	return nil
}

// evidenceOnly holds the paths that repeat evidence from which nothing else in
// the document follows: rows or files are needed to check them.
func evidenceOnly(path string) bool {
	for _, prefix := range []string{
		".dataset.digest", ".dataset.targets", ".dataset.shards", ".model.digest", ".publisher", ".model.jitter.limit", ".dependence", ".duplicates.limit", ".baseline.constant",
	} {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

// Every number and every sentence that follows from others is bound to them:
// the smallest change of one is refused.
func TestEveryChangeOfADerivedValueIsRefused(t *testing.T) {
	data := marshal(t, certificate(t, sound(t)))
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var document any
	fatal.If(t, decoder.Decode(&document))
	changes := 0
	for _, leaf := range leaves("", document, nil) {
		for _, value := range altered(leaf.old) {
			leaf.set(value)
			text, err := json.Marshal(document)
			fatal.If(t, err)
			leaf.set(leaf.old)
			var c Certificate
			if err := unmarshalStrict(text, &c); err != nil {
				continue // not even the form is right
			}
			changes++
			if bytes.Equal(marshal(t, c), data) {
				t.Errorf("%s: the change to %v vanishes when it is read", leaf.path, value)
			}
			if err := Recompute(c); (err == nil) && !evidenceOnly(leaf.path) {
				t.Errorf("%s: the change from %v to %v is accepted", leaf.path, leaf.old, value)
			}
		}
	}
	if changes < 200 {
		t.Errorf("only %d changes were tried", changes)
	}
}

func TestRecomputeNamesThePosition(t *testing.T) {
	for name, c := range map[string]struct {
		forge func(*Certificate)
		says  string
	}{
		"another bound":   {func(c *Certificate) { c.Claims[0].Bound = .05 }, ".claims[0].bound is 0.05"},
		"a claim less":    {func(c *Certificate) { c.Claims = c.Claims[1:] }, ".claims"},
		"a claim twice":   {func(c *Certificate) { c.Claims = append(c.Claims, c.Claims[0]) }, ".claims"},
		"NaN in a number": {func(c *Certificate) { c.Claims[1].Exponent = math.NaN() }, ""},
	} {
		forged := certificate(t, sound(t))
		c.forge(&forged)
		if err := Recompute(forged); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.says)
		}
	}
}

func TestParseIsStrict(t *testing.T) {
	data := string(marshal(t, certificate(t, sound(t))))
	if _, err := Parse([]byte(data)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"empty":             "",
		"null":              "null\n",
		"unknown field":     strings.Replace(data, `"format"`, `"note": "", "format"`, 1),
		"another format":    strings.Replace(data, "pacsgp-certificate/4", "pacsgp-certificate/1", 1),
		"no final newline":  strings.TrimSuffix(data, "\n"),
		"more white space":  strings.Replace(data, `"delta": 0.01`, `"delta":  0.01`, 1),
		"number rewritten":  strings.Replace(data, `"delta": 0.01`, `"delta": 0.010`, 1),
		"something after":   data + "{}",
		"field twice":       strings.Replace(data, `"software"`, `"software": "x", "software"`, 1),
		"other case":        strings.Replace(data, `"software"`, `"Software"`, 1),
		"fields reordered":  strings.Replace(strings.Replace(data, `"bound": 0.0`, `"boond": 0.0`, 1), `"kl": 420.5`, `"bound": 420.5`, 1),
		"sum in upper case": strings.Replace(data, "8455af01a7d5510da", "8455AF01A7D5510DA", 1),
		"cut short":         data[:len(data)/2],
		"not UTF-8":         strings.Replace(data, "minutes", "minut\xff", 1),
	} {
		if text == data {
			t.Fatalf("%s: the test changes nothing", name)
		}
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s: Parse accepts it", name)
		}
	}
}

// The schema refuses what is no certificate, so that other programs may rely on it.
func TestSchemaRefuses(t *testing.T) {
	schema := compileSchema(t)
	data := string(marshal(t, certificate(t, sound(t))))
	for _, v := range [][2]string{
		{`"status": "certified"`, `"status": "true"`},
		{`"predictor": "draw"`, `"predictor": "mean"`},
		{`"delta": 0.01`, `"delta": 1`},
		{`"bound": 0.`, `"bound": 1.`},
		{`"kl": 420.5`, `"kl": "420.5"`},
		{`"epsilon": 15`, `"epsilon": 0`},
		{`"epsilon": 15`, `"below": 15`},
		{`"epsilon": 15`, `"epsilon": 15, "width": "deviation"`},
		{`"holds": true`, `"holds": 1`},
		{`"policy": "drop"`, `"policy": "ignore"`},
		{`"unproven": 2`, `"unproven": -2`},
		{`"software"`, `"softwear"`},
		{`"exponent"`, `"exponents"`},
		{strings.Repeat("b1", 32), "b1"},
		{`"checked": "none"`, `"checked": "by hand"`},
	} {
		text := strings.Replace(data, v[0], v[1], 1)
		if text == data {
			t.Fatalf("the document does not hold %s", v[0])
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		fatal.If(t, err)
		if err := schema.Validate(value); err == nil {
			t.Errorf("with %s instead of %s the schema accepts it", v[1], v[0])
		}
	}
}
