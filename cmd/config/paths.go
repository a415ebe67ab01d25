package config

import (
	"fmt"
	"path/filepath"

	"github.com/pacsgp/pacsgp/internal/objects"
)

// An ArgumentError is a fault in a command's arguments.
type ArgumentError struct{ error }

// Argument marks an error as a fault in the arguments.
func Argument(err error) error { return ArgumentError{err} }

// Unwrap returns the marked error.
func (e ArgumentError) Unwrap() error { return e.error }

const wantLocal = "want a path of this machine: only sources and outputs are in stores; mount it, or copy the files"

// isRemote reports whether a path is an address in a store.
func isRemote(path string) bool { return objects.IsAddress(path) }

// Local returns an error if one of the paths is an address in a store.
func Local(paths ...string) error {
	for _, path := range paths {
		if isRemote(path) {
			return Argument(fmt.Errorf("%s: %s", path, wantLocal))
		}
	}
	return nil
}

// relativePaths makes relative paths relative to a folder, except addresses in stores, which are reported later.
func relativePaths(folder string, paths ...*string) {
	for _, p := range paths {
		if *p != "" && !filepath.IsAbs(*p) && !isRemote(*p) {
			*p = filepath.Join(folder, *p)
		}
	}
}
