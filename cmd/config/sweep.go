package config

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline"
)

// alternativeConfig is an entry of the key sweep: its changes of the job.
type alternativeConfig struct {
	Loss     toleranceConfig    `yaml:"loss"`
	Features []string           `yaml:"features"`
	Exclude  []string           `yaml:"exclude"`
	Kernel   kernelChangeConfig `yaml:"kernel"`
	Inducing yamlfile.Ints      `yaml:"inducing"`
	Train    trainChangeConfig  `yaml:"train"`
}

type trainChangeConfig struct {
	Passes tolerance `yaml:"passes"`
	Seed   *uint64   `yaml:"seed"`
}

type kernelChangeConfig struct {
	Family    yamlfile.Names `yaml:"family"`
	Isotropic *bool          `yaml:"isotropic"`
}

type toleranceConfig struct {
	Epsilon Epsilon   `yaml:"epsilon"`
	Below   tolerance `yaml:"below"`
	Above   tolerance `yaml:"above"`
}

// tolerance is a number above 0: 0 means a missing key.
type tolerance float64

// UnmarshalYAML reads the number.
func (x *tolerance) UnmarshalYAML(node ast.Node) error {
	value, err := positive(node)
	*x = tolerance(value)
	return err
}

// alternatives translates the key sweep.
func (c JobFile) alternatives() []pipeline.Alternative {
	var all []pipeline.Alternative
	for _, a := range c.Sweep {
		out := pipeline.Alternative{
			Loss: pipeline.Tolerance{
				Epsilon: a.Loss.Epsilon.Raw, EpsilonStd: a.Loss.Epsilon.std, Below: float64(a.Loss.Below), Above: float64(a.Loss.Above),
			},
			Features: a.Features, Exclude: a.Exclude,
			Kernel:   pipeline.KernelChange{Family: a.Kernel.Family, Isotropic: a.Kernel.Isotropic},
			Inducing: a.Inducing, Train: pipeline.TrainChange{Passes: float64(a.Train.Passes), Seed: a.Train.Seed},
		}
		all = append(all, out)
	}
	return all
}

// tolerances adds the faults that the job's own check cannot see: 0, which it takes for missing, and
// percents, which are a share of the target.
func (c JobFile) tolerances(faults *yamlfile.Faults) {
	check := func(key string, e Epsilon) {
		faults.Unless(!e.percent || c.Loss.Kind == string(certify.LossRelativeZeroOne), key, "a share of the target goes with loss.kind "+string(certify.LossRelativeZeroOne))
	}
	check("loss.epsilon", c.Loss.Epsilon)
	for i, a := range c.Sweep {
		key := fmt.Sprintf("sweep[%d].loss.epsilon", i)
		faults.Unless(!a.Loss.Epsilon.zero(), key, "0 is not positive")
		check(key, a.Loss.Epsilon)
	}
}

// overridden refuses the flag for a sweep with tolerances of its alternatives.
func (c JobFile) overridden() error {
	for _, a := range c.Sweep {
		if a.Loss.Epsilon.given {
			return fmt.Errorf("--epsilon: alternatives of the sweep say their own; change the job file")
		}
	}
	return nil
}
