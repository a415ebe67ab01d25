package config

import (
	"context"
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
	"github.com/pacsgp/pacsgp/sink/sign"
)

// MaxCertificate bounds a certificate, in either form. One about 1,000 columns has
// some 200 KB.
const MaxCertificate = 16 << 20

// ReadModel reads the model of a reference, and returns the SHA-256 of its bytes with it.
func ReadModel(ctx context.Context, reference string) (pipeline.Model, string, error) {
	if a, ok, err := OnTopics(ctx, reference); ok || err != nil {
		if err != nil {
			return pipeline.Model{}, "", err
		}
		return sink.ModelIn(reference, a.Model)
	}
	data, err := ReadArtifact(ctx, reference)
	if err != nil {
		return pipeline.Model{}, "", err
	}
	return sink.ModelIn(reference, data)
}

// ReadCertificate reads the certificate of a reference, a JSON document or a Parquet row, and
// returns its id with it: the SHA-256 of the document.
func ReadCertificate(ctx context.Context, reference string) (certify.Certificate, string, error) {
	if a, ok, err := OnTopics(ctx, reference); ok || err != nil {
		if err != nil {
			return certify.Certificate{}, "", err
		}
		return sink.CertificateIn(reference, a.Document)
	}
	data, err := ReadArtifact(ctx, reference)
	if err == nil && len(data) > MaxCertificate {
		err = fmt.Errorf("%s: it is a model; want its certificate", reference)
	}
	if err != nil {
		return certify.Certificate{}, "", err
	}
	return sink.CertificateIn(reference, data)
}

// SignedBy returns which key, of a file or folder of trusted ones, has signed the certificate of a
// reference with this id; "" if none is demanded. Signatures are beside it.
func SignedBy(ctx context.Context, reference, id string, c certify.Certificate, trusted string) (string, error) {
	if trusted == "" {
		return "", nil
	}
	a, ok, err := OnTopics(ctx, reference)
	if !ok && err == nil {
		a.Signatures, err = sinklake.Signatures(nil, objects.Dir(reference), id)
	}
	if err != nil {
		return "", err
	}
	return signedBy(ctx, id, c, a.Signatures, trusted)
}

func signedBy(ctx context.Context, id string, c certify.Certificate, signatures [][]byte, trusted string) (string, error) {
	keys, err := sign.ReadTrusted(trusted)
	if err != nil {
		return "", Argument(fmt.Errorf("--trusted: %w", err))
	}
	by, err := keys.Check(ctx, id, c.Model.Digest, signatures)
	if err != nil {
		err = fmt.Errorf("%w: %w", pipeline.ErrRefused, err)
	}
	return by, err
}

// ReadArtifact returns the bytes of a certificate or a model, at most the size of a
// certificate or that of the model's own footer. On topics it is the certificate.
func ReadArtifact(ctx context.Context, reference string) ([]byte, error) {
	if a, ok, err := OnTopics(ctx, reference); ok || err != nil {
		return a.Document, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, size, err := objects.OpenFile(ctx, reference)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	if size > MaxCertificate {
		if err := sink.CheckModelSize(f, size); err != nil {
			return nil, fmt.Errorf("%s: it has %d bytes, more than a certificate (%d MiB), and is no model: %w", reference, size, MaxCertificate>>20, err)
		}
	}
	data := make([]byte, size)
	if _, err := f.ReadAt(data, 0); err != nil {
		return nil, fmt.Errorf("%s: it has changed while it was read: %w", reference, err)
	}
	return data, nil
}
