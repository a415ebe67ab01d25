package lake

import (
	"errors"
	"fmt"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// MergePasses reads and merges the parts of a last pass. Their files stay open until release.
func MergePasses(paths []string) (all *pass.Pass, release func() error, err error) {
	var open []func() error
	release = func() (err error) {
		for _, each := range open {
			err = errors.Join(err, each())
		}
		return err
	}
	for _, path := range paths {
		file, size, err := durable.OpenRegular(path)
		if err != nil {
			return nil, nil, errors.Join(err, release())
		}
		open = append(open, file.Close)
		part, err := pass.ReadPass(file, size)
		if err == nil && all != nil {
			err = all.Merge(part)
		}
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("%s: %w", path, err), release())
		}
		if all == nil {
			all = part
		}
	}
	return all, release, nil
}
