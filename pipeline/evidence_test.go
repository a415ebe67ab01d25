package pipeline_test

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// A plain is a second, dumb reading of what a certificate should be based on:
// split by sorting hashes, scaling by two loops, one row after the other.
type plain struct {
	prior, train  []int
	centre, scale []float64
}

func plainly(columns [][]float64, key string) plain {
	n := len(columns[0])
	hash := make([]uint64, n)
	ordinals := make([]int, n)
	for i := range n {
		text := append([]byte("pacsgp/roles/1\x00"+key+"\x00"), binary.BigEndian.AppendUint64(nil, uint64(i))...)
		sum := sha256.Sum256(text)
		hash[i], ordinals[i] = binary.BigEndian.Uint64(sum[:]), i
	}
	slices.SortStableFunc(ordinals, func(i, j int) int {
		if hash[i] < hash[j] {
			return -1
		}
		return 1
	})
	k := min(20000, max(n/20, min(200, n/10)))
	p := plain{prior: ordinals[:k], train: ordinals[k:]}
	slices.Sort(p.prior)
	for _, column := range columns {
		var sum, squares float64
		for _, i := range p.prior {
			sum += column[i]
		}
		centre := sum / float64(k)
		for _, i := range p.prior {
			squares += (column[i] - centre) * (column[i] - centre)
		}
		p.centre, p.scale = append(p.centre, centre), append(p.scale, math.Sqrt(squares/float64(k)))
	}
	return p
}

// riskOf is the mean loss of random draws from a posterior on training rows, by the formula, with the tolerance
// less the accuracy.
func riskOf[I int | int64](t *testing.T, columns [][]float64, train []I, meta pass.ModelMeta, posterior *model.Posterior) float64 {
	predictor, err := model.NewPredictor(posterior, 1)
	fatal.If(t, err)
	defer predictor.Close()
	epsilon := (1 - 0x1p-12) * meta.Loss.Epsilon / meta.Target.Scale
	sum := new(big.Int)
	for _, i := range train {
		var x []float64
		for c, a := range meta.Features {
			x = append(x, (columns[c][i]-a.Centre)/a.Scale)
		}
		y := (columns[2][i] - meta.Target.Centre) / meta.Target.Scale
		var m, v [1]float64
		fatal.If(t, predictor.Predict(x, m[:], v[:]))
		s := math.Sqrt(v[0])
		loss := 0.5*math.Erfc(-(y-epsilon-m[0])/s/math.Sqrt2) + 0.5*math.Erfc(-(m[0]-y-epsilon)/s/math.Sqrt2)
		units, _ := new(big.Float).SetMantExp(big.NewFloat(loss), 60).Int(nil) // rounded down
		sum.Add(sum, units)
	}
	scaled := new(big.Float).SetMantExp(new(big.Float).SetInt(sum), -60)
	mean, _ := scaled.Quo(scaled, big.NewFloat(float64(len(train)))).Float64()
	return mean
}

// Next to held-out rows predictions are bounded from the training rows on request: by the risk and the KL of
// draws around them, with the part of δ that the claim about draws from Q has. The evidence cannot be nudged.
func TestPredictionsAreBoundedByDrawsAroundThem(t *testing.T) {
	columns := waves(700, 0.2, 30)
	l := newLake(columns, 300, 400)
	p := publish(t, l, func(j *job.Job) {
		j.Inducing, j.Train.Passes = []int{12}, 4
		j.Split.Holdout, j.Guarantees = 0.3, []certify.MethodID{certify.MethodPACBayes, certify.MethodHoldout, certify.MethodMean}
	})
	m := p.result.Model
	if m.Meta.Predictor.Part == 0 {
		t.Fatal("predictions are the mean of Q: nothing is tested")
	}
	around := *m.Posterior
	around.Mean = m.Predictive.Mean
	rows := splitOf(700, 0.3)
	train, _ := trainingRows(rows, 700)
	risk := riskOf(t, columns, train, m.Meta, &around)
	draw, _ := p.certificate.Claim(certify.ClaimDraw)
	mean, _ := p.certificate.Claim(certify.ClaimMean)
	sum := p.certificate.LossSums.Of(certify.PredictorAround, certify.SubsetTraining)
	if got := sum.Risk.Upper(); !(risk <= got && got <= risk+1e-8) || sum.Risk.Count() != draw.N {
		t.Errorf("the risk of draws around predictions is %.17g on %d rows, want %.17g and hardly more on %d", got, sum.Risk.Count(), risk, draw.N)
	}
	kl := p.certificate.Model.KLAround
	if want := around.KL(); !(want <= kl && kl <= want+1e-8*(1+want)) {
		t.Errorf("KL %v, want %v and hardly more", kl, want)
	}
	n := float64(draw.N)
	upper := certify.KLInverse(risk, (around.KL()+draw.LnInverseWeight+draw.LnXi+draw.LnInverseDelta)/n)
	if want := min(1, 2*upper); !(want <= mean.Bound && mean.Bound <= want+1e-6) || mean.LnInverseDelta != draw.LnInverseDelta || mean.Predictor != certify.PredictorMean {
		t.Errorf("the bound is %v with ln 1/δ %v, want %v and %v", mean.Bound, mean.LnInverseDelta, want, draw.LnInverseDelta)
	}
	for name, change := range map[string]func(*certify.Evidence){
		"less KL":     func(ev *certify.Evidence) { ev.Model.KLAround *= 1 - 1e-9 },
		"the KL of Q": func(ev *certify.Evidence) { ev.Model.KLAround = ev.Model.KL },
		"no KL":       func(ev *certify.Evidence) { ev.Model.KLAround = 0 },
		"the sum of Q": func(ev *certify.Evidence) {
			ev.LossSums.At(certify.PredictorAround, certify.SubsetTraining).Risk = ev.LossSums.Of(certify.PredictorDraw, certify.SubsetTraining).Risk
		},
	} {
		ev := evidence(p.certificate)
		change(&ev)
		p.refuses(t, name, ev, l)
	}
}

