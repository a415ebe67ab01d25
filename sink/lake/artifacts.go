package lake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink"
)

var (
	_ pipeline.Sink        = (*Directory)(nil)
	_ pipeline.Checkpoints = (*Checkpoint)(nil)
)

// maxModelFile bounds what is read of a model file: the largest, of 4,000
// inducing points, has a quarter of this.
const maxModelFile = 1 << 30

// ModelName is the name of the model file with the SHA-256 digest.
func ModelName(digest string) string { return "model-" + digest + ".parquet" }

// CertificateName is the name of the JSON document of the certificate id.
func CertificateName(id string) string { return "certificate-" + id + ".json" }

// RowName is the name of the certificate id as one row of Parquet.
func RowName(id string) string { return "certificate-" + id + ".parquet" }

// PutModel publishes a model under the SHA-256 of its bytes, which it returns.
func (d *Directory) PutModel(ctx context.Context, m pipeline.Model) (digest string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	data, err := sink.EncodeModel(m)
	if err != nil {
		return "", err
	}
	digest = hexDigest(data)
	return digest, d.Put(ModelName(digest), data)
}

// GetModel reads a model back from its file, whose bytes must have the digest.
func (d *Directory) GetModel(ctx context.Context, digest string) (pipeline.Model, error) {
	if err := ctx.Err(); err != nil {
		return pipeline.Model{}, err
	}
	name := d.Path(ModelName(digest))
	data, err := d.readFile(ModelName(digest), maxModelFile)
	if err != nil {
		return pipeline.Model{}, fmt.Errorf("lake: read %s: %w", name, err)
	}
	if found := hexDigest(data); found != digest {
		return pipeline.Model{}, fmt.Errorf("lake: %s: %w: its SHA-256 is %s", name, pipeline.ErrChanged, found)
	}
	m, err := sink.DecodeModel(data)
	if err != nil {
		return pipeline.Model{}, fmt.Errorf("lake: %s: %w", name, err)
	}
	return m, nil
}

// PutCertificate publishes a certificate as a row of Parquet and as a JSON
// document, both under the SHA-256 of the document, which it returns. The
// document is last: where it is visible the row and, if [Directory.PutModel]
// was called before, the model stand beside it.
func (d *Directory) PutCertificate(ctx context.Context, c certify.Certificate) (id string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	document, err := certify.Marshal(c)
	if err != nil {
		return "", err
	}
	row, err := sink.CertificateRow(c)
	if err != nil {
		return "", err
	}
	id = hexDigest(document)
	if err := d.Put(RowName(id), row); err != nil {
		return "", err
	}
	return id, d.Put(CertificateName(id), document)
}

func hexDigest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
