package sign

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Trusted are the public keys that a reader trusts.
type Trusted struct{ keys []trustedKey }

type trustedKey struct {
	public ed25519.PublicKey
	id     string
	file   string
}

func (k trustedKey) String() string { return fmt.Sprintf("%.16s (%s)", k.id, k.file) }

// ReadTrusted reads the public keys of a file, in PEM as `openssl pkey -pubout` writes them, or of
// all files of a folder whose names do not begin with a dot. Another file among them is an error.
func ReadTrusted(path string) (t Trusted, err error) {
	files := []string{path}
	if at, err := os.Stat(path); err == nil && at.IsDir() {
		entries, err := os.ReadDir(path)
		if err != nil {
			return t, err
		}
		files = nil
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), ".") {
				files = append(files, filepath.Join(path, e.Name()))
			}
		}
	}
	for _, file := range files {
		data, err := readSmall(file)
		if err != nil {
			return t, err
		}
		if err := t.add(file, data); err != nil {
			return t, fmt.Errorf("%s: %w", file, err)
		}
	}
	if len(t.keys) == 0 {
		return t, fmt.Errorf("%s: there is no key in it", path)
	}
	return t, nil
}

// add adds the keys of a file.
func (t *Trusted) add(file string, data []byte) error {
	before := len(t.keys)
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if strings.Contains(block.Type, "PRIVATE KEY") {
			return errors.New("it is a private key, which readers must not have (hint: openssl pkey -in key.pem -pubout -out public.pem)")
		}
		parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
		public, ok := parsed.(ed25519.PublicKey)
		if block.Type != "PUBLIC KEY" || err != nil || !ok {
			return errors.New("it is no public key of ed25519 in PEM")
		}
		id, err := keyID(public)
		if err != nil {
			return err
		}
		t.keys = append(t.keys, trustedKey{public, id, filepath.Base(file)})
	}
	if found := len(t.keys) - before; found == 0 || found != bytes.Count(data, []byte("-----BEGIN ")) { // damaged blocks are passed over
		return errors.New("it is no public key of ed25519 in PEM")
	}
	return nil
}

// Check returns which trusted key has signed a certificate and its model, of these SHA-256 in
// hexadecimal, in one of some envelopes. Other signatures do no harm. Without one of a trusted key
// the error is [ErrUntrusted], and says of each envelope why it is none.
func (t Trusted) Check(certificate, model string, envelopes [][]byte) (key string, err error) {
	err = fmt.Errorf("%w: it has no signature", ErrUntrusted)
	for i, data := range envelopes {
		key, fault := t.signed(statementOf(certificate, model), data)
		if fault == nil {
			return key, nil
		}
		if i == 0 {
			err = fmt.Errorf("%w: %w", ErrUntrusted, fault)
		} else {
			err = fmt.Errorf("%w; %w", err, fault)
		}
	}
	return "", err
}

// mostSignatures bounds the work for an envelope.
const mostSignatures = 16

// signed returns the key that has signed a payload in an envelope. The keys themselves decide, not
// the ids that the envelope has for them.
func (t Trusted) signed(want, data []byte) (string, error) {
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil {
		return "", errors.New("its signature is damaged: it is no JSON of an envelope")
	}
	payload, err := decode(e.Payload)
	if err != nil || len(e.Signatures) == 0 || len(e.Signatures) > mostSignatures {
		return "", errors.New("its signature is damaged: payload or signatures are missing, cut off or too many")
	}
	said := preAuthentication(e.PayloadType, payload)
	for _, s := range e.Signatures {
		sig, err := decode(s.Sig)
		if err != nil {
			continue
		}
		for _, k := range t.keys {
			if !ed25519.Verify(k.public, said, sig) {
				continue
			}
			if e.PayloadType != payloadType || !bytes.Equal(payload, want) {
				return "", fmt.Errorf("the key %v has signed %s, and not this certificate", k, about(e.PayloadType, payload))
			}
			return k.String(), nil
		}
	}
	return "", t.unknown(e.Signatures[0].KeyID)
}

// unknown says why a signature with this key id is none.
func (t Trusted) unknown(id string) error {
	for _, k := range t.keys {
		if k.id == id {
			return fmt.Errorf("the signature in the name of the key %v is not by this key: it is forged or damaged", k)
		}
	}
	return fmt.Errorf("it is signed with the key %.16q, which is not among the trusted ones", id)
}

// about says what a payload is about.
func about(kind string, payload []byte) string {
	var s statement
	if kind != payloadType || json.Unmarshal(payload, &s) != nil || s.Type != statementType || s.PredicateType != predicateType || len(s.Subject) != 2 {
		return fmt.Sprintf("something else, of the type %.64q", kind)
	}
	return fmt.Sprintf("%.24q and %.18q", s.Subject[0].Name, s.Subject[1].Name)
}

// decode reads base64 in either alphabet, as DSSE demands. An empty text is an error.
func decode(text string) ([]byte, error) {
	if text == "" {
		return nil, errors.New("nothing")
	}
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		data, err = base64.URLEncoding.Strict().DecodeString(text)
	}
	return data, err
}
