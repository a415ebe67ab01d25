package kafkalog_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
	"github.com/pacsgp/pacsgp/pipeline/stream"
	"github.com/pacsgp/pacsgp/sink/kafkalog"
	"github.com/pacsgp/pacsgp/sink/sign"
)

func TestPorts(t *testing.T) {
	pipelinetest.TestSink(t, func(t *testing.T) func(*testing.T) pass.Sink {
		_, client := cluster(t)
		return func(t *testing.T) pass.Sink {
			t.Helper()
			p, err := kafkalog.Begin(t.Context(), kafkalog.Config{Client: client, Name: "m"})
			fatal.If(t, err)
			return committing{p}
		}
	})
}

// committing commits each certificate by itself.
type committing struct{ *kafkalog.Publication }

func (p committing) PutCertificate(ctx context.Context, c certify.Certificate) (string, error) {
	id, err := p.Publication.PutCertificate(ctx, c)
	if err != nil {
		return id, err
	}
	return id, p.Commit(ctx)
}

// TestSinkInATransaction: two certificates of one model, which is sent once, are seen
// together and when the transaction ends, and what is pulled is what was put.
func TestSinkInATransaction(t *testing.T) {
	c, client := cluster(t)
	p, err := kafkalog.Begin(t.Context(), kafkalog.Config{Client: client, Name: "m"})
	fatal.If(t, err)
	sum, err := p.PutModel(t.Context(), pipelinetest.SmallModel(0.5))
	fatal.If(t, err)
	var ids []string
	for _, software := range []string{"one", "two"} {
		id, err := p.PutCertificate(t.Context(), pipelinetest.SmallCertificate(sum, software))
		fatal.If(t, err)
		ids = append(ids, id)
	}
	if _, err := kafkalog.Pull(t.Context(), client, kafkalog.Topics{}, ids[0]); !errors.Is(err, kafkalog.ErrNotFound) {
		t.Errorf("before the transaction ends: %v, want %v", err, kafkalog.ErrNotFound)
	}
	fatal.If(t, p.Commit(t.Context()))
	if _, err := p.GetModel(t.Context(), sum); err != nil {
		t.Error(err)
	}
	for i, software := range []string{"one", "two"} {
		a, err := kafkalog.Pull(t.Context(), client, kafkalog.Topics{}, ids[i])
		fatal.If(t, err)
		want, err := certify.Marshal(pipelinetest.SmallCertificate(sum, software))
		fatal.If(t, err)
		if string(a.Document) != string(want) || fmt.Sprintf("%x", sha256.Sum256(a.Model)) != sum {
			t.Errorf("certificate %q: other bytes came back", software)
		}
	}
	if got := counted(t, c, "pacsgp-models", 1); len(got) != 1 {
		t.Errorf("%d pieces of the model, want 1: %q", len(got), got)
	}
}

// TestAnotherCertificateOfTheSameRows: a group that stands at the end of a window was
// brought there by the certificate that is on the topic, and by no other.
func TestAnotherCertificateOfTheSameRows(t *testing.T) {
	_, client := cluster(t)
	create(t, client, "rows", 1, nil)
	p, err := kafkalog.Begin(t.Context(), kafkalog.Config{Client: client, Name: "m"})
	fatal.If(t, err)
	sum, err := p.PutModel(t.Context(), pipelinetest.SmallModel(0.5))
	fatal.If(t, err)
	id, err := p.PutCertificate(t.Context(), pipelinetest.SmallCertificate(sum, "one"))
	fatal.If(t, err)
	firsts, ends := map[int]int64{0: 0}, map[int]int64{0: 10}
	fatal.If(t, p.CommitOffsets(t.Context(), nil, "g", "rows", ends, ""))
	fatal.If(t, p.Commit(t.Context()))
	for _, c := range []struct {
		ids       []string
		overtaken bool
	}{{nil, false}, {[]string{id}, false}, {[]string{id, strings.Repeat("0", 64)}, true}} {
		_, err := kafkalog.Follows(t.Context(), client, kafkalog.Topics{}, "g", "rows", firsts, ends, c.ids...)
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
		p, err := kafkalog.Begin(t.Context(), kafkalog.Config{Client: client, Name: "m", Sign: at.key})
		fatal.If(t, err)
		sum, err := p.PutModel(t.Context(), pipelinetest.SmallModel(0.5))
		fatal.If(t, err)
		id, err := p.PutCertificate(t.Context(), pipelinetest.SmallCertificate(sum, "one"))
		fatal.If(t, err)
		fatal.If(t, p.Commit(t.Context()))
		a, err := kafkalog.Pull(t.Context(), client, kafkalog.Topics{}, id)
		fatal.If(t, err)
		if got := counted(t, c, "pacsgp-certificates", at.records); len(a.Signatures) != at.signatures || len(got) != at.records {
			t.Errorf("publication %d: %d signatures and %d records, want %d and %d", i, len(a.Signatures), len(got), at.signatures, at.records)
		}
	}
	if _, err := kafkalog.Begin(t.Context(), kafkalog.Config{Client: client, Name: "m", Sign: "absent.pem"}); err == nil {
		t.Error("a publication begins without its key")
	}
}
