// Package sign signs certificates with ed25519 and checks such signatures: in-toto statements
// (https://in-toto.io/Statement/v1) about a certificate and its model, in DSSE envelopes
// (https://github.com/secure-systems-lab/dsse, version 1). docs/howto/sign.md says what a signature adds.
package sign

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"

	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/durable"
)

const payloadType = "application/vnd.in-toto+json"

// statementOf returns the statement about a certificate and a model with these SHA-256, in
// hexadecimal. It has only this form. The certificate says all, so its predicate is empty.
func statementOf(certificate, model string) []byte {
	return fmt.Appendf(nil, `{"_type":"https://in-toto.io/Statement/v1","subject":[`+
		`{"name":"certificate-%s.json","digest":{"sha256":"%[1]s"}},{"name":"model-%[2]s.parquet","digest":{"sha256":"%[2]s"}}],`+
		`"predicateType":"https://github.com/pacsgp/pacsgp/certificate/v1"}`, certificate, model)
}

// A KeyFile is the path of a private ed25519 key: PKCS #8 in PEM, as written by `openssl genpkey
// -algorithm ed25519`. "" means that nothing is signed.
type KeyFile string

// A Key is a private key that signs certificates.
type Key struct {
	private ed25519.PrivateKey
	id      string
}

// Read reads the key. It returns nil if the path is "". Its errors reveal nothing of the content.
func (f KeyFile) Read() (*Key, error) {
	if f == "" {
		return nil, nil
	}
	data, err := durable.ReadSmall(string(f), "a key", MaxBytes)
	if err != nil {
		return nil, fmt.Errorf("the key to sign with: %w", err)
	}
	if block, _ := pem.Decode(data); block != nil && block.Type == "PRIVATE KEY" {
		parsed, _ := x509.ParsePKCS8PrivateKey(block.Bytes)
		if private, ok := parsed.(ed25519.PrivateKey); ok {
			id, err := keyID(private.Public())
			return &Key{private, id}, err
		}
	}
	return nil, fmt.Errorf("%s: it is no private key of ed25519 in PEM without a password (hint: openssl genpkey -algorithm ed25519 -out key.pem)", string(f))
}

// Sign returns a signature of a certificate and its model, both given by SHA-256 in hexadecimal.
// The same arguments give the same bytes.
func (k *Key) Sign(certificate, model string) []byte {
	return k.envelope(payloadType, statementOf(certificate, model))
}

func (k *Key) envelope(kind string, payload []byte) []byte {
	data, err := json.Marshal(dsse.Envelope{
		PayloadType: kind, Payload: base64.StdEncoding.EncodeToString(payload),
		Signatures: []dsse.Signature{{KeyID: k.id, Sig: base64.StdEncoding.EncodeToString(ed25519.Sign(k.private, dsse.PAE(kind, payload)))}},
	})
	if err != nil {
		panic(err) // strings always have a JSON form
	}
	return append(data, '\n')
}

// keyID returns the SHA-256 of the public key as SubjectPublicKeyInfo, in hexadecimal.
func keyID(public any) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(public)
	return digest.Of(der), err
}

// MaxBytes bounds the file of a signature or key, in bytes.
const MaxBytes = 1 << 16
