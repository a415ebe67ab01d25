package lake

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// ErrDamagedCheckpoint says that the checkpoint is not what was written. A
// retry does not help; training starts anew once the file is removed.
var ErrDamagedCheckpoint = errors.New("lake: damaged checkpoint")

// checkpointMagic opens a checkpoint file; the SHA-256 of the state, its
// length (64 bits, little endian) and the state follow.
const checkpointMagic = "pacsgp-checkpoint/1\n"

const checkpointHeader = len(checkpointMagic) + sha256.Size + 8

// A Checkpoint is the place of one job's checkpoint in a directory: another job
// that runs there before this one is finished leaves it alone. Like its
// [Directory] it is for one goroutine at a time.
type Checkpoint struct {
	d    *Directory
	name string
}

// Checkpoint returns the place of the checkpoint of the job with this identity,
// a digest in hexadecimal.
func (d *Directory) Checkpoint(job string) *Checkpoint {
	return &Checkpoint{d: d, name: checkpointPrefix + job}
}

// Path returns the path of the file, which need not be there.
func (c *Checkpoint) Path() string { return c.d.Path(c.name) }

// Others returns the paths of the checkpoints that other jobs have left.
func (c *Checkpoint) Others() ([]string, error) {
	names, err := c.d.fs.List(c.d.path)
	if err != nil {
		return nil, fmt.Errorf("lake: list %s: %w", c.d.path, err)
	}
	var others []string
	for _, name := range names {
		if strings.HasPrefix(name, checkpointPrefix) && name != c.name {
			others = append(others, c.d.Path(name))
		}
	}
	return others, nil
}

// Save replaces the checkpoint by state, in one step: a job killed
// at any moment finds the old one or the new one.
func (c *Checkpoint) Save(ctx context.Context, state []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	sum := sha256.Sum256(state)
	header := make([]byte, 0, checkpointHeader)
	header = append(header, checkpointMagic...)
	header = append(header, sum[:]...)
	header = binary.LittleEndian.AppendUint64(header, uint64(len(state)))
	return writeFile(c.d.fs, c.Path(), header, state)
}

// Load returns the last saved state, checked against its digest, or nil if
// there is none.
func (c *Checkpoint) Load(ctx context.Context) (state []byte, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := c.d.fs.Open(c.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lake: read %s: %w", c.Path(), err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	header := make([]byte, checkpointHeader)
	if _, err := io.ReadFull(f, header); err != nil {
		return nil, c.damaged("header: %w", err)
	}
	rest, isCheckpoint := bytes.CutPrefix(header, []byte(checkpointMagic))
	if !isCheckpoint {
		return nil, c.damaged("it does not start with %q", checkpointMagic)
	}
	// The length is checked by what arrives, not allocated on its word.
	state, err = io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("lake: read %s: %w", c.Path(), err)
	}
	if want := binary.LittleEndian.Uint64(rest[sha256.Size:]); want != uint64(len(state)) {
		return nil, c.damaged("%d bytes of state, the header says %d", len(state), want)
	}
	if sum := sha256.Sum256(state); !bytes.Equal(sum[:], rest[:sha256.Size]) {
		return nil, c.damaged("the digest does not match")
	}
	return state, nil
}

// Clear removes the checkpoint, if there is one.
func (c *Checkpoint) Clear(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := c.d.fs.Remove(c.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = c.d.fs.SyncDir(c.d.path)
	}
	if err != nil {
		return explain(c.Path(), 0, err)
	}
	return nil
}

func (c *Checkpoint) damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s: %w (hint: remove the file to train anew)", ErrDamagedCheckpoint, c.Path(), fmt.Errorf(format, args...))
}
