package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ReadSmall returns the bytes of a regular file, at most limit. what names the file in errors,
// with an article. Errors name the path: they are or wrap a [fs.PathError].
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
	if _, err := io.ReadFull(f, data); err != nil { // no more of one that grows
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("it has changed while it was read: %w", err)}
	}
	return data, nil
}

// OpenRegular opens a file for reading and returns its size. It refuses what is no regular
// file, without waiting: a pipe would open only when somebody writes to it.
func OpenRegular(name string) (f *os.File, size int64, err error) {
	return openRegular(name, os.O_RDONLY)
}

// openRegular opens a pipe without waiting for its other end.
func openRegular(name string, how int) (*os.File, int64, error) {
	f, err := os.OpenFile(name, how|syscall.O_NONBLOCK, 0o644) //nolint:gosec // G302, G304: the user names it, and what is published is for others to read
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: errors.New("it is not a regular file")}
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}