// The empirical risk in the certificate is that of the training rows and of no
// other row, each loss rounded up to a multiple of 2⁻⁶⁰, added without error;
// and the scaling is that of the prior rows and of no other row. (A sum of
// differently fused products may differ in last bits on other processors, hence
// the tolerance for the scaling.)
func TestEmpiricalRiskIsThatOfTheTrainingRows(t *testing.T) {
	columns := waves(400, 0.2, 30)
	for i := range columns[0] {
		if i%7 == 0 {
			columns[2][i] += 3 // rows that are missed: sums see which rows they are over
		}
	}
	p := publish(t, newLake(columns, 150, 250), tiny)
	want := plainly(columns, "pacsgp")
	meta := p.result.Model.Meta
	for c, a := range append(slices.Clone(meta.Features), meta.Target) {
		if math.Abs(a.Centre-want.centre[c]) > 1e-13 || math.Abs(a.Scale-want.scale[c]) > 1e-13 {
			t.Errorf("column %s is scaled with %v, %v, want the prior rows' %v, %v", a.Name, a.Centre, a.Scale, want.centre[c], want.scale[c])
		}
	}
	mean := riskOf(t, columns, want.train, meta, p.result.Model.Posterior)
	draw, _ := p.certificate.Claim(certify.ClaimDraw)
	if draw.N != int64(len(want.train)) || p.certificate.LossSums.Of(certify.PredictorDraw, certify.SubsetTraining).Risk.Count() != draw.N {
		t.Fatalf("N = %d, want %d", draw.N, len(want.train))
	}
	// The formula above knows nothing of rounding errors, for which intervals have room.
	if got := *draw.Risk; !(mean <= got && got <= mean+1e-8) {
		t.Errorf("empirical risk is %.17g, want %.17g and hardly more", got, mean)
	}
	if got := *draw.Risk; p.certificate.Counts.Prior != int64(len(want.prior)) || !(got > 0.1) {
		t.Errorf("%d prior rows, risk %v: want %d, and a risk above the share of rows that are missed", p.certificate.Counts.Prior, got, len(want.prior))
	}
}

// q is refined with the θ that is certified: θ stands on its grid, coarse here,
// before the last steps, so that the risk and the KL of the best of them are
// those of the certificate.
func TestThetaIsRoundedBeforeTheLastRefinement(t *testing.T) {
	p := publish(t, newLake(waves(300, 0.2, 31), 300), func(j *job.Job) {
		j.Inducing, j.Train.Passes = []int{8}, 10
		j.Grid.Min, j.Grid.Max, j.Grid.Step = -6, 6, 0.75
	})
	meta := p.result.Model.Meta
	for i, l := range meta.Lengthscales {
		if want := model.Exponential(meta.Theta[i].Value()); l != want {
			t.Errorf("lengthscale %d is %v, not the grid's %v", i, l, want)
		}
	}
	trace := p.result.Training.Trace
	best := trace[len(trace)-1] // a trainer that is done reports its best refinement
	draw, _ := p.certificate.Claim(certify.ClaimDraw)
	kl := p.certificate.Model.KL
	const accuracy = 1e-3 // of the risk: that of tolerances less τ is larger by so much, at most
	if least := best.Risk - 1e-6; !(least <= *draw.Risk && *draw.Risk <= least+accuracy*best.Risk+2e-6) || math.Abs(best.KL-kl) > 1e-6*(1+kl) {
		t.Errorf("the best refinement has risk %v and KL %v, the certificate %v and %v: what was refined is not what is certified",
			best.Risk, best.KL, *draw.Risk, p.certificate.Model.KL)
	}
}

