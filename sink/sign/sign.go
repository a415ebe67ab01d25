// Package sign signs certificates with ed25519 and checks such signatures: in-toto statements
// (https://in-toto.io/Statement/v1) about a certificate and its model, in DSSE envelopes
// (https://github.com/secure-systems-lab/dsse, version 1). docs/signing.md says what a signature
// adds.
package sign

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
)

const (
	payloadType   = "application/vnd.in-toto+json"
	statementType = "https://in-toto.io/Statement/v1"
	predicateType = "https://github.com/pacsgp/pacsgp/certificate/v1"
)

// A statement is what is signed. The predicate is empty: the certificate is a subject, and says
// everything itself.
type statement struct {
	Type          string    `json:"_type"`
	Subject       []subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
}

type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// An envelope is a DSSE envelope.
type envelope struct {
	PayloadType string      `json:"payloadType"`
	Payload     string      `json:"payload"` // base64
	Signatures  []signature `json:"signatures"`
}

type signature struct {
	KeyID string `json:"keyid"` // a hint, which nothing rests on
	Sig   string `json:"sig"`   // base64
}

// statementOf returns the only form of the statement about a certificate and its model, by their
// SHA-256 in hexadecimal.
func statementOf(certificate, model string) []byte {
	of := func(name, digest string) subject { return subject{name, map[string]string{"sha256": digest}} }
	return document(statement{statementType, []subject{
		of("certificate-"+certificate+".json", certificate),
		of("model-"+model+".parquet", model),
	}, predicateType})
}

// document is the JSON of a value of texts, which cannot fail.
func document(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// preAuthentication is DSSE's encoding of what is signed: type and payload with their lengths, so
// that neither can be taken for a part of the other.
func preAuthentication(kind string, payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(kind), kind, len(payload), payload)
}

// A KeyFile is the path of a private key, "" if nothing is signed: PKCS #8 in PEM, as
// `openssl genpkey -algorithm ed25519` writes it.
type KeyFile string

// A Key signs.
type Key struct {
	private ed25519.PrivateKey
	id      string
}

// Read reads the key; nil without a path. Its errors show nothing of the content.
func (f KeyFile) Read() (*Key, error) {
	if f == "" {
		return nil, nil
	}
	data, err := readSmall(string(f))
	if err != nil {
		return nil, fmt.Errorf("the key to sign with: %w", err)
	}
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, fmt.Errorf("%s: it is no private key in PEM without a password (hint: openssl genpkey -algorithm ed25519 -out key.pem)", string(f))
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	private, ok := parsed.(ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, fmt.Errorf("%s: it is no key of ed25519 (hint: openssl genpkey -algorithm ed25519 -out key.pem)", string(f))
	}
	id, err := keyID(private.Public())
	return &Key{private, id}, err
}

// Sign returns a signature of a certificate and its model, by their SHA-256 in hexadecimal. The same
// arguments give the same bytes.
func (k *Key) Sign(certificate, model string) []byte {
	payload := statementOf(certificate, model)
	sig := ed25519.Sign(k.private, preAuthentication(payloadType, payload))
	return append(document(envelope{
		payloadType, base64.StdEncoding.EncodeToString(payload),
		[]signature{{k.id, base64.StdEncoding.EncodeToString(sig)}},
	}), '\n')
}

// keyID is the SHA-256 of the public key as SubjectPublicKeyInfo.
func keyID(public any) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(public)
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:]), err
}

// MaxBytes bounds the file of a signature or key.
const MaxBytes = 1 << 16

func readSmall(path string) ([]byte, error) {
	at, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !at.Mode().IsRegular() || at.Size() > MaxBytes {
		return nil, fmt.Errorf("%s: it is no file of at most %d KiB", path, MaxBytes>>10)
	}
	return os.ReadFile(path) //nolint:gosec // the user names it
}

// ErrUntrusted says that no trusted key has signed a certificate. No retry helps.
var ErrUntrusted = errors.New("not signed with a trusted key")
