// Package config decodes job, schedule, score and watch files into typed values. It is the only
// package that names adapters of sources and outputs. It reports all faults of a file at once, and
// has the JSON Schema of each kind of file.
package config

import (
	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/sink/sign"
)

// A JobFile is a job file: one YAML document with the keys of the structs below. Any other key is an error.
type JobFile struct {
	Kafka    Cluster       `yaml:"kafka"`
	Source   SourceSection `yaml:"source"`
	Target   string        `yaml:"target"`
	Features []string      `yaml:"features"`
	Exclude  []string      `yaml:"exclude"`

	Encode map[string]encodeConfig `yaml:"encode"`
	Fill   map[string]fillConfig   `yaml:"fill"`

	Mean   string       `yaml:"mean"`
	Groups groupsConfig `yaml:"groups"`
	Loss   LossSection  `yaml:"loss"`
	Delta  Share        `yaml:"delta"`

	Kernel   kernels        `yaml:"kernel"`
	Grid     string         `yaml:"grid"`
	Inducing yamlfile.Ints  `yaml:"inducing"`
	Scaling  string         `yaml:"scaling"`
	Unit     yamlfile.Names `yaml:"unit"`
	Split    struct {
		Key     string        `yaml:"key"`
		Holdout holdoutConfig `yaml:"holdout"`
		Outside heldOutShare  `yaml:"outside"`
	} `yaml:"split"`
	Duplicates duplicatesConfig `yaml:"duplicates"`
	Rejected   struct {         // rows that break a row rule
		Limit rejectedShare `yaml:"limit"`
		To    rejectedTo    `yaml:"to"`
	} `yaml:"rejected"`
	Train struct {
		Method    string            `yaml:"method"`
		Objective string            `yaml:"objective"`
		Passes    float64           `yaml:"passes"`
		Time      yamlfile.Duration `yaml:"time"`
		Seed      uint64            `yaml:"seed"`
	} `yaml:"train"`

	Guarantees guaranteesConfig `yaml:"guarantees"`

	Output  string   `yaml:"output"`
	Publish struct { // next to the output directory
		Kafka topicsConfig `yaml:"kafka"`
	} `yaml:"publish"`
	Sign       sign.KeyFile `yaml:"sign"` // key that signs certificates, on topics too
	Stream     Stream       `yaml:"stream"`
	Serve      Serve        `yaml:"serve"`
	Require    Require      `yaml:"require"`
	Retain     int          `yaml:"retain"` // number of finished runs whose artifacts are retained; 0 means all
	Budget     `yaml:",inline"`
	Checkpoint yamlfile.Duration `yaml:"checkpoint"`

	Folder string // the folder of the file
}

// A LossSection declares which errors count as misses, or what errors cost.
type LossSection struct {
	Kind    string  `yaml:"kind"`
	Epsilon Epsilon `yaml:"epsilon"`
	Below   float64 `yaml:"below"`
	Above   float64 `yaml:"above"`
	Unit    string  `yaml:"unit"`

	Tolerance string `yaml:"tolerance"`
}

// paperGrid is the value of grid that means [job.PaperGrid].
const paperGrid = "paper"

// job is the part of the file on which the result depends.
func (c JobFile) job() job.Job {
	return job.Job{
		Target: c.Target, Features: c.Features, Exclude: c.Exclude, Encode: encodings(c.Encode, c.Fill), Mean: job.MeanDecl{Column: c.Mean}, Groups: job.GroupsDecl(c.Groups),
		Loss: job.LossDecl{
			Kind: certify.LossKind(c.Loss.Kind), Epsilon: c.Loss.Epsilon.Raw, EpsilonStd: c.Loss.Epsilon.std,
			Below: c.Loss.Below, Above: c.Loss.Above, Tolerance: c.Loss.Tolerance, Unit: c.Loss.Unit,
		},
		Delta:      float64(c.Delta),
		Kernel:     job.KernelDecl{Family: c.Kernel},
		Grid:       map[string]job.GridDecl{paperGrid: job.PaperGrid}[c.Grid],
		Inducing:   c.Inducing,
		Scaling:    job.Scaling(c.Scaling),
		Unit:       job.UnitDecl{Columns: c.Unit},
		Split:      job.SplitDecl{Key: c.Split.Key, Holdout: float64(c.Split.Holdout.share), Last: c.Split.Holdout.last, Outside: float64(c.Split.Outside)},
		Duplicates: job.DuplicatesDecl(c.Duplicates),
		Rejected:   job.RejectedDecl{Limit: float64(c.Rejected.Limit)},
		Train: job.TrainDecl{
			Method: job.NamedMethod(c.Train.Method), Objective: c.Train.Objective,
			Passes: c.Train.Passes, Time: job.Seconds(c.Train.Time), Seed: c.Train.Seed,
		},
		Guarantees: c.Guarantees,
	}
}

func (c *JobFile) relativeTo(folder string) {
	c.Folder = folder
	c.Source.relativeTo(folder)
	relativePaths(folder, append(c.Kafka.files(), &c.Output, &c.Rejected.To.path, (*string)(&c.Sign))...)
}
