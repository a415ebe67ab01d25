package lake

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/pacsgp/pacsgp/pipeline/score"
)

// errOutput marks faults of the place that predictions go to.
var errOutput = errors.New("predictions cannot be written")

// ErrFull says that a folder for predictions has no room.
var ErrFull = fmt.Errorf("%w, for the disk is full", errOutput)

// Full returns an error that names the folder, and is [ErrFull], if err says that the disk is
// full; else err. Which of the folder's files it was, whose names are no one's affair while
// they are written, does not matter then.
func Full(folder string, err error) error {
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT} {
		if errors.Is(err, full) {
			return fmt.Errorf("%w: %s: %w", ErrFull, folder, full)
		}
	}
	return err
}

// unwritten is an error of writing to a folder, which may succeed later.
func unwritten(folder string, err error) error {
	full := Full(folder, err)
	if !errors.Is(full, ErrFull) {
		full = fmt.Errorf("%w: %w", errOutput, err)
	}
	return score.Later(full)
}
