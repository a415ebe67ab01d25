package main

import (
	"bytes"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// Signatures go with certificates to topics and back, and readers of topics take those of trusted keys alone; no key
// goes with them. (Of files: sign.txtar.)
func TestSigned(t *testing.T) {
	dir, broker := t.TempDir(), seededTopics(t)
	smallLake(t, dir)
	key, err := filepath.Abs("../../sink/sign/testdata/key.pem")
	fatal.If(t, err)
	public, folder := filepath.Join(filepath.Dir(key), "public.pem"), filepath.Dir(key)
	signing := jobFile{"sign": key, "kafka": "{brokers: [" + broker + "]}", "publish": "{kafka: {name: m}}"}
	succeed(t, "topics", tiny(signing).write(t, dir))
	a := retrained(t, dir, signing)
	pulled := filepath.Join(dir, "pulled")
	succeed(t, "pull", "m", "-o", pulled, "--kafka", broker)
	signature := only(t, filepath.Join(a.out, "signature-*.json"))
	if got := readFile(t, filepath.Join(pulled, filepath.Base(signature))); !bytes.Equal(got, readFile(t, signature)) {
		t.Errorf("the signature is another one after pull: %s", got)
	}
	other := filepath.Join(dir, "other.pem")
	writeFile(t, other, []byte("-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAO2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2ik=\n-----END PUBLIC KEY-----\n"))
	score := filepath.Join(dir, "score.yaml")
	writeFile(t, score, []byte("model: {kafka: {name: m}}\nkafka: {brokers: ["+broker+"]}\nsource: {paths: ["+a.lake+"]}\noutput: scored\n"))
	pacsgp(t, "score", score, "--once", "--trusted", folder).says(t, exitUsage, "--trusted", "readers must not have")
	pacsgp(t, "score", score, "--once", "--trusted", other).says(t, exitFailure, "refused", "not among the trusted ones")
	if found := scored(t, dir); len(found) > 0 {
		t.Errorf("a model without a trusted signature has predicted %d files", len(found))
	}
	succeed(t, "score", score, "--once", "--trusted", public)
	if found := scored(t, dir); len(found) == 0 {
		t.Error("nothing is predicted")
	}
	secret := bytes.Split(readFile(t, key), []byte("\n"))[1]
	fatal.If(t, filepath.WalkDir(pulled, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && bytes.Contains(readFile(t, path), secret) {
			t.Errorf("%s has the private key", path)
		}
		return err
	}))
}
