package console

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/certify/certifytest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/sink"
	"github.com/pacsgp/pacsgp/sink/lake"
)

// put writes a certificate with a model into a folder, as of a time, and returns its id and its path.
func put(t testing.TB, folder string, c certify.Certificate, at time.Time) (id, path string) {
	t.Helper()
	data, err := certify.Marshal(c)
	fatal.If(t, err)
	sum := sha256.Sum256(data)
	id = hex.EncodeToString(sum[:])
	path = filepath.Join(folder, lake.CertificateName(id))
	write(t, path, data)
	write(t, filepath.Join(folder, modelName), []byte("a model"))
	fatal.If(t, os.Chtimes(path, at, at))
	return id, path
}

// modelName names the file of every model.
var modelName = lake.ModelName(sink.DigestOf([]byte("a model")))

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	fatal.If(t, os.MkdirAll(filepath.Dir(path), 0o750))
	fatal.If(t, os.WriteFile(path, data, 0o600))
}

// noon is when the first certificate was made.
var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// withKL changes how far Q went, and so the bound.
func withKL(kl float64) func(*certify.Evidence) {
	return func(ev *certify.Evidence) { ev.KL = kl }
}

// numbered is that, of a number in a sequence.
func numbered(number int, kl float64) func(*certify.Evidence) {
	return func(ev *certify.Evidence) {
		ev.KL, ev.Delta.Sequence = kl, &certify.Sequence{Policy: certify.DeltaSequence, Name: "night", Number: int64(number)}
	}
}

// heldOut adds hold-out rows, of which the mean misses none.
func heldOut(t testing.TB) func(*certify.Evidence) {
	return func(ev *certify.Evidence) {
		const n = 150
		ev.Ledger.Reference, ev.Ledger.Holdout, ev.Copies.Distinct = ev.Ledger.Reference-n, n, ev.Copies.Distinct-n
		ev.Dependence = certifytest.Dependence(2000-n, 1800, 0.01)
		ev.Delta.Methods = append(ev.Delta.Methods, certify.MethodWeight{ID: certify.MethodHoldout, Weight: 1})
		var tally certify.Tally
		for range n {
			fatal.If(t, tally.Risk.Add(0))
		}
		ev.Tallies[certify.TallyKey{Predictor: certify.PredictorMean, Role: certify.RoleHoldout}] = &tally
	}
}

// pointing is a pointer to a certificate.
func pointing(id string, since time.Time) []byte {
	return fmt.Appendf(nil, `{"format":"pacsgp-current/1","id":%q,"certificate":%q,"model":%q,"predictor":"mean","bound":0.1,"since":%q}`,
		id, lake.CertificateName(id), modelName, since.Format(time.RFC3339))
}

// indexOf is an index of folders that has looked at them.
func indexOf(t testing.TB, folders ...string) *Index {
	t.Helper()
	x := NewIndex(folders)
	fatal.If(t, x.Refresh(context.Background()))
	return x
}

// get asks for a page.
func get(t testing.TB, h http.Handler, address string) (status int, body string) {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, address, nil)
	r.Host = "localhost:7433"
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// certificateName is the name that a document has by its content.
func certificateName(document []byte) string {
	sum := sha256.Sum256(document)
	return lake.CertificateName(hex.EncodeToString(sum[:]))
}
