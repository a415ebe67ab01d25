package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A Scoring says what is predicted, with which model. Workers read all of it themselves.
type Scoring struct {
	Model, Certificate string   // paths or addresses
	Data               []string // paths or addresses, as in the arguments
	Interval           float64  // share of new rows that an interval covers; 0 means no interval
	Of                 string   // what the predictions follow from: the result of [Scoring.follows]
}

// A predictor is a model with the rows to predict. It predicts one shard at a time, with all processors.
type predictor struct {
	by    config.Predictor
	rows  dataset.Opened
	model *pipeline.Ready // nil if nothing is predicted in this process
}

// predictors are the predictors of this process, by Scoring.Of.
var predictors shared[string, predictor]

// resources returns the resources of a process.
func resources() job.Resources {
	return job.Resources{Workers: runtime.GOMAXPROCS(0)}.WithDefaults()
}

// open reads model and certificate, and lists the rows. It does not prepare the model for predictions.
func (s Scoring) open(ctx context.Context, trusted string) (p predictor, err error) {
	from, err := config.OriginOf(s.Data)
	if err != nil {
		return p, err
	}
	if p.by, err = config.ReadPredictor(ctx, s.Model, s.Certificate, trusted, s.Interval, resources()); err != nil {
		return p, err
	}
	p.rows, err = p.by.Open(ctx, from, resources())
	return p, err
}

// follows returns what the predictions follow from, as JSON: program, model, certificate, interval and files.
func (s Scoring) follows(p predictor) (string, error) {
	files := sha256.New()
	to := json.NewEncoder(files)
	for _, f := range p.rows.Files() {
		f.Modified = f.Modified.UTC()
		if err := to.Encode(f); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(struct {
		Program     string  `json:"program"`
		Model       string  `json:"model"`
		Certificate string  `json:"certificate"`
		Interval    float64 `json:"interval"`
		Files       string  `json:"files"`
	}{config.Software() + ", arithmetic " + model.Arithmetic, p.by.Digest, p.by.ID, s.Interval, fmt.Sprintf("%x", files.Sum(nil))})
	return string(text), err
}

// same returns an error unless the predictor follows from the same things as the one for which the job was started.
func (s Scoring) same(p predictor) error {
	found, err := s.follows(p)
	if err == nil && found != s.Of {
		err = fmt.Errorf("model, certificate, data or program are not those that the job was started with: %s", certify.Difference([]byte(s.Of), []byte(found)))
	}
	return err
}

// ready opens the predictor of the job, and prepares its model.
func (s Scoring) ready(ctx context.Context) (p predictor, err error) {
	if p, err = s.open(ctx, ""); err == nil {
		err = s.same(p)
	}
	if err == nil {
		p.model, err = pipeline.NewReady(p.by.Model, resources().Workers)
	}
	return p, err
}

// A shard is the result of predicting a row group.
type shard struct {
	Number int    `json:"shard"`
	File   string `json:"file"` // a name that has the digest of the file's bytes in it
	config.RowCounts
}

// predict writes the predictions of a shard into a folder.
func (s Scoring) predict(ctx context.Context, number int, folder string) (out shard, err error) {
	err = predictors.lend(s.Of, func() (predictor, error) { return s.ready(ctx) }, func(p predictor) error {
		if number < 0 || number >= len(p.rows.Shards()) {
			return fmt.Errorf("there is no shard %d of %d", number, len(p.rows.Shards()))
		}
		file, err := durable.Create(durable.OS{}, filepath.Join(folder, "shard"))
		if err != nil {
			return err
		}
		defer file.Abort()
		sum := sha256.New()
		n, err := p.by.Write(ctx, p.model, p.rows, []int{number}, io.MultiWriter(file, sum))
		if err != nil {
			return err
		}
		out = shard{number, fmt.Sprintf("%08d-%x.parquet", number, sum.Sum(nil)[:16]), n}
		return file.CommitAs(out.File)
	})
	return out, err
}

// scored returns the pipeline of predictions: numbers of shards -> the result of each, under one key -> the
// record of them all. Files go into the folder.
func scored(s Scoring, folder string, numbers []int, total int) *beam.Pipeline {
	p, root := beam.NewPipelineWithRoot()
	made := beam.ParDo(root, &predictShard{Scoring: s, Folder: folder}, beam.Reshuffle(root, beam.CreateList(root, numbers)))
	beam.ParDo0(root, &recordShards{Run: s.run(), Of: s.Of, Folder: folder, Shards: total}, beam.GroupByKey(root, made))
	return p
}

// run returns the id of the predictions.
func (s Scoring) run() string { return digest.Of([]byte(s.Of)) }

// A predictShard predicts shards.
type predictShard struct {
	Scoring Scoring
	Folder  string
}

// ProcessElement predicts one shard.
func (f *predictShard) ProcessElement(ctx context.Context, number int, emit func(int, []byte)) error {
	found, err := f.Scoring.predict(ctx, number, f.Folder)
	if err != nil {
		return fmt.Errorf("predictions of shard %d: %w", number, err)
	}
	data, err := found.encode()
	emit(0, data)
	return err
}

// A recordShards makes the record of predictions from the results of all shards. If an engine predicts a shard
// several times, all its files must be the same, or the job fails.
type recordShards struct {
	Run, Of, Folder string
	Shards          int
}

// ProcessElement makes the record.
func (f *recordShards) ProcessElement(_ context.Context, _ int, made func(*[]byte) bool) error {
	names := make([]string, f.Shards)
	out := record{Format: recordFormat, Run: f.Run, Of: json.RawMessage(f.Of), Shards: f.Shards}
	for data := []byte(nil); made(&data); data = nil {
		found, err := decodeShard(data)
		switch {
		case err != nil:
			return err
		case found.Number < 0 || found.Number >= f.Shards:
			return fmt.Errorf("a shard %d of %d was predicted", found.Number, f.Shards)
		case names[found.Number] == "":
			names[found.Number] = found.File
			out.Add(found.RowCounts)
		case names[found.Number] != found.File:
			return fmt.Errorf("shard %d was predicted twice, with different results: %s and %s", found.Number, names[found.Number], found.File)
		}
	}
	for number, name := range names {
		if name == "" {
			return fmt.Errorf("shard %d of %d was not predicted", number, f.Shards)
		}
	}
	out.Files = digestOf(names)
	data, err := json.MarshalIndent(out, "", "  ")
	return errors.Join(err, durable.WriteFile(durable.OS{}, filepath.Join(f.Folder, recordName), append(data, '\n')))
}
