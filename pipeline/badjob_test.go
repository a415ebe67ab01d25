package pipeline_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
)

// What a job must not say, each with what is said of it; several faults, apart by |, are told at once.
func TestBadJobsAreRefused(t *testing.T) {
	alone := []certify.MethodID{certify.MethodPACBayes}
	large, nan := 1e31, math.NaN()
	type faults map[string]func(*pipeline.Job)
	for _, of := range []struct {
		what   string
		job    func(*pipeline.Job)
		faults faults
	}{
		{"a job", func(*pipeline.Job) {}, faults{
			"target|delta: say the confidence|epsilon: say the tolerance": func(j *pipeline.Job) { *j = pipeline.Job{} },
			"delta: 1 is not between":                                     func(j *pipeline.Job) { j.Delta = 1 },
			"delta: NaN|epsilon: NaN":                                     func(j *pipeline.Job) { j.Delta, j.Loss.Epsilon = nan, nan },
			"epsilon: -1":                                                 func(j *pipeline.Job) { j.Loss.Epsilon = -1 },
			"not both":                                                    func(j *pipeline.Job) { j.Loss.EpsilonStd = 1 },
			`"y" is the target`:                                           func(j *pipeline.Job) { j.Features = []string{"y"} },
			"inducing: 0|inducing: 4001":                                  func(j *pipeline.Job) { j.Inducing = []int{0, 4001} },
			"kernel: no family":                                           func(j *pipeline.Job) { j.Kernel.Family = []string{} },
			"train.mode|batch -9, buffer 3|passes":                        func(j *pipeline.Job) { j.Train = pipeline.TrainDecl{Mode: "fast", Batch: -9, Buffer: 3, Passes: nan} },
			"grid: min 1":                                                 func(j *pipeline.Job) { j.Grid = pipeline.GridDecl{Min: 1, Step: nan} },
			`loss.kind: "l2"|grid.prior: "cauchy"|scaling: "some"`: func(j *pipeline.Job) {
				j.Loss, j.Grid.Prior, j.Scaling = pipeline.LossDecl{Kind: "l2"}, "cauchy", "some"
			},
			`kernel "matern" is unknown|kernel "matern-3/2" is twice in a list`: func(j *pipeline.Job) {
				j.Kernel.Family = []string{"matern", certify.KernelMatern32, certify.KernelMatern32}
			},
			"takes a share of the target": func(j *pipeline.Job) { j.Loss = pipeline.LossDecl{Kind: certify.LossRelativeZeroOne, EpsilonStd: 0.1} },
			"at most 1000|belong to a band": func(j *pipeline.Job) {
				j.Loss = pipeline.LossDecl{Kind: certify.LossRelativeZeroOne, Epsilon: 1001, Above: 1}
			},
			"how many of the last rows":         func(j *pipeline.Job) { j.Roles.Last = true },
			"roles.outside: these rows are for": func(j *pipeline.Job) { j.Roles.Outside = 0.3 },
		}},
		{"no scaling", func(j *pipeline.Job) { j.Scaling = pipeline.ScalingNone }, faults{
			"grid.prior|loss.epsilon": func(j *pipeline.Job) { j.Loss, j.Grid.Prior = pipeline.LossDecl{EpsilonStd: 1}, "peaked" },
		}},
		{"a method of the paper", func(j *pipeline.Job) { j.Train.Method = pipeline.MethodVFE }, faults{
			`train.method: "SVGP"`:              func(j *pipeline.Job) { j.Train.Method = "SVGP" },
			"mode mini-batch, batch and buffer": func(j *pipeline.Job) { j.Train.Batch = 100 },
			"VFE looks at all rows":             func(j *pipeline.Job) { j.Train.Mode = pipeline.TrainMiniBatch },
			"inducing: full-GP makes each row":  func(j *pipeline.Job) { j.Train.Method, j.Inducing = pipeline.MethodFullGP, []int{5} },
		}},
		{"a mean", func(j *pipeline.Job) { j.Mean.Column = "p" }, faults{
			"roles.outside: 0.7 is no share":           func(j *pipeline.Job) { j.Roles.Outside = 0.7 },
			`mean: "y" is the target`:                  func(j *pipeline.Job) { j.Mean.Column = "y" },
			`mean: "a" is the target or a`:             func(j *pipeline.Job) { j.Mean.Column, j.Features = "a", []string{"a"} },
			"mean: the loss relative ":                 func(j *pipeline.Job) { j.Loss = pipeline.LossDecl{Kind: certify.LossRelative} },
			"train rows, so that they certify nothing": func(j *pipeline.Job) { j.Guarantees = alone },
		}},
		{"groups", byStation(), faults{
			"is the target":  func(j *pipeline.Job) { j.Groups.Column = "y" },
			"groups: name":   func(j *pipeline.Job) { j.Groups = pipeline.GroupsDecl{Values: []float64{1}} },
			"groups: ":       func(j *pipeline.Job) { j.Groups.Values = []float64{1, 1} },
			"does not count": func(j *pipeline.Job) { j.Loss.Kind = certify.LossSquared },
			"mean":           func(j *pipeline.Job) { j.Mean.Column = "m" },
			"beside it":      func(j *pipeline.Job) { j.Guarantees = alone },
		}},
		{"units", func(j *pipeline.Job) { j.Unit.Columns = []string{"day"} }, faults{
			`"y" is the target`:                 func(j *pipeline.Job) { j.Unit.Columns = []string{"y"} },
			`"a" is the target, a feature`:      func(j *pipeline.Job) { j.Unit.Columns, j.Features = []string{"a"}, []string{"a"} },
			"does not go with duplicates: drop": func(j *pipeline.Job) { j.Copies.Policy = pipeline.CopiesDropped },
			"go with roles.holdout last":        func(j *pipeline.Job) { j.Roles.Last, j.Roles.Holdout = true, 0.2 },
			"does not go with mean":             func(j *pipeline.Job) { j.Mean.Column = "m" },
			"does not go with a curve":          func(j *pipeline.Job) { j.Guarantees = append(alone, certify.MethodCurve) },
		}},
		{"any tolerance", anyTolerance, faults{
			"loss.tolerance":         func(j *pipeline.Job) { j.Loss.Tolerance = "all" },
			"needs the method curve": func(j *pipeline.Job) { j.Guarantees = alone },
			"goes with loss.kind zero-one": func(j *pipeline.Job) {
				j.Loss = pipeline.LossDecl{Kind: certify.LossSquared, Epsilon: 1}
				j.Guarantees = append(alone, certify.MethodCurve)
			},
		}},
		{"an encoding", func(j *pipeline.Job) { j.Encode = pipeline.Encodings{{Column: "station"}} }, faults{
			"of the reference rows": func(j *pipeline.Job) { j.Encode[0].OneHot = []float64{1, 1} },
			"different periods":     func(j *pipeline.Job) { j.Encode[0].Cyclic = []float64{0} },
			"two encodings":         func(j *pipeline.Job) { j.Encode = append(j.Encode, j.Encode[0]) },
			"no feature":            func(j *pipeline.Job) { j.Encode[0].Column = "y" },
			"can show the levels":   declareLevels,
			"groups by texts":       func(j *pipeline.Job) { j.Groups = pipeline.GroupsDecl{Column: "station", Texts: []string{"AA"}} },
		}},
		{"a fill", func(j *pipeline.Job) {
			j.Encode = pipeline.Encodings{{Column: "a", Scaled: true, Fill: &pipeline.Fill{}}}
		}, faults{
			"from -1e30 to 1e30":    func(j *pipeline.Job) { j.Encode[0].Fill.With = &large },
			"no feature":            func(j *pipeline.Job) { j.Encode[0].Column = "y" },
			"make groups":           func(j *pipeline.Job) { j.Groups.Column = "a" },
			"levels have no median": func(j *pipeline.Job) { j.Encode[0].Scaled = false },
			"give a number":         declareLevels,
		}},
	} {
		for want, change := range of.faults {
			j := pipeline.Job{Target: "y", Delta: 0.1, Loss: pipeline.LossDecl{Epsilon: 1}}
			of.job(&j)
			change(&j)
			_, err := j.WithDefaults()
			for part := range strings.SplitSeq(want, "|") {
				if !errors.Is(err, pipeline.ErrConfig) || !strings.Contains(err.Error(), part) {
					t.Errorf("%s: error %v, want %q", of.what, err, part)
				}
			}
		}
	}
}
