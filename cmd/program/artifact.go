package program

import (
	"context"
	"errors"
	"fmt"

	"github.com/pacsgp/pacsgp/cmd/config"
)

// TrustedKeys is what the flag --trusted means.
const TrustedKeys = "public keys, a file or a folder of some: demand a signature by one of them"

// Trust is the value of that flag. A variable of a script that is not set would trust anybody.
type Trust string

// String is the path.
func (t *Trust) String() string { return string(*t) }

// Type is that of a flag.
func (*Trust) Type() string { return "string" }

// Set sets the path.
func (t *Trust) Set(path string) error {
	if path == "" {
		return errors.New("want public keys; leave the flag out to demand no signature")
	}
	*t = Trust(path)
	return nil
}

// ArtifactPaths are the model and the certificate that arguments begin with, and the arguments after
// them. An output directory stands for what is current in it.
func ArtifactPaths(ctx context.Context, args []string) (model, certificate string, rest []string, err error) {
	model, certificate, folder, err := config.CurrentPaths(ctx, args[0])
	if folder || err != nil {
		return model, certificate, args[1:], err
	}
	if len(args) < 2 {
		return "", "", nil, config.Argument(fmt.Errorf("%s: want MODEL and CERTIFICATE, or an output directory with %s", args[0], config.CurrentFile))
	}
	return args[0], args[1], args[2:], config.MayBeModel(args[0])
}
