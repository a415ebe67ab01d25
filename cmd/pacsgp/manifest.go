package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/pipeline"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// A manifest lists the files of a certificate's sample, so that the sample is found in a
// lake that has grown since. It proves nothing: what a certificate states follows from
// the rows that are read. A manifest only says which files they stand in.
type manifest struct {
	Format      string         `json:"format"`
	Certificate string         `json:"certificate"` // id
	Sample      string         `json:"sample"`      // digest
	Files       []manifestFile `json:"files"`       // in the order of their rows
}

type manifestFile struct {
	Path   string          `json:"path"` // relative to the folder of the job file where that can be
	Bytes  int64           `json:"bytes"`
	Rows   int64           `json:"rows"`
	Footer string          `json:"footer"` // SHA-256
	Shards []manifestShard `json:"shards"` // the row groups that have rows

	// Modified is when the file was written, in records of this machine; manifests are
	// the same on all and leave it out. Two files can have one footer: those of Arrow say
	// nothing of values.
	Modified *time.Time `json:"modified,omitempty"`
}

// stamp says when files were written.
func stamp(files []manifestFile, where []ingestlake.File) error {
	for i := range files {
		info, err := os.Stat(where[i].Path)
		if err != nil {
			return err
		}
		at := info.ModTime().UTC()
		files[i].Modified = &at
	}
	return nil
}

type manifestShard struct {
	Rows   int64  `json:"rows"`
	Digest string `json:"digest"`
}

const (
	manifestFormat = "pacsgp-manifest/1"
	maxManifest    = 256 << 20
)

// manifestName is the name of a certificate's manifest, which stands beside it.
func manifestName(id string) string { return "manifest-" + id + ".json" }

// manifestOf lists the sample of a result, which was read from these files.
func manifestOf(r *pipeline.Result, files []ingestlake.File, shards []pipeline.Shard, folder string) (manifest, error) {
	m := manifest{Format: manifestFormat, Certificate: r.ID, Sample: r.Certificate.Sample.Digest, Files: listed(files, folder)}
	groups := 0
	for _, f := range files {
		groups += f.RowGroups
	}
	if groups != len(shards) || groups != len(r.Shards) {
		return m, fmt.Errorf("manifest: %d row groups in the files, %d in the sample", groups, len(r.Shards))
	}
	at := 0
	for i, f := range files {
		for range f.RowGroups {
			m.Files[i].Shards = append(m.Files[i].Shards, manifestShard{shards[at].Rows, r.Shards[at].String()})
			at++
		}
	}
	return m, nil
}

// listed describes files as a manifest does, without their shards.
func listed(files []ingestlake.File, folder string) []manifestFile {
	all := make([]manifestFile, len(files))
	for i, f := range files {
		path := f.Path
		if base, err := filepath.Abs(folder); err == nil {
			if whole, err := filepath.Abs(path); err == nil {
				if short, err := filepath.Rel(base, whole); err == nil {
					path = short
				}
			}
		}
		all[i] = manifestFile{filepath.ToSlash(path), f.Bytes, f.Rows, hex.EncodeToString(f.Footer[:]), []manifestShard{}, nil}
	}
	return all
}

// holds reports whether files are those of the manifest, as far as their footers tell.
func (m manifest) holds(files []manifestFile) bool {
	return slices.EqualFunc(m.Files, files, func(a, b manifestFile) bool {
		return a.Path == b.Path && a.Bytes == b.Bytes && a.Rows == b.Rows && a.Footer == b.Footer
	})
}

// readManifest reads the manifest of a certificate. A manifest whose digests do not make
// the sample that the certificate names is refused.
func readManifest(path string, c certify.Certificate, id string) (manifest, error) {
	var m manifest
	data, err := readSmall(path, "a manifest", maxManifest)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("%s: %w: it is no manifest: %w", path, pipeline.ErrRefused, err)
	}
	if err := m.check(c, id); err != nil {
		return m, fmt.Errorf("%s: %w: %w", path, pipeline.ErrRefused, err)
	}
	return m, nil
}

// check holds a manifest to the certificate.
func (m manifest) check(c certify.Certificate, id string) error {
	if m.Format != manifestFormat {
		return fmt.Errorf("its format is %q, not %q", m.Format, manifestFormat)
	}
	if m.Certificate != id {
		return fmt.Errorf("it is of the certificate %s, not of %s", m.Certificate, id)
	}
	var digests []pipeline.Digest
	var rows int64
	for _, f := range m.Files {
		var own int64
		for _, s := range f.Shards {
			var d pipeline.Digest
			if err := d.Parse(s.Digest); err != nil {
				return err
			}
			if s.Rows < 1 || s.Rows > c.Sample.Rows {
				return fmt.Errorf("%s: a shard of %d rows", f.Path, s.Rows)
			}
			digests, own = append(digests, d), own+s.Rows
		}
		if own != f.Rows {
			return fmt.Errorf("%s has %d rows, and its shards %d", f.Path, f.Rows, own)
		}
		if rows += own; rows > c.Sample.Rows {
			break
		}
	}
	if rows != c.Sample.Rows {
		return fmt.Errorf("its rows are not as many as the certificate's %d", c.Sample.Rows)
	}
	if got := pipeline.SampleDigest(digests).String(); got != c.Sample.Digest || m.Sample != got {
		return fmt.Errorf("its shards have the sample digest %s, the certificate says %s", got, c.Sample.Digest)
	}
	return nil
}

// A foundSample is where a manifest's files are among the data.
type foundSample struct {
	manifest manifest
	paths    []string // of the files, in order
	others   []string // files of the data that are not in the sample
	missing  []string // in words, what is not there or has changed
}

// find looks for the files of a manifest among the data. A file is known by size and
// footer, wherever the lake stands now; of files that are alike, the one whose path is
// most like the manifest's is taken. Files that are none of the sample are not opened
// unless they have the size of one.
func (m manifest) find(ctx context.Context, data config.Lake) (foundSample, error) {
	found := foundSample{manifest: m}
	names, err := ingestlake.List(ctx, data)
	if err != nil {
		return found, err
	}
	wanted := map[int64]bool{}
	for _, f := range m.Files {
		wanted[f.Bytes] = true
	}
	candidates := map[int64][]string{}
	for _, name := range names {
		if info, err := os.Stat(name); err == nil && wanted[info.Size()] {
			candidates[info.Size()] = append(candidates[info.Size()], name)
		}
	}
	footers, taken := map[string]string{}, map[string]bool{}
	footer := func(name string) string {
		sum, known := footers[name]
		if !known {
			if files, _, err := ingestlake.Files(ctx, []string{name}); err == nil && len(files) == 1 {
				sum = hex.EncodeToString(files[0].Footer[:])
			}
			footers[name] = sum
		}
		return sum
	}
	for _, f := range m.Files {
		if err := ctx.Err(); err != nil {
			return found, err
		}
		best, alike := "", -1
		for _, name := range candidates[f.Bytes] {
			if taken[name] || footer(name) != f.Footer {
				continue
			}
			if n := commonEnd(name, f.Path); n > alike {
				best, alike = name, n
			}
		}
		if best == "" {
			found.missing = append(found.missing, absent(f, names))
			continue
		}
		taken[best] = true
		found.paths = append(found.paths, best)
	}
	for _, name := range names {
		if !taken[name] {
			found.others = append(found.others, name)
		}
	}
	return found, nil
}

// commonEnd is how many names two paths have in common at their ends.
func commonEnd(a, b string) int {
	x, y := strings.Split(filepath.ToSlash(a), "/"), strings.Split(filepath.ToSlash(b), "/")
	n := 0
	for n < len(x) && n < len(y) && x[len(x)-1-n] == y[len(y)-1-n] {
		n++
	}
	return n
}

// absent says what has become of a file that is not there as the manifest has it.
func absent(f manifestFile, names []string) string {
	end := f.Path
	for strings.HasPrefix(end, "../") {
		end = end[len("../"):]
	}
	whole := len(strings.Split(end, "/"))
	for _, name := range names {
		if commonEnd(name, end) == whole {
			return fmt.Sprintf("%s has changed: the manifest has a file of %s with another footer", name, bytesExactly(f.Bytes))
		}
	}
	return fmt.Sprintf("%s is missing (%s, %s)", f.Path, bytesExactly(f.Bytes), certify.Count(f.Rows, "row"))
}

func bytesExactly(n int64) string { return certify.Count(n, "byte") }

// lines says what was found, for people.
func (f foundSample) lines() []string {
	text := fmt.Sprintf("the manifest names %s, all of which are among the data", certify.Count(int64(len(f.paths)), "file"))
	if len(f.others) > 0 {
		text += fmt.Sprintf("; not in the sample are %s of them, the first is %s. Who chose the sample by the values of its rows has no certificate: see that the choice does not depend on them",
			certify.Count(int64(len(f.others)), "file"), f.others[0])
	}
	return []string{text}
}

// error says what is not there.
func (f foundSample) error() error {
	if len(f.missing) == 0 {
		return nil
	}
	const most = 10
	shown := f.missing[:min(most, len(f.missing))]
	text := strings.Join(shown, "; ")
	if more := len(f.missing) - len(shown); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return fmt.Errorf("%w: of %s of the sample %d are not among the data as the manifest has them: %s", pipeline.ErrRefused, certify.Count(int64(len(f.manifest.Files)), "file"), len(f.missing), text)
}

// A sampleOrigin is the files of a sample. Shards that are not what the manifest says
// are named as they are read.
type sampleOrigin struct {
	config.Lake
	manifest manifest
	columns  []string // that the digests are over
}

func (o sampleOrigin) open(ctx context.Context, want config.Reading) (config.Source, error) {
	src, err := o.Lake.Open(ctx, want)
	if err != nil || !slices.Equal(src.Columns(), o.columns) {
		return src, err
	}
	var digests []string
	for _, f := range o.manifest.Files {
		for _, s := range f.Shards {
			digests = append(digests, s.Digest)
		}
	}
	if len(src.Shards()) != len(digests) {
		return src, nil
	}
	return sampleRows{src, digests}, nil
}

type sampleRows struct {
	config.Source
	digests []string
}

// Open reads a shard, whose digest is compared at its end.
func (s sampleRows) Open(ctx context.Context, i int) (pipeline.Batches, error) {
	return pipeline.Expected(ctx, s.Source, i, s.digests[i])
}

// sampled is where the rows of a certificate are among the data, by the manifest beside
// it or the one that is named; the data as they are if there is none. The lines say what
// was found; so does a doubt, which matters if the data turn out to be other rows.
func sampled(ctx context.Context, data config.Origin, named, certificate string, c certify.Certificate, id string, m pipeline.Model) (from config.Origin, lines []string, doubt, err error) {
	lake, ok := data.(config.Lake)
	if !ok {
		if named != "" {
			err = usageError{errors.New("--manifest: it lists files, and the rows come from elsewhere")}
		}
		return data, nil, nil, err
	}
	path := named
	if path == "" {
		path = filepath.Join(filepath.Dir(certificate), manifestName(id))
	}
	list, err := readManifest(path, c, id)
	if named == "" && errors.Is(err, fs.ErrNotExist) {
		return data, nil, nil, nil
	}
	if err != nil {
		return nil, nil, nil, err
	}
	found, err := list.find(ctx, lake)
	if err != nil {
		return nil, nil, nil, err
	}
	if len(found.missing) > 0 {
		// The same rows may have been written again, in as many row groups.
		if files, _, err := ingestlake.Files(ctx, lake); err == nil && rowsIn(files) == c.Sample.Rows {
			return data, nil, found.error(), nil
		}
		return nil, nil, nil, found.error()
	}
	columns := make([]string, 0, len(m.Meta.Features)+1)
	for _, f := range m.Meta.Features {
		columns = append(columns, f.Name)
	}
	return sampleOrigin{found.paths, list, append(columns, m.Meta.Target.Name)}, found.lines(), nil, nil
}

func rowsIn(files []ingestlake.File) int64 {
	var n int64
	for _, f := range files {
		n += f.Rows
	}
	return n
}

// list writes the manifest of a result beside its certificate.
func (o *output) list(m manifest) error {
	doc, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	return o.dir.Put(manifestName(m.Certificate), append(doc, '\n'))
}

// artifactNames are the names of all files of an artifact but its model.
func artifactNames(id string) []string {
	return []string{sinklake.CertificateName(id), sinklake.RowName(id), manifestName(id)}
}
