package pipeline_test

import (
	"encoding/json"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// An edit replaces a piece of source text that occurs exactly once in a file.
type edit struct{ file, old, new string }

// A mutant is the program without one part of what makes the bound true.
type mutant struct {
	without string
	pkg     string // where the test is that fails on it
	test    string // or a part of it: TestCoverage/flat
	edits   []edit
}

func mutants() []mutant {
	return slices.Concat(boundMutants(), splitMutants(), sumMutants(), errorMutants(), errorTermMutants(), checkMutants())
}

// boundMutants lack a term of the bound.
func boundMutants() []mutant {
	const (
		class = "TestBestOfAFiniteClassIsCovered"
		noKL  = "	sum.Add(sum, exact(t.KL))\n"
		noLnP = "	sum.Add(sum, exact(t.LnInverseWeight))\n"
	)
	return []mutant{
		{"KL, in the bound", "certify", class, []edit{{"certify/bound.go", noKL, ""}}},
		{"KL, in the evidence", "pipeline", "TestCoverage/flat", []edit{{"pipeline/pass/evidence.go", "KL: kl, ", "KL: 0 * kl, "}}},
		{"KL, around predictions", "pipeline", "TestPredictionsAreBoundedByDrawsAroundThem", []edit{{"pipeline/pass/evidence.go", "GaussianKL(m.Predictive.Mean, ", "GaussianKL(m.Posterior.Mean, "}}},
		{"KL, without scaling", "pipeline", "TestCoverage/unscaled", []edit{{"certify/bound.go", noKL, ""}}},
		{"KL, with a list of numbers of inducing points", "pipeline", "TestCoverage/list", []edit{{"certify/bound.go", noKL, ""}}},
		{"KL and ln 1/p", "pipeline", "TestCoverage/peaked", []edit{{"certify/bound.go", noKL, ""}, {"certify/bound.go", noLnP, ""}}},
		{"ln 1/p", "certify", class, []edit{{"certify/bound.go", noLnP, ""}}},
		{"ln of the number of families", "certify", "TestFamiliesCostTheirNumber", []edit{{"certify/grid.go", "if families > 1 {", "if families > 9 {"}}},
		{"ln 1/p of one hyper-parameter", "certify", class, []edit{{"certify/bound.go", "LnInverseWeight(len(ev.Model.Kernel.Families), ev.Model.Theta)", "LnInverseWeight(len(ev.Model.Kernel.Families), ev.Model.Theta[1:])"}}},
		{"ln 1/p: the distance from the peak", "certify", "TestBestOfAPeakedGridIsCovered", []edit{{"certify/grid.go", "exactInt(int64(steps))", "exactInt(0 * int64(steps))"}}},
		{"ln 1/p: the normaliser", "certify", "TestBestOfAPeakedGridIsCovered", []edit{{"certify/grid.go", "weight.Quo(weight, normaliser)", "weight.Quo(weight, exact(1))"}}},
		{"xi", "certify", "TestXiIsCovered", []edit{{"certify/bound.go", "	sum.Add(sum, exact(b.LnXi))\n", ""}}},
		{"delta", "certify", "TestDeltaIsCovered", []edit{{"certify/bound.go", "	sum.Add(sum, exact(b.LnInverseDelta))\n", ""}}},
		{"the share of a method", "certify", "TestMethodsPayForTheirShares", []edit{{"certify/delta.go", "share := product(d.Sequence.share(), partOf(weight, all))", "_, _ = weight, all\n	share := product(d.Sequence.share())"}}},
		{"the share of a number of a sequence", "certify", "TestSequenceSpendsDelta", []edit{{"certify/delta.go", "share := product(d.Sequence.share(), ", "share := product("}}},
		{"the share of a use", "certify", "TestUsesArePaid", []edit{{"certify/delta.go", "share = product(share, d.Reuse.share())", "share = product(share)"}}},
		{"a use of the same rows", "pipeline", "TestReuseOfHeldOutRowsIsPaid", []edit{{"pipeline/fit/log.go", "if o.Rows == rows[0] || o.All == rows[1] {", "if o.All == rows[1] {"}}},
		{"a use of the same rows, whatever the features", "pipeline", "TestReuseOfHeldOutRowsIsPaid", []edit{{"pipeline/fit/log.go", "if o.Rows == rows[0] || o.All == rows[1] {", "if o.Rows == rows[0] {"}}},
		{"the record of a use", "pipeline", "TestReuseAfterKilledRuns", []edit{{"pipeline/fit/log.go", "rows), in.PutLog(log)", "rows), nil"}}},
		{"one of so many answers", "certify", "TestUsesShowOneOfSoManyAnswers", []edit{{"certify/bound.go", "LossSum{Risk: t.Risk.whole()}", "LossSum{Risk: t.Risk}"}}},
		{"the share of the held-out rows", "certify", "TestMethodsPayForTheirShares", []edit{{"certify/bound.go", "BinomialUpper(t.Risk.ones(), g.N, ev.Delta.Declared, share)", "BinomialUpper(t.Risk.ones(), g.N, ev.Delta.Declared, Share{})"}}},
		{"betting: the number of stakes", "certify", "TestBettingUpperIsSoundOnVectors", []edit{{"certify/betting.go", "ln(exact(stakes))", "ln(exact(1))"}}},
		{"betting: delta", "certify", "TestBettingUpperIsSoundOnVectors", []edit{{"certify/betting.go", "Add(exact(rest), ", "Add(exact(0*rest), "}}},
		{"betting: losses rounded down", "certify", "TestBettingUpperIsSoundOnVectors", []edit{{"certify/betting.go", "(units + partUnits - 1) / partUnits", "units / partUnits"}}},
		{"betting: the upper part of a loss", "certify", "TestBettingUpperIsSoundOnVectors", []edit{{"certify/betting.go", "s[cell+1] += over", "s[cell] += over"}}},
		{"betting: what is kept", "certify", "TestBettingUpperIsSoundOnVectors", []edit{{"certify/betting.go", "lnFloat((b+kept)/(b+1))", "lnFloat((b+kept)/max(b, 1))"}}},
		{"betting: the bound alone", "certify", "TestUsesShowOneOfSoManyAnswers", []edit{{"certify/bound.go", "g.Risk, g.shown = nil, LossSum{Risk: RiskSum{count: g.N}, Bound: g.Bound}", "g.shown = LossSum{Risk: RiskSum{count: g.N}, Bound: g.Bound}"}}},
		{"betting: another delta", "pipeline", "TestBoundsAtAnotherDeltaPay", []edit{{"pipeline/fit/log.go", "if !j.ShowsCount() {", "if j.Unit.Given() {"}}},
		{"the probability that a band fails", "certify", "TestBandIsSoundOnVectors", []edit{{"certify/band.go", "for m := k; m >= least; m-- {", "for m := k; m >= k; m-- {"}}},
		{"the level of a band", "certify", "TestBandIsCovered", []edit{{"certify/band.go", "*(1+bandRoom) <= part ", "*(1+bandRoom) <= 30*part "}}},
		{"the rank of a limit", "certify", "TestBandIsCovered", []edit{{"certify/band.go", "	return b.limits[i]\n", "	return b.limits[max(0, i-1)]\n"}}},
		{"the share of a curve", "certify", "TestCurveSteps", []edit{{"certify/curve.go", "partDown(ev.Delta.Declared, share)", "partDown(ev.Delta.Declared, Share{})"}}},
		{"the end of reuse", "pipeline", "TestCurveEndsReuse", []edit{{"pipeline/fit/log.go", "paid.Ended = paid.Ended || o.Curve", "paid.Ended = paid.Ended && o.Curve"}}},
		{"the squared errors of predictors", "pipeline/fit", "TestBestPredictor", []edit{{"pipeline/fit/predictor.go", "errors+point+square", "errors+point+0*square"}}},
		{"the status after the end of reuse", "certify", "TestCurveEndsReuse", []edit{{"certify/certify.go", " || ev.Delta.Reuse.ended() && g.Subset == SubsetHoldout", ""}}},
		{"terms of the binomial tail", "certify", "TestBinomialUpperInvertsTheTail", []edit{{"certify/binomial.go", "		sum.Add(sum, term)\n", ""}}},
	}
}

// splitMutants let rows be used for what their subset does not allow.
func splitMutants() []mutant {
	const prior = "TestPriorDoesNotSeeTheTrainingRows"
	// What the last pass compares with would give these away: they lie there too.
	believe := edit{"pipeline/pass/evidence.go", "	for i, a := range e.prior {\n", "	for i, a := range e.prior[:0] {\n"}
	return []mutant{
		{"subset separation: certified on prior rows too", "pipeline", "TestPriorRowsMayBeAnything", []edit{
			{"pipeline/dataset/split.go", "Shard{First: b.First, Rows: int64(b.Rows)}.Among(r.PriorRows)", "Shard{}.Among(r.PriorRows)"},
			{"pipeline/dataset/split.go", "return r.Rows - r.Prior() - r.Out.Size()", "return r.Rows - r.Out.Size()"},
			{"pipeline/dataset/split.go", "return ordinal - int64(lo) - ", "return ordinal + 0*int64(lo) - "},
			{"pipeline/pass/lastpass.go", "certify.Constant{Origin: certify.OriginPrior", "certify.Constant{Origin: certify.OriginStart"},
		}},
		{"subset separation: scaled by training rows", "pipeline", prior, []edit{
			{"pipeline/pass/firstpass.go", "slices.DeleteFunc(s.Prior.Column(i), ", "slices.DeleteFunc(s.Start.Column(i), "}, believe,
		}},
		{"subset separation: the peak is estimated on training rows", "pipeline", prior, []edit{{"pipeline/fit/train.go", "s.Scaled(s.Prior)", "s.Scaled(s.Start)"}}},
		// The choice of one of two positions is charged with ln 2 a parameter on a grid of two values, which is as much as such a choice can gain here.
		{"subset separation: the peak is estimated on training rows, and nothing is charged for it", "pipeline", "TestPeakedPriorIsCovered", []edit{
			{"pipeline/fit/train.go", "s.Scaled(s.Prior)", "s.Scaled(s.Start)"},
			{"certify/grid.go", "weight.Quo(weight, normaliser)", "weight.Quo(weight, exact(1))"},
			{"certify/grid.go", "const flatShare = 0.125", "const flatShare = 0x1p-30"},
		}},
		{"subset separation: trained on held-out rows", "pipeline", "TestHoldoutSplit", []edit{{"pipeline/dataset/split.go", "!r.heldOutRows.Has(ordinal) && ", ""}}},
		{"subset separation: trained on outside rows", "pipeline", "TestNothingLooksAtOutsideRows", []edit{{"pipeline/dataset/split.go", " && !r.outsideRows.Has(ordinal)", ""}}},
		{"the claim of a headline", "certify", "TestAbout", []edit{{"certify/document.go", "{StatusCertified: -1}", "{StatusCertified: 1}"}}},
		{"training again: the bytes of the model", "pipeline", "TestForgedTrainingIsConditionalAndRefused", []edit{{"pipeline/retrain.go", "case got == c.Model.Digest:", "case got != \"\":"}}},
		{"training again: the time limit", "pipeline", "TestRetrainHoldsToWhatIsDeclared", []edit{{"pipeline/fit/train.go", "return int64(len(t.state.trace)) == *steps", "return int64(len(t.state.trace)) >= *steps-1 && *steps > 0"}}},
		{"the number of held-out rows, without rows", "pipeline", "TestForgedHoldoutIsRefused", []edit{{"pipeline/verify.go", "got > want || got < want &&", "want < 0 && got < want &&"}}},
		{"the split that a training state has", "pipeline", "TestTrainingStateHasTheSplitOfItsKey", []edit{{"pipeline/pass/trainingstate.go", "!slices.Equal(found.Order, h.Order) || ", ""}}},
		{"subset separation: prior rows are held-out rows too", "pipeline", "TestHoldoutSplit", []edit{{"pipeline/dataset/split.go", "r.heldOutRows.Add(x.Ordinal)", "r.heldOutRows.Add(x.Ordinal); return false"}}},
		{"the rule for the baseline's constant", "pipeline", "TestScalingDoesNotChooseTheConstant", []edit{
			{"pipeline/pass/firstpass.go", "bestConstant(s.targets, j.LossSpec(s.Target))", "s.Target.Centre"},
			{"pipeline/pass/lastpass.go", "= bestConstant(kept.Column(p.of.columns-1), m.Meta.Loss)", "= m.Meta.Target.Centre"},
		}},
	}
}

// sumMutants round inwards.
func sumMutants() []mutant {
	const theta = "TestThetaIsRoundedBeforeTheLastRefinement"
	return []mutant{
		{"rounding of theta", "pipeline", theta, []edit{{
			"model/settle.go", "to[i] = t.onGrid(i)", "to[i] = t.cfg.Grids[i].clamp(t.theta[i])",
		}}},
		{"rounding of theta before the last refinement", "pipeline", theta, []edit{
			{"model/settle.go", "to[i] = t.onGrid(i)", "to[i] = t.cfg.Grids[i].clamp(t.theta[i])"},
			{"model/trainer.go", "indices[i] = g.Nearest(theta[i])", "indices[i] = g.Nearest(theta[i]); theta[i] = g.Value(indices[i])"},
		}},
		{"exact sums: added in float64", "certify", "TestRiskSumIsTheSameInEveryOrder", []edit{{
			"certify/risk.go", "lo, carry := bits.Add64(s.lo, other.lo, 0)",
			"sum := (float64(s.hi)*0x1p64 + float64(s.lo)) + float64(other.lo)\n	s.hi = uint64(sum / 0x1p64)\n	s.lo = uint64(sum - float64(s.hi)*0x1p64)\n	lo, carry := bits.Add64(s.lo, 0, 0)",
		}}},
		{"exact sums: losses rounded down", "certify", "TestRiskSumRoundsEachLossUp", []edit{{"certify/risk.go", "math.Ceil(loss * UnitsPerLoss)", "math.Floor(loss * UnitsPerLoss)"}}},
		{"exact sums: mean rounded to nearest", "certify", "TestRiskSumIsSoundOnVectors", []edit{{"certify/risk.go", "f = math.Nextafter(f, 2)", "_ = f"}}},
		{"rounding of the inverse of kl", "certify", "TestKLInverseIsSoundOnVectors", []edit{{"certify/kl.go", "return bracket(q, c)", "return math.Nextafter(bracket(q, c), 0)"}}},
	}
}

// errorMutants lack a term of the intervals of losses.
func errorMutants() []mutant {
	const interval = "TestDrawsAreAboveTheExactLoss"
	return []mutant{
		{"intervals: the error of the mean", "model/loss", interval, []edit{{"model/loss/upper.go", "room[i] = (laws.MeanError[i] + ", "room[i] = (0*laws.MeanError[i] + "}}},
		{"intervals: the error of the variance", "model/loss", interval, []edit{{"model/loss/upper.go", "math.Sqrt(max(0, v-e)), math.Sqrt(max(0, v+e))", "math.Sqrt(max(0, v)), math.Sqrt(max(0, v+0*e))"}}},
		{"intervals: the rounding of the integral", "model/loss", interval, []edit{{"model/loss/upper.go", "rounding = 0x1p-48", "rounding = 0"}}},
		{"accuracy: of the zero-one loss and the band", "model/loss", interval, []edit{{"model/loss/upper.go", "return half - accuracy", "return half"}}},
		{"accuracy: of predictions on held-out rows", "model/loss", "TestPointsAreAboveTheExactLoss", []edit{{"model/loss/upper.go", "most < l.inner(y, r.accuracy)", "most < l.inner(y, 0)"}}},
		{"the error of predictions on held-out rows", "model/loss", "TestPointsAreAboveTheExactLoss", []edit{{"model/loss/upper.go", "pick(most < l.inner", "pick(most-room[i] < l.inner"}}},
		{"accuracy: of a share of the target", "model/loss", interval, []edit{{"model/loss/upper.go", "float64(l.below*size) - accuracy", "float64(l.below * size)"}}},
		{"intervals: the rounding of a share of the target", "model/loss", "TestShareOfASmallTarget", []edit{{"model/loss/upper.go", "float64(8*unitRoundoff", "float64(0*unitRoundoff"}}},
		{"accuracy: of the exponential loss", "model/loss", interval, []edit{{"model/loss/upper.go", "0.858*r.accuracy/l.epsilon + rounding", "rounding"}}},
		{"accuracy: of the squared and the relative loss", "model/loss", interval, []edit{{"model/loss/upper.go", "float64(0.8*apart)+r.accuracy", "float64(0.8*apart)"}}},
		{"accuracy: rows that are not proven count 1", "model/loss", "TestUnknownLawsCostOne", []edit{{"model/loss/upper.go", "if !proven(laws, i) || ", "if "}}},
		{"accuracy: in the pass", "pipeline", "TestAccuracyIsCounted", []edit{{"pipeline/pass/score.go", "accuracy: Accuracy(", "accuracy: 1e-3 * Accuracy("}}},
		{"accuracy: of rows without a prediction", "cmd/pacsgp", "TestCorpus", []edit{{"pipeline/pass/score.go", "w.laws.MeanError[i], w.hi[i] = math.Inf(1), 1", "w.laws.MeanError[i] = math.Inf(1)"}}},
	}
}

// checkMutants believe what they are given.
func checkMutants() []mutant {
	return []mutant{
		{"the jitter check", "pipeline", "TestDamagedModelsAreNotCertified", []edit{{
			"model/jitter.go", "bound = (math.Sqrt(squares) + rounding)", "bound = (0*math.Sqrt(squares) + rounding)",
		}}},
		{"the comparison of samples", "pipeline", "TestRowsThatChangeBeforeTheLastPassAreRefused", []edit{{"pipeline/pass/trainingstate.go", "case found.Sample.Digest != h.Sample || found.Sample.Targets != h.Targets:", "case false:"}}},
		{"the comparison of documents", "pipeline", "TestVerifyRefusesForgedEvidence", []edit{{"pipeline/verify.go", "again, err := pass.Certify(", "_, err := pass.Certify("}, {"pipeline/verify.go", "certify.Same(c, again)", "certify.Same(c, c)"}}},
		{"the comparison of the model's description", "pipeline", "TestVerifyRefusesEveryChangeOfTheModel", []edit{{"pipeline/pass/evidence.go", "b, err := json.Marshal(want)\n", "b, err := a, error(nil)\n"}}},
		{"the comparison of row rules", "pipeline", "TestForgedRowRulesAreRefused", []edit{{"pipeline/pass/evidence.go", "	a, err := json.Marshal(m.Meta)\n", "	want.RowRules = m.Meta.RowRules\n	a, err := json.Marshal(m.Meta)\n"}}},
		{"the check of the peaks", "pipeline", "TestVerifyRefusesAMovedPeak", []edit{{"pipeline/verify.go", "c.Model.Theta[i].Grid.Centre != below && ", "false && "}}},
		{"the stop at duplicates", "pipeline", "TestDuplicatesStopTheJob", []edit{{"pipeline/pass/firstpass.go", "if err := j.Duplicates.Allow(s.duplicates.OfRows(), s.duplicates.Rows); err != nil {", "if err := error(nil); err != nil {"}}},
		{"the subset of duplicates", "pipeline", "TestDroppedDuplicatesAreNotCertifiedOn", []edit{
			{"pipeline/dataset/split.go", "return !r.Out.Has(ordinal)", "return !r.Out.Bad.Has(ordinal)"},
			{"pipeline/dataset/split.go", "r.Rows - r.Prior() - r.Out.Size()", "r.Rows - r.Prior()"},
			{"pipeline/dataset/split.go", " - r.Out.Bad.CountBefore(ordinal) - r.Out.Duplicates.CountBefore(ordinal)", ""},
		}},
		{"rejected rows that are in no subset", "pipeline", "TestToleratedRejectedRowsAreUsedForNothing", []edit{{"pipeline/dataset/split.go", "return !r.Out.Has(ordinal)", "return !r.Out.Duplicates.Has(ordinal)"}}},
		{"the tolerance of rejected rows", "pipeline", "TestTooManyRejectedRowsStopTheJob", []edit{{"pipeline/pass/firstpass.go", "err := j.Rejected.Stop(bad, all, s.bad); err != nil", "err := error(nil); err != nil"}}},
		{"the tolerance of rejected rows in verification", "pipeline", "TestForgedRejectedRowsAreRefused", []edit{{"pipeline/pass/evidence.go", "errors.Join(job.Sequenced(), job.Rejected.Allow(found.Counts.Rejected, found.Counts.Rows), ", "errors.Join(job.Sequenced(), "}}},
		{"the count of duplicates in the last pass", "pipeline", "TestForgedDuplicatesAreRefused", []edit{{"pipeline/verify.go", "	return v.compare(found)", "	found.Duplicates.Rows = c.Duplicates.Rows\n	return v.compare(found)"}}},
		{"the rows of a first pass in parts", "pipeline", "TestForgedFirstPass", []edit{{"pipeline/pass/firstpass.go", "err := rows.owns(found, kept); err != nil", "err := error(nil); err != nil"}}},
		{"the record of an attempt before training", "pipeline", "TestRowsThatChangeBeforeTheLastPassAreRefused", []edit{{"pipeline/fit/log.go", "return n, env.Log.PutLog(log)", "return n, nil"}}},
	}
}

// Of the mutants a tenth is tried in an ordinary run, always the same; all of
// them by `make nightly PART=3`, with 200 runs of each coverage.
var allMutants = flag.Bool("mutants", false, "try all mutants, not a seeded part")

// An edit that does not apply any more shows nothing.
func TestEditsOfMutantsApply(t *testing.T) {
	for _, m := range mutants() {
		for _, e := range m.edits {
			text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(e.file)))
			if n := strings.Count(string(text), e.old); err != nil || n != 1 {
				t.Errorf("without %s: %q stands %d times in %s, want once (%v)", m.without, e.old, n, e.file, err)
			}
		}
	}
}

