package sign

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

var certificate, otherCertificate, model = strings.Repeat("a", 64), strings.Repeat("b", 64), strings.Repeat("c", 64)

// aKey returns a key of a seed, and its two files in a folder.
func aKey(t *testing.T, seed byte) (key *Key, private, public string) {
	t.Helper()
	dir := t.TempDir()
	private, public = filepath.Join(dir, "key.pem"), filepath.Join(dir, "public.pem")
	of := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
	der, err := x509.MarshalPKCS8PrivateKey(of)
	fatal.If(t, err)
	fatal.If(t, os.WriteFile(private, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
	der, err = x509.MarshalPKIXPublicKey(of.Public())
	fatal.If(t, err)
	fatal.If(t, os.WriteFile(public, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o600))
	key, err = KeyFile(private).Read()
	fatal.If(t, err)
	return key, private, public
}

// TestVector: the key of openssl's PEM and the encoding of DSSE's specification, whose example this
// is, and a signature that openssl made of it (openssl pkeyutl -sign -rawin).
func TestVector(t *testing.T) {
	if got, want := string(dsse.PAE("http://example.com/HelloWorld", []byte("hello world"))), "DSSEv1 29 http://example.com/HelloWorld 11 hello world"; got != want {
		t.Errorf("PAE = %q, want %q", got, want)
	}
	key, err := KeyFile("testdata/key.pem").Read()
	fatal.If(t, err)
	want, err := os.ReadFile("testdata/openssl.sig")
	fatal.If(t, err)
	var e dsse.Envelope
	fatal.If(t, json.Unmarshal(key.Sign(certificate, model), &e))
	if got := e.Signatures[0].Sig; got != base64.StdEncoding.EncodeToString(want) {
		t.Errorf("the signature is %s, openssl's is %x", got, want)
	}
	trusted, err := ReadTrusted("testdata/public.pem")
	fatal.If(t, err)
	if by, err := trusted.Check(t.Context(), certificate, model, [][]byte{key.Sign(certificate, model)}); err != nil || !strings.Contains(by, "public.pem") {
		t.Errorf("Check = %q, %v", by, err)
	}
}

// TestForgers: what a forger can put next to a certificate without a trusted key is refused, and
// named.
func TestForgers(t *testing.T) {
	alice, _, public := aKey(t, 1)
	mallory, _, _ := aKey(t, 2)
	trusted, err := ReadTrusted(public)
	fatal.If(t, err)
	good := alice.Sign(certificate, model)
	changed := func(envelope []byte, change func(e *dsse.Envelope)) []byte {
		var e dsse.Envelope
		fatal.If(t, json.Unmarshal(envelope, &e))
		change(&e)
		data, err := json.Marshal(e)
		fatal.If(t, err)
		return data
	}
	statement := statementOf(certificate, model)
	for name, c := range map[string]struct {
		envelope []byte
		says     string
	}{
		"none":                         {nil, "it has no signature"},
		"another key":                  {mallory.Sign(certificate, model), "is not among the trusted ones"},
		"another key under alice's id": {changed(mallory.Sign(certificate, model), func(e *dsse.Envelope) { e.Signatures[0].KeyID = alice.id }), "forged or damaged"},
		"of another certificate":       {alice.Sign(otherCertificate, model), "and not this certificate"},
		"of another model":             {alice.Sign(certificate, otherCertificate), "and not this certificate"},
		"subjects exchanged":           {alice.Sign(model, certificate), "and not this certificate"},
		"another's payload replaced":   {changed(alice.Sign(otherCertificate, model), func(e *dsse.Envelope) { e.Payload = base64.StdEncoding.EncodeToString(statement) }), "forged or damaged"},
		"signature cut off":            {changed(good, func(e *dsse.Envelope) { e.Signatures[0].Sig = e.Signatures[0].Sig[:40] }), "forged or damaged"},
		"base64 cut off":               {changed(good, func(e *dsse.Envelope) { e.Payload = e.Payload[:len(e.Payload)-5] }), "damaged"},
		"no signatures":                {changed(good, func(e *dsse.Envelope) { e.Signatures = nil }), "damaged"},
		"file cut off":                 {good[:len(good)-10], "damaged"},
		"empty":                        {[]byte{}, "damaged"},
		"another type of payload":      {changed(good, func(e *dsse.Envelope) { e.PayloadType = "text/plain" }), "forged or damaged"},
		"signed as another type":       {alice.envelope("text/plain", statement), `of the type "text/plain"`},
		"another predicate":            {alice.envelope(payloadType, bytes.Replace(statement, []byte("certificate/v1"), []byte("certificate/v0"), 1)), "and not this certificate"},
		"one more subject":             {alice.envelope(payloadType, bytes.Replace(statement, []byte(`"subject":[`), []byte(`"subject":[{"name":"x","digest":{}},`), 1)), "and not this certificate"},
		"the payload without type": {changed(good, func(e *dsse.Envelope) {
			e.Signatures[0].Sig = base64.StdEncoding.EncodeToString(ed25519.Sign(alice.private, statement))
		}), "forged or damaged"},
	} {
		envelopes := [][]byte{c.envelope}
		if c.envelope == nil {
			envelopes = nil
		}
		by, err := trusted.Check(t.Context(), certificate, model, envelopes)
		if !errors.Is(err, ErrUntrusted) || by != "" || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: Check = %q, %v, want %q", name, by, err, c.says)
		}
		if by, err := trusted.Check(t.Context(), certificate, model, append(envelopes, good)); err != nil || !strings.HasPrefix(alice.id, by[:16]) {
			t.Errorf("%s, with a good one next to it: Check = %q, %v", name, by, err)
		}
	}
	several := changed(good, func(e *dsse.Envelope) {
		e.Signatures[0].KeyID = "as another program names it"
		e.Signatures = append([]dsse.Signature{{KeyID: alice.id, Sig: "AAAA"}, {KeyID: "", Sig: ""}, {KeyID: "x", Sig: "!!!!"}}, e.Signatures...)
	})
	if _, err := trusted.Check(t.Context(), certificate, model, [][]byte{several}); err != nil {
		t.Errorf("a good signature behind others in an envelope: %v", err)
	}
	if again := alice.Sign(certificate, model); !bytes.Equal(again, good) {
		t.Error("two signatures of the same have other bytes")
	}
}

// TestKeyFiles: what is no key of the right kind is refused, and not shown.
func TestKeyFiles(t *testing.T) {
	_, private, public := aKey(t, 1)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		fatal.If(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	of, err := rsa.GenerateKey(rand.Reader, 2048)
	fatal.If(t, err)
	der, err := x509.MarshalPKIXPublicKey(of.Public())
	fatal.If(t, err)
	another := write("rsa.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})))
	text := write("README", "secret")
	good, err := os.ReadFile(public)
	fatal.If(t, err)
	damaged := write("two.pem", string(good)+strings.Replace(string(good), "MC", "M!", 1))
	for name, c := range map[string]struct{ path, says string }{
		"absent": {filepath.Join(dir, "no"), "no such file"}, "public": {public, "no private key"},
		"text": {text, "no private key"}, "folder": {dir, "not a regular file"},
	} {
		if key, err := KeyFile(c.path).Read(); key != nil || err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: Read = %v, %v, want %q", name, key, err, c.says)
		}
	}
	for name, c := range map[string]struct{ path, says string }{
		"private": {private, "readers must not have"}, "text": {text, "no public key"}, "RSA": {another, "no public key"},
		"a damaged key behind a good one": {damaged, "no public key"},
		"a folder with another file":      {dir, "no public key"}, "an empty folder": {t.TempDir(), "no key in it"},
	} {
		if _, err := ReadTrusted(c.path); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: ReadTrusted: %v, want %q", name, err, c.says)
		}
	}
	if key, err := KeyFile("").Read(); key != nil || err != nil {
		t.Errorf("no path: Read = %v, %v, want nothing", key, err)
	}
}
