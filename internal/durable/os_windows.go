package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// nonblocking is not needed: opening does not wait.
const nonblocking = 0

// renamesOpenFiles says that a file must be closed before it is renamed.
const renamesOpenFiles = false

// SyncDir has nothing to do: Windows has no sync of a directory, and NTFS writes renames to its
// journal.
func (OS) SyncDir(string) error { return nil }

// lockFile locks one byte far beyond the end, so that the file stays readable.
func lockFile(f *os.File) error {
	at := lockedByte
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrLocked
	}
	return err
}

// lockedByte is where the lock is.
var lockedByte = windows.Overlapped{OffsetHigh: 1 << 30}

func unlockFile(f *os.File) error {
	at := lockedByte
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &at)
}
