package lake

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/pipeline/stream"
	"github.com/pacsgp/pacsgp/sink"
)

// Names of the files of an artifact; see package pipeline.
var (
	ModelName       = pipeline.ModelName
	CertificateName = pipeline.CertificateName
	RowName         = pipeline.RowName
)

// PutModel writes a model to a hidden file and returns the SHA-256 of its bytes. The model stays
// hidden until [Output.PutCertificate] publishes its certificate.
func (o *Output) PutModel(ctx context.Context, m pass.Model) (sum string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	data, err := sink.EncodeModel(m)
	if err != nil {
		return "", err
	}
	sum = digest.Of(data)
	p, err := o.stage(ModelName(sum), data)
	if err != nil {
		return "", err
	}
	if before := o.staged[sum]; p != nil && before != nil {
		before.Abort()
	}
	if p != nil {
		o.staged[sum] = p
	}
	return sum, nil
}

// GetModel reads a stored model, hidden or published. The SHA-256 of its file must be sum.
func (o *Output) GetModel(ctx context.Context, sum string) (pass.Model, error) {
	if err := ctx.Err(); err != nil {
		return pass.Model{}, err
	}
	name := o.Path(ModelName(sum)) // for messages, even if the file is still hidden
	from := name
	if p := o.staged[sum]; p != nil {
		from = p.Name()
	}
	data, err := readAtMost(o.fs, from, sink.MaxModelBytes)
	if err != nil {
		return pass.Model{}, fmt.Errorf("read %s: %w", name, err)
	}
	if found := digest.Of(data); found != sum {
		return pass.Model{}, fmt.Errorf("%s: %w: its SHA-256 is %s", name, job.ErrChanged, found)
	}
	m, err := sink.DecodeModel(data)
	if err != nil {
		return pass.Model{}, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

// CheckCertificate checks a certificate without the rows: against the model with this digest or, if the output does not
// have that, only against itself.
func (o *Output) CheckCertificate(ctx context.Context, c certify.Certificate, model string) error {
	m, err := o.GetModel(ctx, model)
	if errors.Is(err, fs.ErrNotExist) {
		return certify.Recompute(c)
	}
	if err == nil {
		_, err = pipeline.Verify(ctx, c, m, model, nil, job.Resources{})
	}
	return err
}

// PutCertificate publishes a certificate, its signature if the output has a key, and its model if [Output.PutModel]
// stored it. It returns the SHA-256 of the JSON document, which names both the document and the row of Parquet. The
// document becomes visible last. If a file cannot be written, none becomes visible.
func (o *Output) PutCertificate(ctx context.Context, c certify.Certificate) (id string, err error) {
	return o.putSigned(ctx, c, nil)
}

// putSigned is [Output.PutCertificate] with further signatures, which it does not check.
func (o *Output) putSigned(ctx context.Context, c certify.Certificate, signatures [][]byte) (id string, err error) {
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
	id = digest.Of(document)
	var files []*durable.Pending // in the order in which they become visible
	if p := o.staged[c.Model.Digest]; p != nil {
		files = append(files, p)
		delete(o.staged, c.Model.Digest)
	}
	defer func() {
		for _, p := range files {
			p.Abort()
		}
	}()
	if o.key != nil {
		signatures = append(slices.Clip(signatures), o.key.Sign(id, c.Model.Digest))
	}
	type file struct {
		name string
		data []byte
	}
	content := []file{{RowName(id), row}}
	for _, s := range signatures {
		content = append(content, file{SignatureName(id, s), s})
	}
	for _, f := range append(content, file{CertificateName(id), document}) {
		p, err := o.stage(f.name, f.data)
		if err != nil {
			return "", err
		}
		if p != nil {
			files = append(files, p)
		}
	}
	return id, durable.CommitAll(files...)
}

// PutFiles writes an artifact that was published elsewhere into a folder, and returns the paths of
// its files. It does not check signatures.
func PutFiles(ctx context.Context, fsys durable.FS, folder string, a stream.Artifact) (paths []string, err error) {
	d, err := Open(folder, fsys)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	c, err := putModel(ctx, d, a)
	if err != nil {
		return nil, err
	}
	id, err := d.putSigned(ctx, c, a.Signatures)
	if err != nil {
		return nil, err
	}
	paths = []string{d.Path(ModelName(c.Model.Digest)), d.Path(CertificateName(id)), d.Path(RowName(id))}
	for _, s := range a.Signatures {
		paths = append(paths, d.Path(SignatureName(id, s)))
	}
	return paths, nil
}

// putModel stores the model of an artifact and returns the artifact's certificate.
func putModel(ctx context.Context, to pass.Sink, a stream.Artifact) (certify.Certificate, error) {
	c, err := certify.Parse(a.Document)
	if err == nil {
		err = certify.Recompute(c)
	}
	if err != nil {
		return c, err
	}
	m, err := sink.DecodeModel(a.Model)
	if err != nil {
		return c, err
	}
	sum, err := to.PutModel(ctx, m)
	if err == nil && sum != c.Model.Digest {
		err = fmt.Errorf("%w: the model is not in the form that this version writes (SHA-256 %s, not %s)", job.ErrRefused, sum, c.Model.Digest)
	}
	return c, err
}
