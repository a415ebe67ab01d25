package config

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"

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

// zeros adds the faults of tolerances given as 0, which the job's own check takes for missing.
func (c JobFile) zeros(faults *yamlfile.Faults) {
	for i, a := range c.Sweep {
		faults.Unless(!a.Loss.Epsilon.zero(), fmt.Sprintf("sweep[%d].loss.epsilon", i), "0 is not positive")
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
