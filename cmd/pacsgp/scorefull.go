package main

import (
	"errors"
	"fmt"
	"syscall"
)

// errOutput marks faults of the place that predictions go to.
var errOutput = errors.New("predictions cannot be written")

// errFull says that the place has no room.
var errFull = fmt.Errorf("%w, for the disk is full", errOutput)

// unwritten is an error of writing to the output. Which of its files it was, whose names are
// no one's affair while they are written, does not matter on a disk that is full.
func (c scoring) unwritten(err error) error {
	if full := c.full(err); errors.Is(full, errFull) {
		return full
	}
	return fmt.Errorf("%w: %w", errOutput, err)
}

// full is an error that says which folder is full, where that is what has happened.
func (c scoring) full(err error) error {
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT} {
		if errors.Is(err, full) {
			return fmt.Errorf("%w: %s: %w", errFull, c.Output.Folder, full)
		}
	}
	return err
}

// withSpaceHint adds to the error of a command that ends what to do about a full disk.
func withSpaceHint(err error) error {
	if !errors.Is(err, errFull) {
		return err
	}
	return fmt.Errorf("%w (hint: free space, then run the same command again: it goes on with what has no predictions yet)", err)
}
