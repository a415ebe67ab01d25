package brokertest

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// StartSecure starts a broker for one test. It has a listener that demands TLS, and this user and
// password by PLAIN or SCRAM. It takes seconds.
func StartSecure(t testing.TB, user, password string) *Server {
	t.Helper()
	own, key, stranger := certificates(t)
	oneLine := func(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", `\n`) }
	s := prepare(t, t.TempDir(), map[string]string{
		"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": oneLine(own), "ssl.keystore.key": oneLine(key),
		"sasl.enabled.mechanisms":                             "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
		"listener.name.secure.plain.sasl.jaas.config":         fmt.Sprintf(`org.apache.kafka.common.security.plain.PlainLoginModule required user_%s="%s";`, user, password),
		"listener.name.secure.scram-sha-256.sasl.jaas.config": `org.apache.kafka.common.security.scram.ScramLoginModule required;`,
		"listener.name.secure.scram-sha-512.sasl.jaas.config": `org.apache.kafka.common.security.scram.ScramLoginModule required;`,
	}, user, password)
	t.Cleanup(func() { s.stop() })
	s.Run(t)
	write := func(name, text string) string {
		path := filepath.Join(s.folder, name)
		fatal.If(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	s.Authority, s.Stranger = write("ca.pem", own), write("stranger.pem", stranger)
	return s
}

// certificates returns, as PEM, a certificate of loopback that is its own authority, its key, and
// the certificate of another authority.
func certificates(t testing.TB) (own, key, stranger string) {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	text := func(kind string, der []byte, err error) string {
		fatal.If(t, err)
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	der, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	key = text("PRIVATE KEY", der, err)
	_, other, err := ed25519.GenerateKey(nil)
	fatal.If(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true, IsCA: true}
	der, err = x509.CreateCertificate(rand.Reader, template, template, other.Public(), other)
	return text("CERTIFICATE", server.Certificate().Raw, nil), key, text("CERTIFICATE", der, err)
}