// Every term of the bound stands in the certificate with the value that model,
// grid and job give it, and the bound is no lower than they make it.
func TestCertificateHoldsEveryTermOfTheBound(t *testing.T) {
	p := publish(t, newLake(waves(300, 0.1, 32)), func(j *job.Job) { tiny(j); j.Grid = job.PaperGrid })
	draw, _ := p.certificate.Claim(certify.ClaimDraw)
	q := p.result.Model.Posterior
	weight := 3 * math.Log(1201) // two lengthscales and the variance on the paper's grid
	n := float64(draw.N)
	terms := p.certificate.Model.KL + draw.LnInverseWeight + draw.LnXi + draw.LnInverseDelta
	for _, term := range []struct {
		name             string
		got, want, above float64
	}{
		{"KL", p.certificate.Model.KL, q.KL(), 1e-8 * (1 + q.KL())},
		{"ln 1/p", draw.LnInverseWeight, weight, 1e-12},
		{"ln xi", draw.LnXi, math.Log(math.Sqrt(n * math.Pi / 2)), 0.1}, // ξ = √(πN/2) + 2/3 + …
		{"ln 1/delta", draw.LnInverseDelta, math.Log(100), 1e-14},
		{"exponent", draw.Exponent, terms / n, 1e-14 * terms / n},
		{"bound", draw.Bound, certify.KLInverse(*draw.Risk, terms/n*(1-1e-15)), 1e-12},
	} {
		if !(term.got >= term.want*(1-1e-15) && term.got <= term.want+term.above) {
			t.Errorf("%s = %v, want %v to %v", term.name, term.got, term.want, term.want+term.above)
		}
	}
}

// The prior, the loss and the baseline are functions of the prior rows and
// of the job: with other training rows and the same prior rows they are the
// same to the last bit. There is power because the other training rows lie
// elsewhere, are five times as wide and vary three times as fast: whatever is
// estimated on them moves.
func TestPriorDoesNotSeeTheTrainingRows(t *testing.T) {
	columns, other := waves(300, 0.1, 33), waves(300, 0.4, 34)
	for _, column := range other {
		for i := range column {
			column[i] = 5*column[i] + 7
		}
	}
	for i, x := range other[0] {
		other[2][i] = 7 + 5*math.Sin(6*(x-7)/5)
	}
	for _, i := range plainly(columns, "pacsgp").prior {
		for c := range columns {
			other[c][i] = columns[c][i]
		}
	}
	peaked := func(j *job.Job) {
		tiny(j)
		j.Grid.Prior = "peaked"
	}
	a, b := publish(t, newLake(columns, 150, 150), peaked), publish(t, newLake(other, 150, 150), peaked)
	prior := func(p *published) any {
		meta := p.result.Model.Meta
		var grids []certify.Grid
		for _, x := range meta.Theta {
			grids = append(grids, x.Grid)
		}
		return []any{meta.Features, meta.Target, meta.Loss, grids, p.certificate.Constant.Value}
	}
	if diff := cmp.Diff(prior(a), prior(b)); diff != "" {
		t.Errorf("scaling, loss, grids or baseline depend on training rows:\n%s", diff)
	}
	if *a.certificate.Claims[1].Risk == *b.certificate.Claims[1].Risk {
		t.Error("the training rows make no difference at all")
	}
}

// A reader whose means are off by nearly τ, always to the wrong side, still
// loses no more than the certificate's empirical risk. There is power because the rest of
// the bound is a ten-thousandth of what τ is worth.
func TestAccuracyIsCounted(t *testing.T) {
	columns := waves(300, 0.3, 36)
	p := publish(t, newLake(columns, 300), tiny)
	meta := p.result.Model.Meta
	predictor, err := model.NewPredictor(p.result.Model.Posterior, 1)
	fatal.If(t, err)
	defer predictor.Close()
	var worst float64
	train := plainly(columns, "pacsgp").train
	for _, i := range train {
		var x []float64
		for c, a := range meta.Features {
			x = append(x, (columns[c][i]-a.Centre)/a.Scale)
		}
		mean, variance := make([]float64, 1), make([]float64, 1)
		fatal.If(t, predictor.Predict(x, mean, variance))
		off := math.Abs(mean[0]*meta.Target.Scale + meta.Target.Centre - columns[2][i])
		reach := 0.9 * meta.Loss.Epsilon * 0x1p-12
		point := nature{func(float64) float64 { return 0 }, 0}
		v := variance[0] * meta.Target.Scale * meta.Target.Scale
		worst += point.missRisk(0, off+reach, v, meta.Loss.Epsilon) / float64(len(train))
	}
	ev := evidence(p.certificate)
	if got := ev.LossSums.At(certify.PredictorDraw, certify.SubsetTraining).Risk.Upper(); !(got >= worst) {
		t.Errorf("the empirical risk is %v, a careless reader has %v", got, worst)
	}
}
