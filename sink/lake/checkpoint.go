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
)

// ErrDamagedCheckpoint says that the checkpoint is not what was written. A
// retry does not help; training starts anew once the file is removed.
var ErrDamagedCheckpoint = errors.New("lake: damaged checkpoint")

// checkpointMagic opens a checkpoint file; the SHA-256 of the state, its
// length (64 bits, little endian) and the state follow.
const checkpointMagic = "pacsgp-checkpoint/1\n"

const checkpointHeader = len(checkpointMagic) + sha256.Size + 8

// Save replaces the checkpoint by state, in one step: a job killed
// at any moment finds the old one or the new one.
func (d *Directory) Save(ctx context.Context, state []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	sum := sha256.Sum256(state)
	header := make([]byte, 0, checkpointHeader)
	header = append(header, checkpointMagic...)
	header = append(header, sum[:]...)
	header = binary.LittleEndian.AppendUint64(header, uint64(len(state)))
	return writeFile(d.fs, d.Path(checkpointName), header, state)
}

// Load returns the last saved state, checked against its digest, or nil if
// there is none.
func (d *Directory) Load(ctx context.Context) (state []byte, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := d.fs.Open(d.Path(checkpointName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lake: read %s: %w", d.Path(checkpointName), err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	header := make([]byte, checkpointHeader)
	if _, err := io.ReadFull(f, header); err != nil {
		return nil, d.damaged("header: %w", err)
	}
	rest, isCheckpoint := bytes.CutPrefix(header, []byte(checkpointMagic))
	if !isCheckpoint {
		return nil, d.damaged("it does not start with %q", checkpointMagic)
	}
	// The length is checked by what arrives, not allocated on its word.
	state, err = io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("lake: read %s: %w", d.Path(checkpointName), err)
	}
	if want := binary.LittleEndian.Uint64(rest[sha256.Size:]); want != uint64(len(state)) {
		return nil, d.damaged("%d bytes of state, the header says %d", len(state), want)
	}
	if sum := sha256.Sum256(state); !bytes.Equal(sum[:], rest[:sha256.Size]) {
		return nil, d.damaged("the digest does not match")
	}
	return state, nil
}

// Clear removes the checkpoint, if there is one.
func (d *Directory) Clear(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := d.fs.Remove(d.Path(checkpointName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = d.fs.SyncDir(d.path)
	}
	if err != nil {
		return explain(d.Path(checkpointName), 0, err)
	}
	return nil
}

func (d *Directory) damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s: %w (hint: remove the file to train anew)", ErrDamagedCheckpoint, d.Path(checkpointName), fmt.Errorf(format, args...))
}
