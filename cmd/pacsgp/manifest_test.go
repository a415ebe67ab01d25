package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// grown is a trained tiny job whose lake has got another file since.
func grown(t *testing.T) (dir string, a trainedArtifact) {
	t.Helper()
	dir = t.TempDir()
	smallLake(t, dir)
	succeed(t, "train", "-c", tiny(nil).write(t, dir))
	out := filepath.Join(dir, "out")
	r := record(t, out)
	addFile(t, dir, "later", 180, 60)
	return dir, trainedArtifact{filepath.Join(out, r.Model), filepath.Join(out, r.Certificate), filepath.Join(out, sinklake.ManifestName(r.ID))}
}

type trainedArtifact struct{ model, certificate, manifest string }

// A manifest is believed in nothing.
func TestManifestThatLiesIsRefused(t *testing.T) {
	dir, a := grown(t)
	lake := filepath.Join(dir, "lake")
	good := readFile(t, a.manifest)
	lie := func(what string, change func(m *pipeline.Manifest), want string) {
		t.Helper()
		var m pipeline.Manifest
		fatal.If(t, json.Unmarshal(good, &m))
		change(&m)
		text, err := json.Marshal(m)
		fatal.If(t, err)
		writeFile(t, a.manifest, text)
		got := pacsgp(t, "verify", a.model, a.certificate, lake)
		if got.status != exitFailure || !strings.Contains(got.message, want) {
			t.Errorf("%s: status %d, %q; want %q", what, got.status, got.message, want)
		}
	}
	lie("a file less", func(m *pipeline.Manifest) { m.Files = m.Files[1:] }, "not as many as")
	lie("two files swapped", func(m *pipeline.Manifest) { m.Files[0], m.Files[1] = m.Files[1], m.Files[0] }, "the sample digest")
	lie("another shard", func(m *pipeline.Manifest) { m.Files[0].Shards[0].Digest = m.Files[1].Shards[0].Digest }, "the sample digest")
	lie("another certificate", func(m *pipeline.Manifest) { m.Certificate = m.Sample }, "it is of the certificate")
	lie("rows moved", func(m *pipeline.Manifest) { m.Files[0].Rows++; m.Files[1].Rows-- }, "and its shards")
	lie("the descriptions of two files swapped", func(m *pipeline.Manifest) {
		m.Files[0].Footer, m.Files[1].Footer = m.Files[1].Footer, m.Files[0].Footer
		m.Files[0].Bytes, m.Files[1].Bytes = m.Files[1].Bytes, m.Files[0].Bytes
	}, "its values have changed")
	lie("a footer", func(m *pipeline.Manifest) { m.Files[0].Footer = m.Sample }, "has changed")
	lie("not a number of rows", func(m *pipeline.Manifest) { m.Files[0].Shards[0].Rows = -1 }, "a shard of -1 rows")
	writeFile(t, a.manifest, []byte("{"))
	pacsgp(t, "verify", a.model, a.certificate, lake).says(t, exitFailure, "it is no manifest")
}
