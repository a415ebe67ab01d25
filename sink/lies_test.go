package sink_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// A lie changes a certificate. Settings are given as text that replaces text in
// the configuration; its digest follows.
type lie struct {
	name, want string
	change     func(c *certify.Certificate)
	from, to   string
	declared   bool // of a job with declared scaling
}

// lies are certificates that do not contradict their own form.
func lies(t testing.TB) []lie {
	t.Helper()
	both := func(change func(g *certify.Guarantee)) func(c *certify.Certificate) {
		return func(c *certify.Certificate) {
			for i := range c.Guarantees {
				change(&c.Guarantees[i])
			}
		}
	}
	assumption := func(id certify.AssumptionID, change func(a *certify.Assumption)) func(c *certify.Certificate) {
		return func(c *certify.Certificate) {
			for i := range c.Assumptions {
				if c.Assumptions[i].ID == id {
					change(&c.Assumptions[i])
				}
			}
		}
	}
	return []lie{
		{name: "kl", want: "KL", change: both(func(g *certify.Guarantee) { g.KL-- })},
		{name: "ln 1/weight", want: "ln 1/weight", change: both(func(g *certify.Guarantee) { g.LnInverseWeight-- })},
		{name: "ln xi", want: "ln xi", change: both(func(g *certify.Guarantee) { g.LnXi-- })},
		{name: "delta", want: `delta is 0.02`, change: both(func(g *certify.Guarantee) { g.Delta *= 2 })},
		{name: "mean loss", want: `empirical_risk.upper is`, change: both(func(g *certify.Guarantee) { g.EmpiricalRisk.Upper /= 2 })},
		{name: "n", want: `\.n is 8100`, change: both(func(g *certify.Guarantee) { g.N *= 10 })},
		{name: "tolerance", want: `loss.epsilon is`, change: both(func(g *certify.Guarantee) { g.Loss.Epsilon *= 2 })},
		{name: "two tolerances", want: `loss.below is 1`, change: both(func(g *certify.Guarantee) { g.Loss.Below = 1 })},
		{name: "index", want: `theta\[0\].index is|weight of theta`, change: func(c *certify.Certificate) {
			c.Theta[0].Index--
			c.Theta[0].Value = c.Theta[0].Parameter.Value()
		}},
		{name: "value off the grid", want: `theta\[0\].value is`, change: func(c *certify.Certificate) { c.Theta[0].Value += 1e-9 }},
		{name: "mean of a draw", want: `predictor is`, change: func(c *certify.Certificate) { c.Guarantees[1].Predictor = certify.PredictorMean }},
		{name: "bound of the mean", want: `guarantees\[0\].bound is`, change: func(c *certify.Certificate) { c.Guarantees[0].Bound = c.Guarantees[1].Bound }},
		{name: "key", want: `roles.key is`, change: func(c *certify.Certificate) { c.Roles.Key = "other" }},
		{name: "ledger", want: `1 of 900 rows are bad`, change: func(c *certify.Certificate) { c.Ledger.Bad++ }},
		{name: "constant", want: `baseline.statement is`, change: func(c *certify.Certificate) { c.Baseline.Constant++ }},
		{name: "origin of the constant", want: `baseline.origin is`, change: func(c *certify.Certificate) { c.Baseline.Origin = certify.OriginStart }},
		{name: "a unit more in the constant's risk", want: `the constant loses`, change: func(c *certify.Certificate) {
			r := heavier(t, certify.Risk{Exact: c.Baseline.EmpiricalRisk.Exact}, 1)
			c.Baseline.EmpiricalRisk = certify.Lower{Exact: r.Exact, Lower: r.Exact.Lower()}
			refit(t, c)
		}},
		{name: "more in the risk of a draw", want: `empirical risk is stated`, change: certifiedAnew(t, func(ev *certify.Evidence) {
			risk := &ev.Tallies.At(certify.PredictorDraw, certify.RoleTrain).Risk
			*risk = heavier(t, certify.Risk{Exact: *risk}, 1<<54).Exact // 2·10⁻⁵ in the mean: Python allows 10⁻⁵, this program not a unit
		})},
		{name: "half of delta", want: `ln 1/delta of the share`, change: func(c *certify.Certificate) { c.Delta.Alternatives = 2 }},
		{name: "declared share", want: "delta.alternatives is 1", from: `"seed":0}`, to: `"seed":0},"sweep":[{},{"kernel":{"isotropic":true}}],"alternative":1`},
		{name: "an alternative twice", want: "alternatives of the sweep are the same", from: `"seed":0}`, to: `"seed":0},"sweep":[{},{"kernel":{"isotropic":false}}],"alternative":1`},
		{name: "alternative 2 of 1", want: "share of delta", change: func(c *certify.Certificate) { c.Delta.Alternative = 2 }},
		{name: "targets", want: `sample.targets is`, change: func(c *certify.Certificate) { c.Sample.Targets = strings.Repeat("0", 64) }},
		{name: "a copy more", want: "assumptions.0..diagnostic is", change: func(c *certify.Certificate) { c.Copies.Features++ }},
		{name: "policy of copies", want: "copies", from: `"policy":"limited","limit":0.01`, to: `"policy":"independent","limit":0`},
		{name: "limit of copies", want: "copies.limit is", from: `"policy":"limited","limit":0.01`, to: `"policy":"limited","limit":1`},
		{name: "sample", want: "sample digest", change: func(c *certify.Certificate) { c.Sample.Digest = strings.Repeat("0", 64) }},
		{name: "row rules", want: `row_rules is`, change: func(c *certify.Certificate) { c.RowRules = []string{} }},
		{name: "jitter", want: `jitter.limit is`, change: func(c *certify.Certificate) { c.Jitter.Limit *= 2 }},

		{name: "no assumptions", want: `assumptions is \[\]`, change: func(c *certify.Certificate) { c.Assumptions = []certify.Assumption{} }},
		{name: "an assumption less", want: `assumptions is`, change: func(c *certify.Certificate) { c.Assumptions = c.Assumptions[1:] }},
		{name: "a foreign assumption", want: `assumptions is`, change: func(c *certify.Certificate) {
			c.Assumptions = append(c.Assumptions, certify.Assumption{ID: "moon", Status: certify.AssumptionEnforced, Text: "It is made of cheese."})
		}},
		{name: "independence enforced", want: `assumptions\[0\].status is 'enforced'`, change: assumption(certify.AssumeIndependentRows, func(a *certify.Assumption) { a.Status = certify.AssumptionEnforced })},
		{name: "no diagnostic", want: `assumptions\[8\].diagnostic is None`, change: assumption(certify.AssumeOneAttempt, func(a *certify.Assumption) { a.Diagnostic = "" })},

		{name: "feature", want: `the job has 1 features`, from: `"target":"y",`, to: `"target":"y","features":["nothing"],`},
		{name: "excluded feature", want: `not among the default`, from: `"target":"y",`, to: `"target":"y","exclude":["b"],`},
		{name: "kernel", want: `3 hyper-parameters for 2 features`, from: `"isotropic":false`, to: `"isotropic":true`},
		{name: "family", want: `kernel.family is`, change: func(c *certify.Certificate) { c.Kernel.Family = certify.KernelMatern32 }},
		{name: "families", want: `ln 1/weight`, change: func(c *certify.Certificate) { c.Kernel.Families = append(c.Kernel.Families, certify.KernelMatern32) }},
		{name: "setting of the family", want: `the job declares`, from: `"family":["squared-exponential"]`, to: `"family":["matern-3/2"]`},
		{name: "setting of the families", want: `kernel.families is`, from: `"family":["squared-exponential"]`, to: `"family":["squared-exponential","matern-3/2"]`},
		{name: "a family twice", want: `without repetition`, from: `"family":["squared-exponential"]`, to: `"family":["squared-exponential","squared-exponential"]`},
		{name: "unknown family", want: `want one of`, from: `"family":["squared-exponential"]`, to: `"family":["cosine"]`},
		{name: "scaling mode", want: "scaling.mode is 'all-row'", from: `"mode":"reference"`, to: `"mode":"all-row"`},
		{name: "all-rows scaling", want: `peaked prior needs reference rows`, from: `"mode":"reference"`, to: `"mode":"all-rows"`},
		{name: "declared scaling", want: `peaked prior needs reference rows`, from: `"mode":"reference"`, to: `"mode":"declared"`},
		{name: "unknown setting", want: "unknown member 'planet'", from: `"target":"y",`, to: `"target":"y","planet":1,`},
		{name: "unknown nested setting", want: "unknown member 'salt'", from: `"roles":{`, to: `"roles":{"salt":"x",`},
		{name: "setting twice", want: "stands twice", from: `"target":"y",`, to: `"target":"x","target":"y",`},
		{name: "setting in another case", want: "unknown member 'Delta'", from: `"delta":0.01,`, to: `"Delta":0.9,"delta":0.01,`},
		{name: "features in another order", want: "theta.0..name is", from: `"target":"y",`, to: `"target":"y","features":["b","a"],`},
		{name: "setting of the width", want: "grid.width is 0.5", from: `"width":0.5`, to: `"width":0.6`},
		{name: "lost setting", want: "lacks", from: `"delta":0.01,`, to: ``},
		{name: "setting of delta", want: `delta.declared is 0.01`, from: `"delta":0.01`, to: `"delta":0.02`},
		{name: "setting of the tolerance", want: `loss.epsilon is`, from: `"epsilon_std":0.6`, to: `"epsilon_std":0.7`},
		{name: "two settings of the tolerance", want: `not in the form|other tolerances`, from: `"epsilon_std":0.6`, to: `"epsilon":1.0,"epsilon_std":0.6`},
		{name: "setting of the loss", want: `loss.kind is`, from: `"kind":"zero-one"`, to: `"kind":"squared"`},
		{name: "setting of the unit", want: `declared.unit is`, from: `"unit":"m/s"`, to: `"unit":"km/s"`},
		{name: "setting of the grid", want: `grid.step is 0.25`, from: `"step":0,`, to: `"step":0.5,`},
		{name: "setting of the grid's end", want: `grid.count is 49`, from: `"max":6`, to: `"max":7`},
		{name: "setting of the prior", want: `width of the peaks`, from: `"prior":"peaked"`, to: `"prior":"flat"`},
		{name: "setting of the key", want: `roles.key is`, from: `"key":"pacsgp"`, to: `"key":"other"`},
		{name: "setting of the seed", want: `optimiser.seed is`, from: `"seed":0`, to: `"seed":1`},

		{name: "declared prior enforced", declared: true, want: `assumptions\[1\].status is 'enforced'`, change: assumption(certify.AssumePriorFirst, func(a *certify.Assumption) { a.Status, a.Diagnostic = certify.AssumptionEnforced, "" })},
		{name: "declared constant", declared: true, want: `baseline.statement is`, change: func(c *certify.Certificate) { c.Baseline.Constant = 9 }},
		{name: "declared scale", declared: true, want: `features\[0\].scale is 1.5`, from: `"scale":1.5`, to: `"scale":1.6`},
		{name: "reference rows where there are none", declared: true, want: "scaling constants belong", from: `"mode":"declared"`, to: `"mode":"reference"`},
		{name: "undeclared feature", declared: true, want: `not in the form`, from: `"a":{`, to: `"c":{`},
	}
}

