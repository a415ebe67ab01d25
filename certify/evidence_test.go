package certify

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// dependence is of so many rows whose neighbouring targets have this correlation.
func dependence(rows int64, correlation float64) Series {
	m := Series{Rows: rows, Squares: rows << 18}
	m.Products[0] = int64(correlation * float64((rows-1)<<18))
	return m
}

// sound returns evidence whose certificate is certified: a random draw loses
// about 0.011 on 12,000 rows, a constant about 0.66.
func sound(t testing.TB) Evidence {
	t.Helper()
	job, err := State([]byte(`{"delta": 0.01, "loss": {"kind": "zero-one", "epsilon": 15}, "note": "a<b & c"}`))
	fatal.If(t, err)
	ev := Evidence{
		Loss:  TargetLoss{Loss: Loss{Kind: LossZeroOne, Epsilon: 15}, Target: "delay", Unit: "minutes"},
		Delta: Delta{Declared: 0.01, Methods: []MethodID{MethodPACBayes, MethodHoldout}},
		LossSums: LossSums{
			{PredictorDraw, SubsetTraining}: {Unproven: 2},
			{PredictorMean, SubsetHoldout}:  {Unproven: 1},
		},
		Model: Facts{
			Digest: strings.Repeat("b1", 32), KL: 420.5, Accuracy: 15 * 0x1p-20,
			Kernel: Kernel{Family: KernelSquaredExponential, Families: []string{KernelSquaredExponential}},
			Theta: []Parameter{
				{Name: "ln lengthscale of distance", Grid: Grid{Min: -6, Step: .01, Count: 1201, Prior: PriorFlat}, Index: 644},
				{Name: "ln lengthscale of hour", Grid: Grid{Min: -6, Step: .01, Count: 1201, Prior: PriorPeaked, Centre: 600, Width: .5}, Index: 588},
				{Name: "ln variance", Grid: Grid{Min: -6, Step: .5, Count: 25, Prior: PriorFlat}, Index: 12},
			},
			Jitter: JitterCheck{Limit: 5e-9, Holds: true},
		},
		Constant:   Constant{Value: 7.25, Origin: OriginPrior},
		Counts:     Counts{Rows: 12700, Prior: 600, Training: 12000, Holdout: 85, Duplicates: 5, Rejected: 10},
		Dependence: dependence(12600, -.0123),
		Duplicates: Duplicates{Policy: DuplicatesDropped, Rows: 5},
		Sample:     Sample{Digest: strings.Repeat("0a", 32), Targets: strings.Repeat("7e", 32), Shards: 4, Columns: []string{"distance", "hour", "delay"}},
		Job:        job,
		Publisher:  Declared{Software: "pacsgp 0.1.0", Attempt: Attempt{OnTheseRows: 1, InThisLog: 3}, Training: Training{Machine: "amd64/avx2"}},
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range ev.Counts.Training {
		loss := .022 * random.Float64()
		add(t, &ev.LossSums.At(PredictorDraw, SubsetTraining).Risk, loss)
		addLower(t, &ev.Constant.Risk, .66)
	}
	for i := range ev.Counts.Holdout {
		missed := float64(1 - min(1, i/2)) // the first two rows
		fatal.If(t, ev.LossSums.At(PredictorMean, SubsetHoldout).AddSpread(missed))
	}
	return ev
}

// add adds a loss that must be in range.
func add(t testing.TB, s *RiskSum, loss float64) {
	t.Helper()
	fatal.If(t, s.Add(loss))
}

// addLower adds a loss that must be in range, rounded down.
func addLower(t testing.TB, s *RiskSum, loss float64) {
	t.Helper()
	fatal.If(t, s.AddLower(loss))
}

// certificate certifies evidence that must be valid.
func certificate(t testing.TB, ev Evidence) Certificate {
	t.Helper()
	c, err := Certify(ev)
	fatal.If(t, err)
	return c
}

func TestEvidenceFaultsAreErrors(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, spoil := range map[string]func(*Evidence){
		"delta NaN":          func(ev *Evidence) { ev.Delta.Declared = nan },
		"delta 0":            func(ev *Evidence) { ev.Delta.Declared = 0 },
		"delta 1":            func(ev *Evidence) { ev.Delta.Declared = 1 },
		"KL NaN":             func(ev *Evidence) { ev.Model.KL = nan },
		"KL infinite":        func(ev *Evidence) { ev.Model.KL = inf },
		"KL negative":        func(ev *Evidence) { ev.Model.KL = -1e-9 },
		"epsilon NaN":        func(ev *Evidence) { ev.Loss.Epsilon = nan },
		"epsilon 0":          func(ev *Evidence) { ev.Loss.Epsilon = 0 },
		"epsilon infinite":   func(ev *Evidence) { ev.Loss.Epsilon = inf },
		"unknown loss":       func(ev *Evidence) { ev.Loss.Kind = "absolute" },
		"band without width": func(ev *Evidence) { ev.Loss = TargetLoss{Loss: Loss{Kind: LossBand}, Target: "delay"} },
		"band without below": func(ev *Evidence) { ev.Loss = TargetLoss{Loss: Loss{Kind: LossBand, Above: 1}, Target: "delay"} },
		"band too wide": func(ev *Evidence) {
			ev.Loss = TargetLoss{Loss: Loss{Kind: LossBand, Below: 1e308, Above: 1e308}, Target: "delay"}
		},
		"band NaN": func(ev *Evidence) {
			ev.Loss = TargetLoss{Loss: Loss{Kind: LossBand, Below: nan, Above: 1}, Target: "delay"}
		},
		"share too large": func(ev *Evidence) {
			ev.Loss.Kind, ev.Loss.Epsilon = LossRelativeZeroOne, MostShare+1
		},
		"share NaN":             func(ev *Evidence) { ev.Loss.Kind, ev.Loss.Epsilon = LossRelativeZeroOne, nan },
		"share and below":       func(ev *Evidence) { ev.Loss.Kind, ev.Loss.Below = LossRelativeZeroOne, 1 },
		"relative with epsilon": func(ev *Evidence) { ev.Loss.Kind = LossRelative },
		"other target":          func(ev *Evidence) { ev.Loss.Target = "hour" },
		"no rows": func(ev *Evidence) {
			ev.LossSums.At(PredictorDraw, SubsetTraining).Risk, ev.Constant.Risk, ev.Counts = RiskSum{}, RiskSum{}, Counts{}
		},
		"a loss missing":             func(ev *Evidence) { ev.Counts.Training--; ev.Counts.Holdout++ },
		"no accuracy":                func(ev *Evidence) { ev.Model.Accuracy = 0 },
		"accuracy NaN":               func(ev *Evidence) { ev.Model.Accuracy = nan },
		"unproven negative":          func(ev *Evidence) { ev.LossSums.At(PredictorDraw, SubsetTraining).Unproven = -1 },
		"unproven not counted":       func(ev *Evidence) { ev.LossSums.At(PredictorDraw, SubsetTraining).Unproven = 300 },
		"products above squares":     func(ev *Evidence) { ev.Dependence = dependence(12600, 1.01) },
		"series of other rows":       func(ev *Evidence) { ev.Dependence = dependence(12599, 0) },
		"duplicates unknown policy":  func(ev *Evidence) { ev.Duplicates.Policy = "ignored" },
		"duplicates without policy":  func(ev *Evidence) { ev.Duplicates.Policy = "" },
		"duplicates do not add up":   func(ev *Evidence) { ev.Duplicates.Rows++ },
		"duplicates not dropped":     func(ev *Evidence) { ev.Duplicates.Policy = DuplicatesKept },
		"duplicates dropped in part": func(ev *Evidence) { ev.Counts.Duplicates--; ev.Counts.Holdout++ },
		"duplicates above the limit": func(ev *Evidence) {
			ev.Duplicates.Policy, ev.Duplicates.Limit = DuplicatesLimited, 3e-4
			ev.Counts.Duplicates, ev.Counts.Holdout = 0, 90
		},
		"limit of dropped duplicates": func(ev *Evidence) { ev.Duplicates.Limit = 0.01 },
		"limit of duplicates NaN":     func(ev *Evidence) { ev.Duplicates.Limit = nan },
		"targets digest":              func(ev *Evidence) { ev.Sample.Targets = "7e" },
		"constant on start rows":      func(ev *Evidence) { ev.Constant.Origin = OriginStart },
		"theta misnamed":              func(ev *Evidence) { ev.Model.Theta[2].Name = "ln variance of nothing at all" },
		"unit closes its quotes":      func(ev *Evidence) { ev.Loss.Unit = `m" or less` },
		"column closes its quotes":    func(ev *Evidence) { ev.Loss.Target, ev.Sample.Columns[2] = `d"`, `d"` },
		"column too long": func(ev *Evidence) {
			ev.Loss.Target, ev.Sample.Columns[2] = strings.Repeat("d", 129), strings.Repeat("d", 129)
		},
		"constant's loss missing": func(ev *Evidence) { ev.Constant.Risk = RiskSum{} },
		"constant NaN":            func(ev *Evidence) { ev.Constant.Value = nan },
		"constant from nowhere":   func(ev *Evidence) { ev.Constant.Origin = "" },
		"counts do not add up":    func(ev *Evidence) { ev.Counts.Rejected++ },
		"counts negative":         func(ev *Evidence) { ev.Counts.Rejected, ev.Counts.Holdout = -1, 101 },
		"sample digest":           func(ev *Evidence) { ev.Sample.Digest = "0A" },
		"model digest":            func(ev *Evidence) { ev.Model.Digest = "" },
		"column twice":            func(ev *Evidence) { ev.Sample.Columns = []string{"hour", "hour", "delay"} },
		"kernel":                  func(ev *Evidence) { ev.Model.Kernel.Family = "matern" },
		"kernel not declared":     func(ev *Evidence) { ev.Model.Kernel.Family = KernelMatern32 },
		"no families":             func(ev *Evidence) { ev.Model.Kernel.Families = nil },
		"unknown family":          func(ev *Evidence) { ev.Model.Kernel.Families = append(ev.Model.Kernel.Families, "matern") },
		"family twice": func(ev *Evidence) {
			ev.Model.Kernel.Families = append(ev.Model.Kernel.Families, ev.Model.Kernel.Family)
		},
		"theta too short":    func(ev *Evidence) { ev.Model.Theta = ev.Model.Theta[1:] },
		"theta named twice":  func(ev *Evidence) { ev.Model.Theta[0].Name = ev.Model.Theta[1].Name },
		"index off the grid": func(ev *Evidence) { ev.Model.Theta[0].Index = 1201 },
		"index negative":     func(ev *Evidence) { ev.Model.Theta[0].Index = -1 },
		"grid NaN":           func(ev *Evidence) { ev.Model.Theta[0].Grid.Min = nan },
		"grid step NaN":      func(ev *Evidence) { ev.Model.Theta[0].Grid.Step = nan },
		"grid width NaN":     func(ev *Evidence) { ev.Model.Theta[1].Grid.Width = nan },
		"grid prior":         func(ev *Evidence) { ev.Model.Theta[0].Grid.Prior = "" },
		"jitter limit NaN":   func(ev *Evidence) { ev.Model.Jitter.Limit = nan },
		"jitter limit 0":     func(ev *Evidence) { ev.Model.Jitter.Limit = 0 },
		"attempt 0":          func(ev *Evidence) { ev.Publisher.Attempt.OnTheseRows = 0 },
		"attempts":           func(ev *Evidence) { ev.Publisher.Attempt.InThisLog = 0 },
		"another job":        func(ev *Evidence) { ev.Job.Digest = strings.Repeat("0", 64) },
		"no job":             func(ev *Evidence) { ev.Job = Configuration{} },
		"no software":        func(ev *Evidence) { ev.Publisher.Software = "" },
	} {
		t.Run(name, func(t *testing.T) {
			ev := sound(t)
			spoil(&ev)
			if c, err := Certify(ev); err == nil {
				t.Errorf("Certify gives %+v, want an error", c.Claims)
			}
		})
	}
}
