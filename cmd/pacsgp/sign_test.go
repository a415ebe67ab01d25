package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// testKey is the path of a private key, whose public one is next to it.
func testKey(t testing.TB) string {
	t.Helper()
	path, err := filepath.Abs("../../sink/sign/testdata/key.pem")
	fatal.If(t, err)
	return path
}

// anotherKey makes a key in a folder, and its public half.
func anotherKey(t *testing.T, dir string) (private, public string) {
	t.Helper()
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	private, public = filepath.Join(dir, "another.pem"), filepath.Join(dir, "another-public.pem")
	der, err := x509.MarshalPKCS8PrivateKey(key)
	fatal.If(t, err)
	writeFile(t, private, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	der, err = x509.MarshalPKIXPublicKey(key.Public())
	fatal.If(t, err)
	writeFile(t, public, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	return private, public
}

// trustedPredictions demands that predict and score take the model of a trusted key alone, from an
// output and from topics.
func trustedPredictions(t *testing.T, a artifact, public, other, broker string) {
	t.Helper()
	to := filepath.Join(t.TempDir(), "p.parquet")
	for _, reference := range [][]string{{a.out}, {a.model, a.certificate}} {
		call := append(append([]string{"predict"}, reference...), a.lake, "-o", to, "--trusted")
		pacsgp(t, append(call, other)...).says(t, exitFailure, "refused", "not among the trusted ones")
		pacsgp(t, append(call, "")...).says(t, exitUsage, "--trusted", "want public keys")
		if _, err := os.Stat(to); err == nil {
			t.Errorf("%q wrote predictions", call)
		}
		pacsgp(t, append(call, filepath.Dir(other))...).says(t, exitUsage, "--trusted", "readers must not have")
		succeed(t, append(call, public)...)
		fatal.If(t, os.Remove(to))
	}
	for _, model := range []string{a.out, "{kafka: {name: m}}\nkafka: {brokers: [" + broker + "]}"} {
		dir := t.TempDir()
		score := filepath.Join(dir, "score.yaml")
		writeFile(t, score, []byte("model: "+model+"\nsource: {paths: ["+a.lake+"]}\noutput: scored\n"))
		pacsgp(t, "score", score, "--once", "--trusted", filepath.Dir(other)).says(t, exitUsage, "--trusted", "readers must not have")
		pacsgp(t, "score", score, "--once", "--trusted", other).says(t, exitFailure, "refused", "not among the trusted ones")
		if found := scored(t, dir); len(found) > 0 {
			t.Errorf("%s: a model without a trusted signature has predicted %d files", model, len(found))
		}
		succeed(t, "score", score, "--once", "--trusted", public)
		if found := scored(t, dir); len(found) == 0 {
			t.Errorf("%s: nothing is predicted", model)
		}
	}
}

// TestSigned: a job signs what it publishes, in its output and on topics, and a reader who names
// the keys that he trusts takes nothing else.
func TestSigned(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	public := filepath.Join(filepath.Dir(testKey(t)), "public.pem")
	private, other := anotherKey(t, dir)
	unsigned := retrained(t, dir, nil)
	pacsgp(t, "verify", unsigned.model, unsigned.certificate, "--trusted", public).says(t, exitFailure, "refused", "it has no signature")

	broker := seededTopics(t)
	signing := jobFile{"sign": testKey(t), "kafka": "{brokers: [" + broker + "]}", "publish": "{kafka: {name: m}}"}
	succeed(t, "topics", tiny(signing).write(t, dir))
	a := retrained(t, dir, signing)
	signatures, err := filepath.Glob(filepath.Join(a.out, "signature-*.json"))
	fatal.If(t, err)
	if a.id != unsigned.id || len(signatures) != 1 {
		t.Fatalf("certificate %s with the signatures %q; unsigned it is %s", a.id, signatures, unsigned.id)
	}
	signed := readFile(t, signatures[0])
	pacsgp(t, "verify", a.out, a.lake, "--trusted", filepath.Dir(other)).says(t, exitUsage, "--trusted", "readers must not have")
	for _, reference := range [][]string{{a.model, a.certificate}, {a.model, filepath.Join(a.out, sinklake.RowName(a.id))}} {
		call := append([]string{"verify"}, reference...)
		pacsgp(t, append(call, a.lake, "--trusted", public)...).says(t, 0, "signed with the trusted key", "VERIFIED")
		pacsgp(t, append(call, a.lake, "--trusted", other)...).says(t, exitFailure, "refused", "not among the trusted ones")
	}
	pulled := filepath.Join(dir, "pulled")
	succeed(t, "pull", "m", "-o", pulled, "--kafka", broker)
	if got := readFile(t, filepath.Join(pulled, filepath.Base(signatures[0]))); string(got) != string(signed) {
		t.Errorf("the signature is another one after pull: %s", got)
	}

	trustedPredictions(t, a, public, other, broker)

	// What else is there under such a name does no harm.
	extra := filepath.Join(a.out, sinklake.SignatureName(a.id, nil))
	fatal.If(t, os.Mkdir(extra, 0o700))
	pacsgp(t, "verify", a.model, a.certificate, a.lake, "--trusted", public).says(t, 0, "signed with the trusted key")
	fatal.If(t, os.Remove(extra))
	writeFile(t, extra, make([]byte, 1<<17))
	pacsgp(t, "verify", a.model, a.certificate, a.lake, "--trusted", public).says(t, 0, "signed with the trusted key")
	pacsgp(t, "verify", a.model, a.certificate, "--trusted", other).says(t, exitFailure, "refused", "damaged")

	// From an output to another one, and under another name.
	third := retrained(t, dir, jobFile{"delta": "0.04"})
	writeFile(t, filepath.Join(third.out, sinklake.SignatureName(third.id, signed)), signed)
	pacsgp(t, "verify", third.model, third.certificate, "--trusted", public).says(t, exitFailure, "refused", "and not this certificate")

	// A key follows another one: the same job with it adds a signature.
	succeed(t, "train", "-c", tiny(jobFile{"sign": private}).write(t, dir), "-o", a.out)
	pacsgp(t, "verify", a.model, a.certificate, a.lake, "--trusted", other).says(t, 0, "VERIFIED")
	pacsgp(t, "verify", a.model, a.certificate, a.lake, "--trusted", public).says(t, 0, "VERIFIED")

	secret := bytes.Split(readFile(t, testKey(t)), []byte("\n"))[1]
	for _, folder := range []string{a.out, pulled} {
		fatal.If(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && bytes.Contains(readFile(t, path), secret) {
				t.Errorf("%s has the private key", path)
			}
			return err
		}))
	}
	fatal.If(t, os.Remove(private))
	job := tiny(jobFile{"sign": private}).write(t, dir)
	pacsgp(t, "train", job).says(t, exitFailure, "the key to sign with", private)
}
