package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/goccy/go-yaml/ast"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/report"
)

// alternativeConfig is one entry of the key sweep: what it changes in the job.
type alternativeConfig struct {
	Loss     toleranceConfig    `yaml:"loss"`
	Features []string           `yaml:"features"`
	Exclude  []string           `yaml:"exclude"`
	Kernel   kernelChangeConfig `yaml:"kernel"`
}

type kernelChangeConfig struct {
	Family    nameList `yaml:"family"`
	Isotropic *bool    `yaml:"isotropic"`
}

type toleranceConfig struct {
	Epsilon epsilon   `yaml:"epsilon"`
	Below   tolerance `yaml:"below"`
	Above   tolerance `yaml:"above"`
}

// tolerance is a number above 0. 0, which would stand for a key that is left
// out, is none.
type tolerance float64

// UnmarshalYAML reads the number.
func (x *tolerance) UnmarshalYAML(node ast.Node) error {
	value, err := positive(node)
	*x = tolerance(value)
	return err
}

// alternatives translates the key sweep.
func (c configuration) alternatives() []pipeline.Alternative {
	var all []pipeline.Alternative
	for _, a := range c.Sweep {
		out := pipeline.Alternative{
			Loss: pipeline.Tolerance{
				Epsilon: a.Loss.Epsilon.raw, EpsilonStd: a.Loss.Epsilon.std, Below: float64(a.Loss.Below), Above: float64(a.Loss.Above),
			},
			Features: a.Features, Exclude: a.Exclude,
			Kernel: pipeline.KernelChange{Family: a.Kernel.Family, Isotropic: a.Kernel.Isotropic},
		}
		all = append(all, out)
	}
	return all
}

// sweepFaults are what the job's own check cannot see: a tolerance that is given
// as 0 looks to it like one that is left out.
func (c configuration) sweepFaults() []error {
	var faults []error
	for i, a := range c.Sweep {
		if e := a.Loss.Epsilon; e.given && e.raw == 0 && e.std == 0 {
			faults = append(faults, fmt.Errorf("%w: sweep[%d].loss.epsilon: 0 is not positive", pipeline.ErrConfig, i))
		}
	}
	return faults
}

// overridden says that a flag has no effect on a sweep whose alternatives say
// the tolerance themselves.
func (c configuration) overridden() error {
	for _, a := range c.Sweep {
		if a.Loss.Epsilon.given {
			return fmt.Errorf("--epsilon: alternatives of the sweep say their own; change the job file")
		}
	}
	return nil
}

// the names who is judged, in a sentence.
var the = map[pipeline.Judge]string{pipeline.JudgeMean: "the mean of Q", pipeline.JudgeDraw: "a draw of Q"}

// sweepTable prints what the alternatives came to.
func (o *outcome) sweepTable(to system) error {
	all := o.Record.Alternatives
	if len(all) == 0 {
		return nil
	}
	w := to.stdout
	report.WriteDoubts(w, o.Result.Certificate, to.style)
	_, _ = fmt.Fprintf(w, "Sweep of %d alternatives, declared together: all %d certificates hold at once, and any may be chosen\n", len(all), len(all))
	table := tabwriter.NewWriter(w, 2, 4, 2, ' ', 0)
	for _, a := range all {
		mark := " "
		if a.Alternative == o.Record.Best {
			mark = "*"
		}
		_, _ = fmt.Fprintf(table, "%s %d\t%s\tmean %s (%s)\tdraw %s (%s)\t%s\n", mark, a.Alternative, a.Changes,
			certify.AtMost(a.Mean.Bound), a.Mean.Status, certify.AtMost(a.Draw.Bound), a.Draw.Status, a.Certificate)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	best := "the best: of those that are certified the one of the lowest bound for " + the[o.Record.Judge]
	if o.Record.Status != certify.StatusCertified {
		best = "none is certified for " + the[o.Record.Judge] + "; the one of the lowest bound"
	}
	_, err := fmt.Fprintf(w, "* %s. Its certificate:\n\n", best)
	return err
}
