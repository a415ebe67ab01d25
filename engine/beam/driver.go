package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	// The runners of pipelines: prism in this process, any other through its job server.
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/exec/optimized"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/flink"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/sink/report"
)

// Sizes of the parts of a pass, which are elements of a pipeline.
const (
	leastParts  = 64      // number of parts at the least, if the source has as many row groups
	rowsOfAPart = 1 << 20 // about; a part has 16 bytes for each row
)

// partsPrefix begins the name of a folder of parts. Readers of lakes skip such names.
const partsPrefix = "_parts-"

// A driver runs one job. It trains and publishes in this process; the engine makes the parts of both passes.
type driver struct {
	path string
	task config.Task
	out  *config.Output
	how  pipeline.RunConfig
	console
}

func newDriver(ctx context.Context, path string, stdout, stderr io.Writer) (*driver, error) {
	task, err := readJob(ctx, path)
	if err != nil {
		return nil, err
	}
	d := &driver{path: path, task: task, out: task.Destination(durable.OS{}), console: console{stdout, stderr}}
	d.how = task.KeepingRejectedRows(durable.OS{})
	d.how.Software, d.how.Report = config.Software(), config.Report(d.out)
	d.how.Observer = job.Observer{Warning: d.say, Event: d.say}
	for _, text := range task.Warnings() {
		d.say(text)
	}
	return d, nil
}

// run returns the settings of the next run. Training and publishing are separate runs, as with pacsgp.
func (d *driver) run() pipeline.RunConfig {
	how := d.how
	how.Run = randomID()
	return how
}

// randomID returns 12 random hexadecimal digits.
func randomID() string {
	id := make([]byte, 6)
	_, _ = rand.Read(id) // never fails: package crypto/rand
	return fmt.Sprintf("%x", id)
}

// train does what pacsgp train --no-pass does, but the engine makes the first pass.
func (d *driver) train(ctx context.Context) error {
	how := d.run()
	how.FirstPass = d.firstPass
	if err := config.TrainForParts(ctx, d.task, d.out, how); err != nil {
		if ctx.Err() != nil && !errors.Is(err, pipeline.ErrInterrupted) {
			err = fmt.Errorf("%w: %w", pipeline.ErrInterrupted, err)
		}
		return err
	}
	d.say("trained; the engine makes the last pass")
	return nil
}

// firstPass has the engine make the parts of the first pass, and calls use with the merged pass, which is valid
// during the call only.
func (d *driver) firstPass(ctx context.Context, use func(*pass.Pass) error) error {
	d.say("the engine makes the first pass")
	h, err := d.task.TrainingState()
	if err != nil {
		return err
	}
	files, err := d.make(ctx, h)
	if err != nil {
		return err
	}
	all, release, err := config.MergePasses(files)
	if err != nil {
		return err
	}
	if err := errors.Join(use(all), release()); err != nil {
		return err
	}
	d.remove(files)
	return nil
}

// certify has the engine make the parts of the last pass, and publishes the result as pacsgp certify does.
func (d *driver) certify(ctx context.Context) error {
	h, err := d.task.TrainingState()
	if err != nil {
		return err
	}
	if h.First() {
		_, err := h.Trained(ctx)
		return err
	}
	files, err := d.make(ctx, h)
	if err != nil {
		return fmt.Errorf("nothing is published (pacsgp-beam certify goes on without training again): %w", err)
	}
	o, err := config.Certify(ctx, d.task, h, files, d.out, d.run())
	if err != nil {
		return err
	}
	d.remove(files)
	return d.report(o)
}

// make has the engine make the parts of the pass for which the training state is, and returns their files.
// Their folder in the output has the name of the training state, so that another training cannot take the parts
// of a killed driver for its own.
func (d *driver) make(ctx context.Context, h config.TrainingState) ([]string, error) {
	n, err := d.parts(ctx)
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(d.task.Output, partsPrefix+h.Digest[:16])
	if err := d.sweep(folder); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o750); err != nil { //nolint:gosec // in the output, which the user names
		return nil, err
	}
	var numbers []int
	var files []string
	for i := range n {
		numbers, files = append(numbers, i+1), append(files, partFile(folder, i+1, n))
	}
	of := passOf{d.path, h.Digest, "last"}
	if h.First() {
		of.Name = "first"
	}
	defer of.forget() // if this process was a worker, too
	return files, execute(ctx, parts(of, folder, numbers, n))
}

// remove removes the folder of parts that are no longer needed.
func (d *driver) remove(files []string) {
	if err := os.RemoveAll(filepath.Dir(files[0])); err != nil { //nolint:gosec // made above
		d.say("parts are left over: " + err.Error())
	}
}

// sweep removes the parts of earlier trainings, which are useless now. It spares the folder but.
func (d *driver) sweep(but string) error {
	names, err := os.ReadDir(d.task.Output)
	for _, each := range names {
		if strings.HasPrefix(each.Name(), partsPrefix) && each.Name() != filepath.Base(but) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(d.task.Output, each.Name()))) //nolint:gosec // names that this program makes
		}
	}
	return err
}

// execute runs a pipeline on the engine that the flags name.
func execute(ctx context.Context, p *beam.Pipeline) error {
	_, err := beam.Run(ctx, cmp.Or(*runners.Runner, "prism"), p)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w; what the engine still does is lost", pipeline.ErrInterrupted)
	}
	if err != nil {
		return errors.New(reason(err.Error()))
	}
	return nil
}

// reason returns the error of this program's function from the text of an engine's error, which adds plans and
// stacks. It returns the whole text of an error of the engine itself.
func reason(text string) string {
	if at := strings.LastIndex(text, "] failed:\n"); at >= 0 {
		text, _, _ = strings.Cut(text[at+len("] failed:\n"):], "\n\tat ")
	}
	return text
}

// parts returns the number of parts of a pass. Each has some shards, and not too many rows for an element.
func (d *driver) parts(ctx context.Context) (int, error) {
	src, err := d.task.Open(ctx, nil)
	if err != nil {
		return 0, err
	}
	return int(min(int64(len(src.Shards())), max(leastParts, dataset.RowsOf(src)/rowsOfAPart))), nil
}

// report prints the outcome. Its error is the reason for an exit status other than 0.
func (d *driver) report(o *pipeline.Outcome) error {
	out := report.NewEscaper(d.stdout)
	report.WriteSummary(out, o.Result.Certificate, report.Style{})
	_, _ = fmt.Fprintf(out, "Model        %s\nCertificate  %s\n", filepath.Join(d.task.Output, o.Record.Model), filepath.Join(d.task.Output, o.Record.Certificate))
	return errors.Join(out.Flush(), d.task.RunConfig().Verdict(o.Result.Certificate))
}
