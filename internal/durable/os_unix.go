//go:build unix && !aix && !solaris

package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// SyncDir opens the directory and syncs it: on POSIX systems new names survive a power cut by
// that.
func (OS) SyncDir(dir string) error {
	d, err := os.Open(dir) //nolint:gosec // G304: the caller's own directory
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// lockFile takes flock(2), which belongs to the open file: a second job in the same process is
// refused too.
func lockFile(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}

func unlockFile(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }
