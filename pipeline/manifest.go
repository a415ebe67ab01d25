package pipeline

import (
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A Manifest lists the files of a certificate's dataset, so that they can be found in a lake that has grown since. It is
// not evidence: a certificate follows from the rows alone.
type Manifest struct {
	Format      string                 `json:"format"`
	Certificate string                 `json:"certificate"` // id
	Sample      string                 `json:"dataset"`     // digest
	Files       []dataset.ManifestFile `json:"files"`       // in the order of their rows
}

const manifestFormat = "pacsgp-manifest/1"

// listed returns the entries of a manifest for files, without their shards.
func listed(files []dataset.File, folder string) []dataset.ManifestFile {
	all := make([]dataset.ManifestFile, len(files))
	for i, f := range files {
		all[i] = f.ListedFile(folder)
	}
	return all
}

// Digests returns the digests of the shards, in order.
func (m Manifest) Digests() []string {
	var all []string
	for _, f := range m.Files {
		for _, s := range f.Shards {
			all = append(all, s.Digest)
		}
	}
	return all
}

// Check returns an error unless the manifest is about the certificate with this id and its digests give that of the
// certificate's dataset.
func (m Manifest) Check(c certify.Certificate, id string) error {
	if m.Format != manifestFormat {
		return fmt.Errorf("its format is %q, not %q", m.Format, manifestFormat)
	}
	if m.Certificate != id {
		return fmt.Errorf("it is of the certificate %s, not of %s", m.Certificate, id)
	}
	var digests []job.Digest
	var rows int64
	for _, f := range m.Files {
		var own int64
		for _, s := range f.Shards {
			var d job.Digest
			if err := d.Parse(s.Digest); err != nil {
				return err
			}
			if s.Rows < 1 || s.Rows > c.Counts.Rows {
				return fmt.Errorf("%s: a shard of %d rows", f.Path, s.Rows)
			}
			digests, own = append(digests, d), own+s.Rows
		}
		if own != f.Rows {
			return fmt.Errorf("%s has %d rows, and its shards %d", f.Path, f.Rows, own)
		}
		if rows += own; rows > c.Counts.Rows {
			break
		}
	}
	if rows != c.Counts.Rows {
		return fmt.Errorf("its rows are not as many as the certificate's %d", c.Counts.Rows)
	}
	if got := dataset.SampleDigest(digests).String(); got != c.Sample.Digest || m.Sample != got {
		return fmt.Errorf("its shards have the sample digest %s, the certificate says %s", got, c.Sample.Digest)
	}
	return nil
}
