package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// An Output is the directory that a job publishes to.
type Output = sinklake.Output

// Names of files in an output.
const (
	RunFile           = sinklake.RunFile
	PlotFile          = sinklake.PlotFile
	TrainingStateFile = sinklake.TrainingStateFile
	CurrentFile       = sinklake.CurrentFile
)

var (
	// Warned are the warnings of the run of a certificate, by the record in its folder.
	Warned = sinklake.Warned
	// MergePasses reads the parts of a last pass and merges them.
	MergePasses = sinklake.MergePasses
	// CurrentPaths are the paths of what is current in an output.
	CurrentPaths = sinklake.CurrentPaths
	// Damaged returns why the current model of an output cannot be used; nil if it can.
	Damaged = sinklake.Damaged
)

// MayBeModel returns an error for a path without an extension at which there is nothing: it was to be
// an output.
func MayBeModel(path string) (err error) {
	if filepath.Ext(path) == "" && !isRemote(path) {
		_, err = os.Stat(path)
	}
	return err
}

// OutputIn is the output in a folder, which need not exist.
func OutputIn(folder string, fsys durable.FS) *Output { return sinklake.NewOutput(folder, fsys) }

// Destination is the output of the task.
func (p Task) Destination(fsys durable.FS) *Output {
	out := OutputIn(p.Output, fsys)
	out.Sign = p.Sign
	return out
}

// CertificateIn completes the beginning of the id of a certificate in a folder.
func CertificateIn(folder, begin string) (string, error) {
	all, err := sinklake.Certificates(durable.OS{}, folder)
	if err != nil {
		return "", err
	}
	var found []string
	for _, id := range all {
		if strings.HasPrefix(id, begin) {
			found = append(found, id)
		}
	}
	switch {
	case len(found) == 1 && len(begin) >= 6:
		return found[0], nil
	case len(found) > 1 || len(begin) < 6:
		return "", Argument(fmt.Errorf("%q: want the id of one certificate in %s, or six digits or more of its beginning", begin, folder))
	default:
		return "", fmt.Errorf("%s: there is no certificate with the id %s", folder, begin)
	}
}

// Into is the task with other rows and another output.
func (p Task) Into(job job.Job, rows dataset.Rows, out pipeline.Output) (Task, *Output) {
	to, _ := out.(*Output)
	p.Job, p.Output = job, to.Folder()
	switch rows := rows.(type) {
	case ingestlake.Rows:
		p.Source = Lake(rows)
	case Origin:
		p.Source = rows
	}
	return p, to
}

// Warnings are remarks about the output before a run.
func (p Task) Warnings() (said []string) {
	if _, err := os.Stat(filepath.Join(p.Output, schedule.StateFile)); err == nil && p.Job.Sequence() == nil {
		said = append(said, fmt.Sprintf("%s is the output of a schedule: this certificate is none of its sequence, and %s moves past its rule", p.Output, CurrentFile))
	}
	if topic, ok := p.Source.(*Topic); ok {
		if left := topic.others(p.Output); len(left) > 0 {
			said = append(said, fmt.Sprintf("spools of other windows, left by failed runs, are in %s: remove them unless a run is to resume them", strings.Join(left, ", ")))
		}
	}
	return said
}

// RunConfig has the limits and resources of runs of the task.
func (p Task) RunConfig() pipeline.RunConfig {
	return pipeline.RunConfig{
		Required: p.Require.Of, Limit: p.Require.Limit, Keep: p.Keep, Folder: p.Folder, Resources: p.Resources, Located: p.Located,
	}
}

// KeepingRejectedRows is the same with the destination of rejected rows, written through a file system. warning gets
// remarks on it.
func (p Task) KeepingRejectedRows(fsys durable.FS, warning func(string)) pipeline.RunConfig {
	how := p.RunConfig()
	if p.Rejected != "" || p.DeadLetters() != nil {
		how.Rejected = rejects{task: p, fs: fsys, warning: warning}
	}
	return how
}

// hides returns a declared path of an origin that would find artifacts of an output, or "".
func hides(from Origin, output string) string {
	if output == "" {
		return ""
	}
	for _, name := range []string{sinklake.ModelName("0"), sinklake.RowName("0")} {
		if found := from.Finds(objects.Join(output, name)); found != "" {
			return found
		}
	}
	return ""
}

// MayCreate refuses an output file without a directory, or among the data: the next call on the
// same data would read it.
func MayCreate(output string, data Origin) error {
	if err := Local(output); err != nil {
		return err
	}
	dir := filepath.Dir(output)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("directory %s does not exist", dir)
	}
	return mayMake(output, data)
}

// mayMake is MayCreate for a file whose directory is made with it.
func mayMake(output string, data Origin) error {
	if at, err := os.Stat(filepath.Dir(output)); err == nil && !at.IsDir() {
		return fmt.Errorf("%s is no directory", filepath.Dir(output))
	}
	if found := data.Finds(output); found != "" {
		return fmt.Errorf("%s lies in the data %s; choose a location outside, or a name that begins with . or _", output, found)
	}
	return nil
}

// MayReplace refuses an output that is no regular file, or one of the inputs.
func MayReplace(output string, inputs []string) error {
	at, err := os.Stat(output)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !at.Mode().IsRegular() {
		return Argument(fmt.Errorf("-o: %s is no regular file", output))
	}
	for _, name := range inputs {
		if in, err := os.Stat(name); err == nil && os.SameFile(at, in) {
			return Argument(fmt.Errorf("-o: %s is read by this command; name another file", output))
		}
	}
	return nil
}

// NewFile begins a file that appears with its Commit and replaces no file that is read. It
// removes leftovers of killed commands from the folder; warning gets its remarks.
func NewFile(fsys durable.FS, path string, reading []string, warning func(string)) (*durable.Pending, error) {
	if err := MayReplace(path, reading); err != nil {
		return nil, err
	}
	folder := filepath.Dir(path)
	if text := durable.SyncWarning(fsys, folder); text != "" {
		warning(text)
	}
	if err := durable.Sweep(fsys, folder); err != nil { // no reason not to write
		warning(err.Error())
	}
	return durable.Create(fsys, path)
}

// Local refuses the addresses of stores among the arguments of a command.
func Local(paths ...string) error {
	for _, path := range paths {
		if isRemote(path) {
			return Argument(fmt.Errorf("%s: %s", path, wantLocal))
		}
	}
	return nil
}
