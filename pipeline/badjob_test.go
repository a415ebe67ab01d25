package pipeline_test

import (
	"math"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// What a job must not say, each with what is said of it; several faults, apart by |, are reported at once.
func TestBadJobsAreRefused(t *testing.T) {
	alone := []certify.MethodID{certify.MethodPACBayes}
	large, nan := 1e31, math.NaN()
	type faults map[string]func(*job.Job)
	for _, of := range []struct {
		what   string
		job    func(*job.Job)
		faults faults
	}{
		{"a job", func(*job.Job) {}, faults{
			"target|delta: choose how likely|epsilon: choose the error":       func(j *job.Job) { *j = job.Job{} },
			"delta: want|at most 0.5, as in 1 % for 99 % confidence, not 0.6": func(j *job.Job) { j.Delta = 0.6 },
			"delta: want|confidence, not NaN|epsilon: want|above 0, not NaN":  func(j *job.Job) { j.Delta, j.Loss.Epsilon = nan, nan },
			"epsilon: want|not -1":                 func(j *job.Job) { j.Loss.Epsilon = -1 },
			"not both":                             func(j *job.Job) { j.Loss.EpsilonStd = 1 },
			`"y" is the target`:                    func(j *job.Job) { j.Features = []string{"y"} },
			"points, not 0|points, not 4001":       func(j *job.Job) { j.Inducing = []int{0, 4001} },
			"kernel: no family":                    func(j *job.Job) { j.Kernel.Family = []string{} },
			"train.mode|batch -9, buffer 3|passes": func(j *job.Job) { j.Train = job.TrainDecl{Mode: "fast", Batch: -9, Buffer: 3, Passes: nan} },
			"grid: min 1":                          func(j *job.Job) { j.Grid = job.GridDecl{Min: 1, Step: nan} },
			`loss.kind: "l2"|grid.prior: "cauchy"|scaling: "some"`: func(j *job.Job) {
				j.Loss, j.Grid.Prior, j.Scaling = job.LossDecl{Kind: "l2"}, "cauchy", "some"
			},
			`kernel "matern" is unknown|kernel "matern-3/2" is twice in a list`: func(j *job.Job) {
				j.Kernel.Family = []string{"matern", certify.KernelMatern32, certify.KernelMatern32}
			},
			"takes a share of the target": func(j *job.Job) { j.Loss = job.LossDecl{Kind: certify.LossRelativeZeroOne, EpsilonStd: 0.1} },
			"at most 1000|belong to a band": func(j *job.Job) {
				j.Loss = job.LossDecl{Kind: certify.LossRelativeZeroOne, Epsilon: 1001, Above: 1}
			},
			"how many of the last rows":         func(j *job.Job) { j.Split.Last = true },
			"split.outside: these rows are for": func(j *job.Job) { j.Split.Outside = 0.3 },
		}},
		{"no scaling", func(j *job.Job) { j.Scaling = job.ScalingNone }, faults{
			"grid.prior|loss.epsilon": func(j *job.Job) { j.Loss, j.Grid.Prior = job.LossDecl{EpsilonStd: 1}, "peaked" },
		}},
		{"a method of the paper", func(j *job.Job) { j.Train.Method = job.MethodVFE }, faults{
			`train.method: "SVGP"`:              func(j *job.Job) { j.Train.Method = "SVGP" },
			"mode mini-batch, batch and buffer": func(j *job.Job) { j.Train.Batch = 100 },
			"VFE uses all rows":                 func(j *job.Job) { j.Train.Mode = job.TrainMiniBatch },
			"inducing: full-GP makes each row":  func(j *job.Job) { j.Train.Method, j.Inducing = job.MethodFullGP, []int{5} },
		}},
		{"a mean", func(j *job.Job) { j.Mean.Column = "p" }, faults{
			"split.outside: 0.7 is no share":              func(j *job.Job) { j.Split.Outside = 0.7 },
			`mean: "y" is the target`:                     func(j *job.Job) { j.Mean.Column = "y" },
			`mean: "a" is the target or a`:                func(j *job.Job) { j.Mean.Column, j.Features = "a", []string{"a"} },
			"mean: the loss relative ":                    func(j *job.Job) { j.Loss = job.LossDecl{Kind: certify.LossRelative} },
			"training rows, so that they certify nothing": func(j *job.Job) { j.Guarantees = alone },
		}},
		{"groups", byStation(), faults{
			"is the target":  func(j *job.Job) { j.Groups.Column = "y" },
			"groups: name":   func(j *job.Job) { j.Groups = job.GroupsDecl{Values: []float64{1}} },
			"groups: ":       func(j *job.Job) { j.Groups.Values = []float64{1, 1} },
			"does not count": func(j *job.Job) { j.Loss.Kind = certify.LossSquared },
			"mean":           func(j *job.Job) { j.Mean.Column = "m" },
			"next to it":     func(j *job.Job) { j.Guarantees = alone },
		}},
		{"units", func(j *job.Job) { j.Unit.Columns = []string{"day"} }, faults{
			`"y" is also the target`:            func(j *job.Job) { j.Unit.Columns = []string{"y"} },
			`"a" is also the target or one of`:  func(j *job.Job) { j.Unit.Columns, j.Features = []string{"a"}, []string{"a"} },
			"does not go with duplicates: drop": func(j *job.Job) { j.Duplicates.Policy = job.DuplicatesDropped },
			"go with split.holdout last":        func(j *job.Job) { j.Split.Last, j.Split.Holdout = true, 0.2 },
			"does not go with mean":             func(j *job.Job) { j.Mean.Column = "m" },
			"does not go with a curve":          func(j *job.Job) { j.Guarantees = append(alone, certify.MethodCurve) },
		}},
		{"any tolerance", anyTolerance, faults{
			"loss.tolerance":         func(j *job.Job) { j.Loss.Tolerance = "all" },
			"needs the method curve": func(j *job.Job) { j.Guarantees = alone },
			"goes with loss.kind zero-one": func(j *job.Job) {
				j.Loss = job.LossDecl{Kind: certify.LossSquared, Epsilon: 1}
				j.Guarantees = append(alone, certify.MethodCurve)
			},
		}},
		{"an encoding", func(j *job.Job) { j.Encode = job.Encodings{{Column: "station"}} }, faults{
			"of the prior rows":   func(j *job.Job) { j.Encode[0].OneHot = []float64{1, 1} },
			"different periods":   func(j *job.Job) { j.Encode[0].Cyclic = []float64{0} },
			"two encodings":       func(j *job.Job) { j.Encode = append(j.Encode, j.Encode[0]) },
			"is the target":       func(j *job.Job) { j.Encode[0].Column = "y" },
			"can show the levels": declareLevels,
			"groups by texts":     func(j *job.Job) { j.Groups = job.GroupsDecl{Column: "station", Texts: []string{"AA"}} },
		}},
		{"a fill", func(j *job.Job) {
			j.Encode = job.Encodings{{Column: "a", Scaled: true, Fill: &job.Fill{}}}
		}, faults{
			"from -1e30 to 1e30":    func(j *job.Job) { j.Encode[0].Fill.With = &large },
			"no feature":            func(j *job.Job) { j.Encode[0].Column, j.Exclude = "b", []string{"b"} },
			"make groups":           func(j *job.Job) { j.Groups.Column = "a" },
			"levels have no median": func(j *job.Job) { j.Encode[0].Scaled = false },
			"give a number":         declareLevels,
		}},
	} {
		for want, change := range of.faults {
			j := job.Job{Target: "y", Delta: 0.1, Loss: job.LossDecl{Epsilon: 1}}
			of.job(&j)
			change(&j)
			_, err := j.WithDefaults()
			demandFaults(t, of.what, err, strings.Split(want, "|"))
		}
	}
}
