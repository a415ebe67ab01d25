package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// hides returns a name under which readings of an origin would find what a job
// publishes to its output, or "".
func hides(from Origin, output string) string {
	if output == "" {
		return ""
	}
	for _, name := range []string{sinklake.ModelName("0"), sinklake.RowName("0")} {
		if found := from.Finds(filepath.Join(output, name)); found != "" {
			return found
		}
	}
	return ""
}

// MayCreate refuses a file to write without a directory, or one that would be found
// where the data are: the next call on the same data would read it.
func MayCreate(output string, data Origin) error {
	dir := filepath.Dir(output)
	if at, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("directory %s does not exist", dir)
	} else if err == nil && !at.IsDir() {
		return fmt.Errorf("%s is no directory", dir)
	}
	if found := data.Finds(output); found != "" {
		return fmt.Errorf("%s lies in the data %s; choose a place outside, or a name that begins with . or _", output, found)
	}
	return nil
}

// Local refuses the addresses of stores among the arguments of a command.
func Local(paths ...string) error {
	for _, path := range paths {
		if isRemote(path) {
			return ArgumentError{fmt.Errorf("%s: %s", path, wantLocal)}
		}
	}
	return nil
}
