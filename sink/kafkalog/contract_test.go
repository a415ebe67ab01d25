package kafkalog_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
	"github.com/pacsgp/pacsgp/pipeline/stream"
	"github.com/pacsgp/pacsgp/sink"
	"github.com/pacsgp/pacsgp/sink/kafkalog"
	"github.com/pacsgp/pacsgp/sink/sign"
)

// put publishes a certificate of a small model, and returns its id.
func put(t *testing.T, p *kafkalog.Publication, software string) (id string) {
	t.Helper()
	m := pipelinetest.SmallModel(0.5)
	data, err := sink.EncodeModel(m)
	fatal.If(t, err)
	c := pipelinetest.SmallCertificate(digest.Of(data), software)
	fatal.If(t, p.Put(t.Context(), m, c))
	document, err := certify.Marshal(c)
	fatal.If(t, err)
	return digest.Of(document)
}

// TestSinkInATransaction: an artifact is seen when the transaction ends, and what is pulled is what was
// put.
func TestSinkInATransaction(t *testing.T) {
	_, client := cluster(t)
	p := begin(t, client)
	id := put(t, p, "one")
	if _, err := kafkalog.Pull(t.Context(), client, topics, id); !errors.Is(err, kafkalog.ErrNotFound) {
		t.Errorf("before the transaction ends: %v, want %v", err, kafkalog.ErrNotFound)
	}
	fatal.If(t, p.Commit(t.Context()))
	a, err := kafkalog.Pull(t.Context(), client, topics, id)
	fatal.If(t, err)
	want, err := sink.EncodeModel(pipelinetest.SmallModel(0.5))
	fatal.If(t, err)
	if digest.Of(a.Document) != id || !bytes.Equal(a.Model, want) {
		t.Error("other bytes came back")
	}
}

// TestAnotherCertificateOfTheSameRows: a group that stands at the end of a window was
// brought there by the certificate that is on the topic, and by no other.
func TestAnotherCertificateOfTheSameRows(t *testing.T) {
	_, client := cluster(t)
	create(t, client, "rows", 1, nil)
	p := begin(t, client)
	id := put(t, p, "one")
	firsts, ends := map[int]int64{0: 0}, map[int]int64{0: 10}
	fatal.If(t, p.CommitOffsets(t.Context(), nil, "g", "rows", ends, ""))
	fatal.If(t, p.Commit(t.Context()))
	for _, c := range []struct {
		ids       []string
		overtaken bool
	}{{nil, false}, {[]string{id}, false}, {[]string{id, strings.Repeat("0", 64)}, true}} {
		_, err := kafkalog.Follows(t.Context(), client, topics, "g", "rows", firsts, ends, c.ids...)
		if errors.Is(err, stream.ErrOvertaken) != c.overtaken || !c.overtaken && err != nil {
			t.Errorf("%q: %v", c.ids, err)
		}
	}
}

// TestSignaturesOnTopics: a certificate that is on the topic is sent again for a signature that it
// lacks, and all signatures come back.
func TestSignaturesOnTopics(t *testing.T) {
	c, client := cluster(t)
	dir := t.TempDir()
	other := filepath.Join(dir, "key.pem")
	der, err := x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	fatal.If(t, err)
	fatal.If(t, os.WriteFile(other, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
	const one = "../../sink/sign/testdata/key.pem"
	for i, at := range []struct {
		key                 sign.KeyFile
		signatures, records int
	}{{"", 0, 1}, {one, 1, 2}, {one, 1, 2}, {sign.KeyFile(other), 2, 3}, {one, 2, 3}, {"", 2, 3}} {
		p, err := kafkalog.Begin(t.Context(), kafkalog.Config{Client: client, Topics: topics, Name: "m", Sign: at.key})
		fatal.If(t, err)
		id := put(t, p, "one")
		fatal.If(t, p.Commit(t.Context()))
		a, err := kafkalog.Pull(t.Context(), client, topics, id)
		fatal.If(t, err)
		if got := counted(t, c.ListenAddrs()[0], "pacsgp-certificates", at.records); len(a.Signatures) != at.signatures || len(got) != at.records {
			t.Errorf("publication %d: %d signatures and %d records, want %d and %d", i, len(a.Signatures), len(got), at.signatures, at.records)
		}
	}
	if _, err := kafkalog.Begin(t.Context(), kafkalog.Config{Client: client, Topics: topics, Name: "m", Sign: "absent.pem"}); err == nil {
		t.Error("a publication begins without its key")
	}
}
