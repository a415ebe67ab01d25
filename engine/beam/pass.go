package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	beamregister "github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// register registers the functions of the pipelines with Beam, for the driver and for workers.
func register() {
	beamregister.DoFn3x1[context.Context, int, func(int, []byte), error](&makePart{})
	beamregister.DoFn3x1[context.Context, int, func(*[]byte) bool, error](&keepPart{})
	beamregister.DoFn3x1[context.Context, int, func(int, []byte), error](&predictShard{})
	beamregister.DoFn3x1[context.Context, int, func(*[]byte) bool, error](&recordShards{})
	beamregister.Emitter2[int, []byte]()
	beamregister.Iter1[[]byte]()
}

// parts returns the pipeline of a pass, the first or the last one: numbers of parts -> their bytes -> one copy of
// each in a folder. All elements are KV<int, []byte>, because engines have been seen to shift the fields of structs.
func parts(pass passOf, folder string, numbers []int, total int) *beam.Pipeline {
	p, s := beam.NewPipelineWithRoot()
	made := beam.ParDo(s, &makePart{Pass: pass, Of: total}, beam.Reshuffle(s, beam.CreateList(s, numbers)))
	beam.ParDo0(s, &keepPart{Folder: folder, Of: total}, beam.GroupByKey(s, made))
	return p
}

// A makePart makes parts of a pass. Beam copies its exported fields to workers.
type makePart struct {
	Pass passOf
	Of   int // number of parts
}

// ProcessElement makes one part.
func (f *makePart) ProcessElement(ctx context.Context, number int, emit func(int, []byte)) error {
	part := pass.Part{Number: number, Of: f.Of}
	data, err := f.Pass.part(ctx, part)
	if err != nil {
		return fmt.Errorf("part %s of the %s pass: %w", part, f.Pass.Name, err)
	}
	emit(number, data)
	return nil
}

// A keepPart stores each part as a file, once. If an engine makes a part several times, all its bytes must be
// the same, or the job fails.
type keepPart struct {
	Folder string
	Of     int // number of parts
}

// ProcessElement stores one part.
func (f *keepPart) ProcessElement(_ context.Context, number int, duplicates func(*[]byte) bool) error {
	path := partFile(f.Folder, number, f.Of)
	kept, err := durable.ReadSmall(path, "a part", math.MaxInt64)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	first := kept
	for data := []byte(nil); duplicates(&data); data = nil {
		if first == nil {
			first = data
		}
		if !bytes.Equal(first, data) {
			return fmt.Errorf("%w: part %d of %d was made twice, with different bytes", pass.ErrPart, number, f.Of)
		}
	}
	if err == nil { // it is there
		return nil
	}
	return durable.WriteFile(durable.OS{}, path, first)
}

// partFile returns the path of a part's file.
func partFile(folder string, number, total int) string {
	return filepath.Join(folder, fmt.Sprintf("part-%d-of-%d", number, total))
}

// A passOf identifies a pass of a job, by the path of the job file and the SHA-256 of the training state in its
// output. The training state of a last pass names the model by its SHA-256.
type passOf struct {
	Job, TrainingState string
	Name               string // first or last
}

// passes are the passes that this process has prepared.
var passes shared[passOf, *pass.Prepared]

// part returns the bytes of one part of the pass, made with all workers of the job.
func (t passOf) part(ctx context.Context, part pass.Part) ([]byte, error) {
	var data bytes.Buffer
	err := passes.lend(t, func() (*pass.Prepared, error) { return t.prepare(ctx) }, func(p *pass.Prepared) error {
		found, err := p.Pass(ctx, part)
		if err != nil {
			return err
		}
		return errors.Join(found.Write(ctx, &data), found.Close())
	})
	return data.Bytes(), err
}

// forget frees what this process has prepared for the pass.
func (t passOf) forget() {
	if p, there := passes.take(t); there {
		p.Close()
	}
}

// A shared holds values that are made once in this process, instead of once for each part or shard, and lent to
// one caller at a time.
type shared[K comparable, V any] struct {
	mu   sync.Mutex
	made map[K]V
}

func (s *shared[K, V]) lend(key K, prepare func() (V, error), use func(V) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, there := s.made[key]
	if !there {
		var err error
		if v, err = prepare(); err != nil {
			return err
		}
		if s.made == nil {
			s.made = map[K]V{}
		}
		s.made[key] = v
	}
	return use(v)
}

// take removes a value, and returns it if there was one.
func (s *shared[K, V]) take(key K) (v V, there bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, there = s.made[key]
	delete(s.made, key)
	return v, there
}

// prepare reads job and training state and, for a last pass, the model. Those of another program or another
// training are an error.
func (t passOf) prepare(ctx context.Context) (*pass.Prepared, error) {
	task, err := readJob(ctx, t.Job)
	if err != nil {
		return nil, err
	}
	h, err := task.TrainingState()
	if err != nil {
		return nil, err
	}
	if h.Digest != t.TrainingState {
		return nil, fmt.Errorf("%s: %w: the SHA-256 of its training state is %s, not %s: it was trained again", task.Output, job.ErrChanged, h.Digest, t.TrainingState)
	}
	return config.Prepare(ctx, task, h)
}

func readJob(ctx context.Context, path string) (config.Task, error) {
	return config.ReadJob(ctx, path, config.Environment{Lookup: os.LookupEnv, Warning: func(string) {}}, config.Overrides{})
}
