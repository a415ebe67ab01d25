package config

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// A sampleOrigin is the files of a dataset. Reading a shard that differs from the manifest returns
// an error with its name.
type sampleOrigin struct {
	Lake
	manifest pipeline.Manifest
	columns  []string // the columns that the digests cover
}

func (o sampleOrigin) Open(ctx context.Context, want dataset.Choice) (dataset.Opened, error) {
	src, err := o.Lake.Open(ctx, want)
	if err != nil || !slices.Equal(src.Columns(), o.columns) {
		return src, err
	}
	if digests := o.manifest.Digests(); len(digests) == len(src.Shards()) {
		src = pipeline.Expected{Opened: src, Digests: digests}
	}
	return src, nil
}

// Sampled finds the files of a certificate's dataset among data, by the manifest next to the
// certificate. Without a manifest it returns data. lines and warnings describe what it found;
// mismatch is the error to report if data are other rows.
func Sampled(ctx context.Context, data Origin, certificate string, c certify.Certificate, id string) (from Origin, lines, warnings []string, mismatch, err error) {
	lake, ok := data.(Lake)
	if !ok {
		return data, nil, nil, nil, nil
	}
	list, err := sinklake.NewOutput(objects.Dir(certificate), nil).GetManifest(c, id)
	if errors.Is(err, fs.ErrNotExist) {
		return data, nil, nil, nil, nil
	}
	if err != nil {
		return nil, nil, nil, nil, err
	}
	found, err := ingestlake.Find(ctx, lake.Rows, list.Files)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	if len(found.Missing) > 0 {
		// The same rows may have been written to other files, in as many row groups.
		rows := int64(0)
		files, _, err := ingestlake.Files(ctx, lake.Rows)
		for _, f := range files {
			rows += f.Rows
		}
		if err == nil && rows == c.Counts.Rows {
			return data, nil, nil, found.Err(lake.Rows), nil
		}
		return nil, nil, nil, nil, found.Err(lake.Rows)
	}
	lines, warnings = found.Lines()
	return sampleOrigin{Lake{found.Paths}, list, c.Sample.Columns}, lines, warnings, nil, nil
}
