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
var ErrDamagedCheckpoint = errors.New("damaged checkpoint")

// checkpointMagic opens a checkpoint file; the SHA-256 of the state, its
// length (64 bits, little endian) and the state follow.
const checkpointMagic = "pacsgp-checkpoint/1\n"

// maxCheckpoint bounds what is read of a checkpoint: the largest, of several
// candidates of 4,000 inducing points, has a few gigabytes.
const maxCheckpoint = 16 << 30

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

// A Leftover is a file of the directory that has a checkpoint's name and is not
// this job's.
type Leftover struct {
	Path  string
	Fault error // nil: it is whole, and another job's
}

// Others returns the checkpoints that other jobs have left.
func (c *Checkpoint) Others() ([]Leftover, error) {
	names, err := c.d.fs.List(c.d.path)
	if err != nil {
		return nil, fmt.Errorf("lake: list %s: %w", c.d.path, err)
	}
	var others []Leftover
	for _, name := range names {
		if strings.HasPrefix(name, checkpointPrefix) && name != c.name {
			path := c.d.Path(name)
			others = append(others, Leftover{path, checkWhole(c.d.fs, path)})
		}
	}
	return others, nil
}

// checkWhole returns what is wrong with a checkpoint file, in little memory.
func checkWhole(fsys FS, path string) (err error) {
	f, err := fsys.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return readState(f, io.Discard)
}

// readState copies the state of a checkpoint file to w, no more of it than its
// header says. It is an error unless it is what was written.
func readState(r io.Reader, w io.Writer) error {
	header := make([]byte, checkpointHeader)
	if _, err := io.ReadFull(r, header); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	rest, isCheckpoint := bytes.CutPrefix(header, []byte(checkpointMagic))
	if !isCheckpoint {
		return fmt.Errorf("it does not start with %q", checkpointMagic)
	}
	want := binary.LittleEndian.Uint64(rest[sha256.Size:])
	if want > maxCheckpoint {
		return fmt.Errorf("the header says %d bytes of state, more than there can be", want)
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(sum, w), io.LimitReader(r, int64(want)+1))
	switch {
	case err != nil:
		return err
	case uint64(n) != want: //nolint:gosec // G115: a length
		return fmt.Errorf("it has not the %d bytes of state that the header says", want)
	case !bytes.Equal(sum.Sum(nil), rest[:sha256.Size]):
		return errors.New("the digest does not match")
	}
	return nil
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
	// The length is checked by what arrives, not allocated on its word.
	var b bytes.Buffer
	if err := readState(f, &b); err != nil {
		return nil, fmt.Errorf("%w: %s: %w (hint: remove the file to train anew)", ErrDamagedCheckpoint, c.Path(), err)
	}
	return b.Bytes(), nil
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
		err = syncDir(c.d.fs, c.d.path)
	}
	if err != nil {
		return explain(c.Path(), 0, err)
	}
	return nil
}
