package sign

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"

	"github.com/pacsgp/pacsgp/internal/durable"
)

// ErrUntrusted means that no trusted key has signed a certificate. A retry does not help.
var ErrUntrusted = errors.New("not signed with a trusted key")

// Trusted are the public keys that a reader trusts.
type Trusted []trustedKey

type trustedKey struct {
	public   ed25519.PublicKey
	id, file string
}

// Verify checks a signature. It implements [dsse.Verifier].
func (k trustedKey) Verify(_ context.Context, data, signature []byte) error {
	if !ed25519.Verify(k.public, data, signature) {
		return ErrUntrusted
	}
	return nil
}

func (k trustedKey) KeyID() (string, error) { return k.id, nil }

func (k trustedKey) Public() crypto.PublicKey { return k.public }

func (k trustedKey) String() string { return fmt.Sprintf("%.16s (%s)", k.id, k.file) }

// ReadTrusted reads public keys in PEM, as written by `openssl pkey -pubout`, from a file or from
// all files of a folder. It skips names that begin with a dot; all others must be keys.
func ReadTrusted(path string) (t Trusted, err error) {
	files := []string{path}
	if entries, err := os.ReadDir(path); err == nil {
		files = nil
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), ".") {
				files = append(files, filepath.Join(path, e.Name()))
			}
		}
	}
	for _, file := range files {
		keys, err := readKeys(file)
		if err != nil {
			return nil, err
		}
		t = append(t, keys...)
	}
	if len(t) == 0 {
		err = fmt.Errorf("%s: there is no key in it", path)
	}
	return t, err
}

func readKeys(file string) (keys Trusted, err error) {
	data, err := durable.ReadSmall(file, "a key", MaxBytes)
	if err != nil {
		return nil, err
	}
	if bytes.Contains(data, []byte("PRIVATE KEY")) {
		return nil, fmt.Errorf("%s: it is a private key, which readers must not have (hint: openssl pkey -in key.pem -pubout -out public.pem)", file)
	}
	begun := bytes.Count(data, []byte("-----BEGIN ")) // pem.Decode skips damaged blocks
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		parsed, _ := x509.ParsePKIXPublicKey(block.Bytes)
		if public, ok := parsed.(ed25519.PublicKey); ok && block.Type == "PUBLIC KEY" {
			id, err := keyID(public)
			if err != nil {
				return nil, err
			}
			keys = append(keys, trustedKey{public, id, filepath.Base(file)})
		}
	}
	if len(keys) == 0 || len(keys) != begun {
		return nil, fmt.Errorf("%s: it is no public key of ed25519 in PEM", file)
	}
	return keys, nil
}

// Check returns the trusted key that has signed a certificate and its model, given by SHA-256 in
// hexadecimal, in one of the envelopes. Other signatures do no harm. If no trusted key has signed,
// it returns [ErrUntrusted] with the reason for each envelope.
func (t Trusted) Check(ctx context.Context, certificate, model string, envelopes [][]byte) (key string, err error) {
	if len(envelopes) == 0 {
		return "", fmt.Errorf("%w: it has no signature", ErrUntrusted)
	}
	faults := []string{}
	for _, data := range envelopes {
		key, fault := t.signed(ctx, statementOf(certificate, model), data)
		if fault == "" {
			return key, nil
		}
		faults = append(faults, fault)
	}
	return "", fmt.Errorf("%w: %s", ErrUntrusted, strings.Join(faults, "; "))
}

// mostSignatures bounds how many signatures of an envelope are checked.
const mostSignatures = 16

// signed returns the trusted key that has signed want in an envelope, or why there is none.
func (t Trusted) signed(ctx context.Context, want, data []byte) (key, fault string) {
	var e dsse.Envelope
	if json.Unmarshal(data, &e) != nil || len(e.Signatures) == 0 || len(e.Signatures) > mostSignatures {
		return "", "its signature is damaged: it is no JSON of an envelope, or has no signatures or too many"
	}
	id := e.Signatures[0].KeyID
	fault = fmt.Sprintf("it is signed with the key %.16q, which is not among the trusted ones", id)
	for _, k := range t {
		if k.id == id {
			fault = fmt.Sprintf("the signature in the name of the key %v is not by this key: it is forged or damaged", k)
		}
		by, err := dsse.NewEnvelopeVerifier(k)
		if err != nil {
			return "", err.Error()
		}
		for _, s := range e.Signatures { // one by one, and without the hint, which other programs may write in another form
			one := dsse.Envelope{PayloadType: e.PayloadType, Payload: e.Payload, Signatures: []dsse.Signature{{Sig: s.Sig}}}
			if _, payload, err := by.VerifyAndDecode(ctx, &one); err == nil {
				if e.PayloadType == payloadType && bytes.Equal(payload, want) {
					return k.String(), ""
				}
				return "", fmt.Sprintf("the key %v has signed %.300q of the type %.64q, and not this certificate", k, payload, e.PayloadType)
			}
		}
	}
	return "", fault
}
