package lake

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// ErrNoCheckpoint says that the directory holds no checkpoint.
var ErrNoCheckpoint = errors.New("lake: no checkpoint")

// ErrDamagedCheckpoint says that the checkpoint is not what was written. A
// retry does not help; training starts anew after [Directory.RemoveCheckpoint].
var ErrDamagedCheckpoint = errors.New("lake: damaged checkpoint")

// checkpointMagic opens a checkpoint file; the SHA-256 of the state, its
// length (64 bits, little endian) and the state follow.
const checkpointMagic = "pacsgp-checkpoint/1\n"

const checkpointHeader = len(checkpointMagic) + sha256.Size + 8

// SaveCheckpoint replaces the checkpoint by state, in one step: a job killed
// at any moment finds the old one or the new one.
func (d *Directory) SaveCheckpoint(state []byte) error {
	sum := sha256.Sum256(state)
	header := make([]byte, 0, checkpointHeader)
	header = append(header, checkpointMagic...)
	header = append(header, sum[:]...)
	header = binary.LittleEndian.AppendUint64(header, uint64(len(state)))
	return writeFile(d.fs, d.Path(checkpointName), header, state)
}

// Checkpoint returns the last saved state, checked against its digest.
func (d *Directory) Checkpoint() (state []byte, err error) {
	f, err := d.fs.Open(d.Path(checkpointName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoCheckpoint
	}
	if err != nil {
		return nil, fmt.Errorf("lake: read %s: %w", d.Path(checkpointName), err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	header := make([]byte, checkpointHeader)
	if _, err := io.ReadFull(f, header); err != nil {
		return nil, fmt.Errorf("%w: %s: header: %w", ErrDamagedCheckpoint, d.Path(checkpointName), err)
	}
	rest, isCheckpoint := bytes.CutPrefix(header, []byte(checkpointMagic))
	if !isCheckpoint {
		return nil, fmt.Errorf("%w: %s: it does not start with %q", ErrDamagedCheckpoint, d.Path(checkpointName), checkpointMagic)
	}
	// The length is checked by what arrives, not allocated on its word.
	state, err = io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("lake: read %s: %w", d.Path(checkpointName), err)
	}
	if want := binary.LittleEndian.Uint64(rest[sha256.Size:]); want != uint64(len(state)) {
		return nil, fmt.Errorf("%w: %s: %d bytes of state, the header says %d", ErrDamagedCheckpoint, d.Path(checkpointName), len(state), want)
	}
	if sum := sha256.Sum256(state); !bytes.Equal(sum[:], rest[:sha256.Size]) {
		return nil, fmt.Errorf("%w: %s: the digest does not match", ErrDamagedCheckpoint, d.Path(checkpointName))
	}
	return state, nil
}

// RemoveCheckpoint removes the checkpoint, if there is one.
func (d *Directory) RemoveCheckpoint() error {
	err := d.fs.Remove(d.Path(checkpointName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = d.fs.SyncDir(d.path)
	}
	if err != nil {
		return fmt.Errorf("lake: remove %s: %w", d.Path(checkpointName), err)
	}
	return nil
}
