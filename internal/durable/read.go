package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ReadSmall reads a regular file of at most limit bytes. what, with its article, says in errors
// what the file should be. Errors are or wrap a [fs.PathError] with the path.
func ReadSmall(path, what string, limit int64) ([]byte, error) {
	f, size, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	if size > limit {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("it is longer than %s can be (%d KiB); is it one?", what, limit>>10)}
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil { // if the file grows, the rest is not read
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("it has changed while it was read: %w", err)}
	}
	return data, nil
}

// OpenRegular opens a file for reading and returns its size in bytes. Other files than regular ones
// are an error, at once: opening a pipe could wait for a writer.
func OpenRegular(name string) (f *os.File, size int64, err error) {
	return openRegular(name, os.O_RDONLY)
}

// openRegular is OpenRegular with flags. It does not wait for the other end of a pipe.
func openRegular(name string, how int) (*os.File, int64, error) {
	f, err := os.OpenFile(name, how|syscall.O_NONBLOCK, 0o644) //nolint:gosec // G302, G304: the user names it, and what is published is for others to read
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: errors.New("it is a folder, a pipe or a device, not a regular file")}
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}