// Each part of the bound matters: for each there is a test that fails without it.
// The source is not touched; the compiler sees the mutant through an overlay.
func TestMutantsAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the packages once a mutant")
	}
	gotool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command to compile mutants with")
	}
	root, err := filepath.Abs("..")
	fatal.If(t, err)
	all, runs := mutants(), "200"
	tried := make([]bool, len(all))
	for k, i := range rand.New(rand.NewPCG(2026, 11)).Perm(len(all)) {
		tried[i] = k < 6 || *allMutants
	}
	if !*allMutants {
		runs = "40"
	}
	for i, m := range all {
		t.Run(m.without, func(t *testing.T) {
			overlay := m.overlay(t, root) // of all, so that none is out of date
			if !tried[i] {
				t.SkipNow()
			}
			args := []string{"test", "-overlay", overlay, "-count=1", "-vet=off", "-timeout=30m", "-run", "^" + strings.Replace(m.test, "/", "$/^", 1) + "$", "./" + m.pkg}
			if strings.HasPrefix(m.test, "TestCoverage/") {
				args = append(args, "-runs="+runs)
			}
			cmd := exec.CommandContext(t.Context(), gotool, args...)
			cmd.Dir = root
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if !strings.Contains(string(out), "--- FAIL: "+m.test+" ") {
				t.Errorf("%s did not fail on the program without %s:\n%s", m.test, m.without, out)
			}
			if *allMutants {
				t.Logf("%s", out)
			}
		})
	}
}

