package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/ingest/arrowipc"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/parquetmeta"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// MayCreate returns an error if the folder of an output file is missing, or if the file would be
// among the data: the next call on the same data would read it.
func MayCreate(output string, data Origin) error {
	if err := Local(output); err != nil {
		return err
	}
	dir := filepath.Dir(output)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("directory %s does not exist", dir)
	}
	return mayMake(output, data)
}

// mayMake is MayCreate for a file whose folder will be made.
func mayMake(output string, data Origin) error {
	if at, err := os.Stat(filepath.Dir(output)); err == nil && !at.IsDir() {
		return fmt.Errorf("%s is no directory", filepath.Dir(output))
	}
	if found := data.Finds(output); found != "" {
		return fmt.Errorf("%s is inside the data %s; choose a location outside, or a name that begins with . or _", output, found)
	}
	return nil
}

// MayReplace returns an error if output exists and is not a regular file, or is one of the inputs.
func MayReplace(output string, inputs []string) error {
	at, err := os.Stat(output)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !at.Mode().IsRegular() {
		return Argument(fmt.Errorf("-o: %s is no regular file", output))
	}
	for _, name := range inputs {
		if in, err := os.Stat(name); err == nil && os.SameFile(at, in) {
			return Argument(fmt.Errorf("-o: %s is read by this command; name another file", output))
		}
	}
	return nil
}

// WriteFile writes a file atomically, and removes leftovers of killed commands from its folder. It is
// an error if path is one of the files in reading.
func WriteFile(fsys durable.FS, path string, reading []string, write func(to io.Writer) error) error {
	if err := MayReplace(path, reading); err != nil {
		return err
	}
	_ = durable.Sweep(fsys, filepath.Dir(path)) // no reason to stop
	return durable.Write(fsys, path, func(file *durable.Pending) error { return write(file) })
}

// isFile returns an error if path names an artifact on topics, as in kafka:BROKERS/NAME.
func isFile(path string) error {
	rest, onTopics := strings.CutPrefix(path, "kafka:")
	if brokers, name, _ := strings.Cut(rest, "/"); onTopics {
		return Argument(fmt.Errorf("%s: artifacts of topics are read as files: make them with pacsgp pull %s --kafka %s -o DIR", path, name, brokers))
	}
	return nil
}

// An Output is the directory that a job publishes to.
type Output = sinklake.Output

// Names of files in an output.
const (
	RunFile           = sinklake.RunFile
	PlotFile          = sinklake.PlotFile
	TrainingStateFile = sinklake.TrainingStateFile
	CurrentFile       = sinklake.CurrentFile
)

var (
	// MergePasses reads the parts of a last pass and merges them.
	MergePasses = sinklake.MergePasses
	// CurrentPaths returns the paths of the current model and certificate of an output.
	CurrentPaths = sinklake.CurrentPaths
	// Damaged returns why the current model of an output cannot be used, or nil.
	Damaged = sinklake.Damaged
)

// OutputIn returns the output in a folder, which may be absent.
func OutputIn(folder string, fsys durable.FS) *Output { return sinklake.NewOutput(folder, fsys) }

// CertificateIn returns the certificate id in a folder that begins with begin, six digits or more.
func CertificateIn(folder, begin string) (string, error) {
	all, err := OutputIn(folder, durable.OS{}).Certificates()
	if err != nil {
		return "", err
	}
	found := slices.DeleteFunc(all, func(id string) bool { return !strings.HasPrefix(id, begin) })
	switch {
	case len(found) == 1 && len(begin) >= 6:
		return found[0], nil
	case len(found) > 1 || len(begin) < 6:
		return "", Argument(fmt.Errorf("%q: want the id of one certificate in %s, or six digits or more of its beginning", begin, folder))
	default:
		return "", fmt.Errorf("%s: there is no certificate with the id %s (hint: the id comes first, then the folder; ls %s lists all, and pacsgp schedule FILE --runs --json those of a schedule)", folder, begin, filepath.Join(folder, "certificate-*.json"))
	}
}

// Malformed reports whether an error is about the bytes of a data file.
func Malformed(err error) bool {
	return errors.Is(err, parquetmeta.ErrMalformed) || errors.Is(err, arrowipc.ErrDamaged)
}
