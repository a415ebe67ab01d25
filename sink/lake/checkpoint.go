package lake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/frame"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// ErrDamagedCheckpoint means that a checkpoint file is damaged. A retry does not help: remove the file to train again.
var ErrDamagedCheckpoint = errors.New("damaged checkpoint")

// checkpointFormat names the format of a checkpoint file: the length of the state, then the state.
const checkpointFormat = "pacsgp-checkpoint-file/2"

// maxCheckpoint bounds a checkpoint, in bytes. The largest ones, with several candidates of 4,000
// inducing points, have a few gigabytes.
const maxCheckpoint = 16 << 30

const checkpointPrefix = "checkpoint-"

// A checkpoint is the checkpoint file of one job in a directory. Each job has its own. Like its
// [Output] it is for one goroutine at a time.
type checkpoint struct {
	of   *Output
	name string
}

// Checkpoint returns the checkpoint of a job, which may have no file yet.
func (o *Output) Checkpoint(job job.Digest) fit.Checkpoints {
	return &checkpoint{of: o, name: checkpointPrefix + job.String()}
}

// path returns the path of the file, which may be absent.
func (c *checkpoint) path() string { return c.of.Path(c.name) }

// Where returns the path of the file, and whether the file exists.
func (c *checkpoint) Where() (path string, there bool) {
	names, err := c.of.fs.List(c.of.path)
	return c.path(), err == nil && slices.Contains(names, c.name)
}

// Save replaces the checkpoint atomically: after a kill the file has the old state or the new one.
func (c *checkpoint) Save(ctx context.Context, state []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return durable.Write(c.of.fs, c.path(), func(p *durable.Pending) error {
		f := frame.NewWriter(p, checkpointFormat)
		f.Integers(int64(len(state)))
		f.Bytes(state)
		return f.Close()
	})
}

// Load returns the last saved state, nil if there is none, or [ErrDamagedCheckpoint].
func (c *checkpoint) Load(ctx context.Context) (state []byte, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := c.of.fs.Open(c.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", c.path(), err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var b bytes.Buffer // grows as it is read, since the stated length may be wrong
	r := frame.NewReader(f, maxCheckpoint, checkpointFormat)
	r.Copy(&b, r.UpTo(maxCheckpoint))
	if err := r.Close(); err != nil {
		return nil, fmt.Errorf("%w: %s: %w (hint: remove the file to train again)", ErrDamagedCheckpoint, c.path(), err)
	}
	return b.Bytes(), nil
}

func (c *checkpoint) Clear(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return c.of.Remove(c.name)
}