// heavier returns an empirical risk with a larger sum over the same rows.
func heavier(t testing.TB, r certify.Risk, units int64) certify.Risk {
	t.Helper()
	var form struct {
		Count int64  `json:"count"`
		Sum   string `json:"sum"`
	}
	document, err := json.Marshal(r.Exact)
	if err == nil {
		err = json.Unmarshal(document, &form)
	}
	sum, ok := new(big.Int).SetString(form.Sum, 16)
	if err != nil || !ok {
		t.Fatalf("risk sum %s: %v", document, err)
	}
	form.Sum = fmt.Sprintf("%032x", sum.Add(sum, big.NewInt(units)))
	document, err = json.Marshal(form)
	if err == nil {
		err = json.Unmarshal(document, &r.Exact)
	}
	fatal.If(t, err)
	r.Upper = r.Exact.Upper()
	return r
}

// refit makes the bounds follow from the changed risks.
func refit(t testing.TB, c *certify.Certificate) {
	t.Helper()
	mean, draw := &c.Guarantees[0], &c.Guarantees[1]
	b, err := certify.Bound(certify.Terms{Risk: draw.EmpiricalRisk.Upper, KL: draw.KL, LnInverseWeight: draw.LnInverseWeight, N: draw.N, Delta: draw.Delta, Share: c.Delta.Share(certify.MethodPACBayes)})
	fatal.If(t, err)
	draw.Bound, draw.BoundPinsker = b.Upper, b.Pinsker
	mean.Bound, mean.BoundPinsker = min(1, 2*b.Upper), min(1, 2*b.Pinsker)
	if c.Baseline.Bound, err = certify.HoldoutBound(c.Baseline.EmpiricalRisk.Lower, draw.N, draw.Delta); err != nil {
		t.Fatal(err)
	}
}

// told is the document of a certificate with a lie in it.
func told(t testing.TB, c certify.Certificate, l lie) []byte {
	t.Helper()
	document, err := certify.Marshal(c) // a copy that shares nothing
	if err == nil {
		c, err = certify.Parse(document)
	}
	fatal.If(t, err)
	if l.change != nil {
		l.change(&c)
	}
	var values bytes.Buffer
	fatal.If(t, json.Compact(&values, c.Configuration.Values))
	if !strings.Contains(values.String(), l.from) {
		t.Errorf("%s: %q does not stand in the configuration %s", l.name, l.from, values.String())
	}
	c.Configuration.Values = json.RawMessage(strings.Replace(values.String(), l.from, l.to, 1))
	sum := sha256.Sum256(c.Configuration.Values)
	c.Configuration.Digest = hex.EncodeToString(sum[:])
	lied, err := certify.Marshal(c)
	fatal.If(t, err)
	if bytes.Equal(lied, document) {
		t.Errorf("%s: nothing is changed", l.name)
	}
	return lied
}