// overlay writes the mutated files and the file that names them.
func (m mutant) overlay(t *testing.T, root string) string {
	t.Helper()
	dir := t.TempDir()
	sources := map[string]string{}
	for _, e := range m.edits {
		path := filepath.Join(root, filepath.FromSlash(e.file))
		if _, ok := sources[path]; !ok {
			text, err := os.ReadFile(path)
			fatal.If(t, err)
			sources[path] = string(text)
		}
		if n := strings.Count(sources[path], e.old); n != 1 {
			t.Fatalf("%q occurs %d times in %s, want once: bring the mutant up to date", e.old, n, e.file)
		}
		sources[path] = strings.Replace(sources[path], e.old, e.new, 1)
	}
	replace := map[string]string{}
	for path, text := range sources {
		replace[path] = filepath.Join(dir, filepath.Base(path))
		fatal.If(t, os.WriteFile(replace[path], []byte(text), 0o600))
	}
	doc, err := json.Marshal(map[string]any{"Replace": replace})
	fatal.If(t, err)
	overlay := filepath.Join(dir, "overlay.json")
	fatal.If(t, os.WriteFile(overlay, doc, 0o600))
	return overlay
}

// errorTermMutants lack a term of the bounds of docs/explanation/theory.md, section 10. Rounding errors
// lie so far below most terms that only a second computation of the bounds sees them.
func errorTermMutants() []mutant {
	const terms, defect = "TestErrorTermsAreThoseOfTheProof", "TestDefectHoldsWhatTheFactorsLeave"
	return []mutant{
		{"distances, in the kernel column", "model", terms, []edit{{"model/errors.go", "float64(e.perReach*reach)+e.perRoot", "float64(0*reach)+e.perRoot"}}},
		{"the exponent, in the kernel column", "model", terms, []edit{{"model/errors.go", "float64(e.perReach*reach)+e.perRoot", "float64(e.perReach*reach)+0*e.perRoot"}}},
		{"the last roundings, in the kernel column", "model", terms, []edit{{"model/errors.go", "float64(e.perValue*k)", "float64(0*k)"}}},
		{"what vanishes, in the kernel column", "model", terms, []edit{{"model/errors.go", "float64(tail*e.sigma2*e.m)", "float64(0*e.sigma2*e.m)"}}},
		{"the root of a Matérn distance", "model", terms, []edit{{"model/errors.go", "4.2 + proven.Root", "4.2 + 0*proven.Root"}}},
		{"the units of a Matérn distance", "model", terms, []edit{{"model/errors.go", "math.Sqrt(e.stretch*sum)", "math.Sqrt(0.5*sum)"}}},
		{"how far Matérn values move", "model", terms, []edit{{"model/kernel/matern.go", "Shift: 0.46", "Shift: 0.41"}}},
		{"how far Matérn values move with the scale", "model", terms, []edit{{"model/kernel/matern.go", "Scale: 1.15", "Scale: 1.1"}}},
		{"the last roundings of a Matérn value", "model", terms, []edit{{"model/kernel/matern.go", "Last: 7.4", "Last: 3.4"}}},
		{"where a Matérn value is nothing", "model", terms, []edit{{"model/kernel/matern.go", "Last: 5.4, Vanish: 300", "Last: 5.4, Vanish: 20"}}},
		{"the constants themselves", "model/kernel", "TestErrorConstants", []edit{{"model/kernel/matern.go", "Shift: 0.46", "Shift: 0.41"}}},
		{"the constant of a row", "model/kernel", "TestErrorConstants", []edit{{"model/kernel/matern.go", "RowScale: 0.31", "RowScale: 0.28"}}},
		{"far inducing points, in the kernel column", "model", terms, []edit{{"model/errors.go", "float64(2*distance)+e.vanish", "float64(0*distance)+e.vanish"}}},
		{"the product, in the mean", "model", terms, []edit{{"model/errors.go", "float64(e.dot*k)+dk", "float64(0*k)+dk"}}},
		{"the column, in the mean", "model", terms, []edit{{"model/errors.go", "(float64(e.dot*k)+dk)*e.length", "(float64(e.dot*k)+0*dk)*e.length"}}},
		{"the residual of alpha, in the mean", "model", terms, []edit{{"model/errors.go", "*e.length) + e.residual)", "*e.length) + 0*e.residual)"}}},
		{"the product, in the fast variance", "model", terms, []edit{{"model/paths.go", "(float64(e.product*k) + dk) * f.size", "(float64(0*k) + dk) * f.size"}}},
		{"the column, in the fast variance", "model", terms, []edit{{"model/paths.go", "(float64(e.product*k) + dk) * f.size", "(float64(e.product*k) + 0*dk) * f.size"}}},
		{"the defect, in the fast variance", "model", terms, []edit{{"model/paths.go", "return (f.defect + ", "return (0*f.defect + "}}},
		{"the sum, in the fast variance", "model", terms, []edit{{"model/paths.go", "float64(gamma(e.m+8)*(e.sigma2+float64(3*image)))", "float64(0*(e.sigma2+float64(3*image)))"}}},
		{"substitution, in the exact variance", "model", terms, []edit{{"model/paths.go", "(dk + float64(gamma(e.m+8)*e.lower*phi))", "(dk + float64(0*e.lower*phi))"}}},
		{"the column, in the exact variance", "model", terms, []edit{{"model/paths.go", "(dk + float64(gamma(e.m+8)*e.lower*phi))", "(0*dk + float64(gamma(e.m+8)*e.lower*phi))"}}},
		{"the product, in the exact variance", "model", terms, []edit{{"model/paths.go", "q := float64(e.product * e.covFactor * phi)", "q := float64(0 * e.covFactor * phi)"}}},
		{"what the factors leave, in the defect", "model", defect, []edit{{"model/paths.go", "defect := norm(rest.Data) + ", "defect := 0*norm(rest.Data) + "}}},
		{"rounding of the rest, in the defect", "model", defect, []edit{{"model/paths.go", "float64(2*product*sizes)", "float64(0*product*sizes)"}}},
		{"rounding of VL, in the defect", "model", defect, []edit{{"model/paths.go", "off := product * norm(", "off := 0 * norm("}}},
	}
}
