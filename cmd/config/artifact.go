package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/pipeline/score"
	"github.com/pacsgp/pacsgp/sink"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
	"github.com/pacsgp/pacsgp/sink/sign"
)

// ReadModel reads the model at a path or address, and also returns the SHA-256 of its bytes.
func ReadModel(ctx context.Context, reference string) (pass.Model, string, error) {
	data, err := ReadArtifact(ctx, reference)
	if err != nil {
		return pass.Model{}, "", err
	}
	return sink.ModelIn(reference, data)
}

// ReadCertificate reads the certificate at a path or address, as JSON or as a Parquet row, and also
// returns its id: the SHA-256 of the JSON document.
func ReadCertificate(ctx context.Context, reference string) (certify.Certificate, string, error) {
	data, err := ReadArtifact(ctx, reference)
	if err == nil && len(data) > sinklake.MaxCertificate {
		err = fmt.Errorf("%s: it is a model; want its certificate", reference)
	}
	if err != nil {
		return certify.Certificate{}, "", err
	}
	return sink.CertificateIn(reference, data)
}

// ReadArtifacts reads a model and its certificate.
func ReadArtifacts(ctx context.Context, model, certificate string) (a score.Artifact, err error) {
	if a.Model, a.Digest, err = ReadModel(ctx, model); err == nil {
		a.Certificate, a.ID, err = ReadCertificate(ctx, certificate)
	}
	return a, err
}

// Pointed returns an error if a folder makes the certificate current, and states another bound or status of it.
func Pointed(folder string, c certify.Certificate, id string) error {
	p, err := sinklake.NewOutput(folder, nil).Current()
	if err != nil || p == nil || p.ID != id {
		return err
	}
	g := c.About(p.Predictor)
	if p.Bound != g.Bound || p.Status != "" && p.Status != g.Status {
		return fmt.Errorf("%w: %s states another bound or status than its certificate: %v (%s), not %v (%s)", job.ErrRefused, objects.Join(folder, CurrentFile), p.Bound, p.Status, g.Bound, g.Status)
	}
	return nil
}

// SignedBy returns which key, of a file or folder of trusted ones, has signed the certificate of a
// reference with this id; "" if none is demanded. Signatures are next to it.
func SignedBy(ctx context.Context, reference, id string, c certify.Certificate, trusted string) (string, error) {
	if trusted == "" {
		return "", nil
	}
	signatures, err := sinklake.NewOutput(objects.Dir(reference), nil).Signatures(id)
	if err != nil {
		return "", err
	}
	return signedBy(ctx, id, c, signatures, trusted)
}

func signedBy(ctx context.Context, id string, c certify.Certificate, signatures [][]byte, trusted string) (string, error) {
	keys, err := sign.ReadTrusted(trusted)
	if err != nil {
		return "", Argument(fmt.Errorf("--trusted: %w", err))
	}
	by, err := keys.Check(ctx, id, c.Model.Digest, signatures)
	if err != nil {
		err = fmt.Errorf("%w: %w", job.ErrRefused, err)
	}
	return by, err
}

// ReadArtifact returns the bytes of a certificate or a model. It returns an error for a file that
// is larger than a certificate and than the model in its own footer.
func ReadArtifact(ctx context.Context, reference string) ([]byte, error) {
	if err := errors.Join(ctx.Err(), isFile(reference)); err != nil {
		return nil, err
	}
	f, err := objects.NewView().Open(ctx, reference)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	size := f.Size()
	if size > sinklake.MaxCertificate {
		if err := sink.CheckModelSize(f, size); err != nil {
			return nil, fmt.Errorf("%s: it has %d bytes, more than a certificate (%d MiB), and is no model: %w", reference, size, sinklake.MaxCertificate>>20, err)
		}
	}
	data := make([]byte, size)
	if _, err := f.ReadAt(data, 0); err != nil {
		return nil, fmt.Errorf("%s: it has changed while it was read: %w", reference, err)
	}
	return data, nil
}

// TrustedKeys describes the flag --trusted.
const TrustedKeys = "demand a signature by one of these public `keys`,\na file or a folder"

// ArtifactPaths returns the model and the certificate that args begin with, and the rest of args.
// An output directory means the current model and certificate in it.
func ArtifactPaths(ctx context.Context, args []string) (model, certificate string, rest []string, err error) {
	if err := isFile(args[0]); err != nil {
		return "", "", nil, err
	}
	model, certificate, folder, err := CurrentPaths(ctx, args[0])
	if len(args) > 1 && (!folder || err != nil) {
		if _, err := os.Stat(filepath.Join(args[1], CurrentFile)); err == nil {
			return "", "", nil, Argument(fmt.Errorf("%s is an output directory: name it first, and then the data %s", args[1], args[0]))
		}
	}
	if folder || err != nil {
		return model, certificate, args[1:], err
	}
	if len(args) < 2 {
		return "", "", nil, Argument(fmt.Errorf("%s: want MODEL and CERTIFICATE, or an output directory with %s", args[0], CurrentFile))
	}
	if filepath.Ext(args[0]) == "" && !isRemote(args[0]) { // if it is missing, it was probably meant as an output directory
		_, err = os.Stat(args[0])
	}
	return args[0], args[1], args[2:], err
}
