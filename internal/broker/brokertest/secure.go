package brokertest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// StartSecure starts a broker with a listener that demands TLS and this password of a
// user, by PLAIN or SCRAM.
func StartSecure(t testing.TB, user, password string) *Server {
	t.Helper()
	ca, chain, key := certificates(t)
	stranger, _, _ := certificates(t)
	oneLine := func(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", `\n`) }
	s := Start(t, Options{
		Secure: "SASL_SSL", Users: map[string]string{user: password},
		Properties: map[string]string{
			"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": oneLine(chain), "ssl.keystore.key": oneLine(key),
			"sasl.enabled.mechanisms":                             "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
			"listener.name.secure.plain.sasl.jaas.config":         fmt.Sprintf(`org.apache.kafka.common.security.plain.PlainLoginModule required user_%s="%s";`, user, password),
			"listener.name.secure.scram-sha-256.sasl.jaas.config": `org.apache.kafka.common.security.scram.ScramLoginModule required;`,
			"listener.name.secure.scram-sha-512.sasl.jaas.config": `org.apache.kafka.common.security.scram.ScramLoginModule required;`,
		},
	})
	write := func(name, text string) string {
		path := filepath.Join(s.folder, name)
		fatal.If(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	s.Authority, s.Stranger = write("ca.pem", ca), write("stranger.pem", stranger)
	return s
}

// certificates are an authority and the certificate and key of a broker on loopback.
func certificates(t testing.TB) (ca, chain, key string) {
	t.Helper()
	issue := func(template, parent *x509.Certificate, signer *ecdsa.PrivateKey) (*ecdsa.PrivateKey, []byte) {
		own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		fatal.If(t, err)
		if signer == nil {
			parent, signer = template, own
		}
		der, err := x509.CreateCertificate(rand.Reader, template, parent, &own.PublicKey, signer)
		fatal.If(t, err)
		return own, der
	}
	template := func(name string) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature,
		}
	}
	root := template("authority")
	root.IsCA, root.KeyUsage = true, x509.KeyUsageCertSign
	rootKey, rootDER := issue(root, nil, nil)
	leaf := template("broker")
	leaf.SerialNumber, leaf.IPAddresses = big.NewInt(2), []net.IP{net.IPv4(127, 0, 0, 1)}
	leafKey, leafDER := issue(leaf, root, rootKey)
	text := func(kind string, der []byte) string {
		var b bytes.Buffer
		fatal.If(t, pem.Encode(&b, &pem.Block{Type: kind, Bytes: der}))
		return b.String()
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(leafKey)
	fatal.If(t, err)
	return text("CERTIFICATE", rootDER), text("CERTIFICATE", leafDER) + text("CERTIFICATE", rootDER), text("PRIVATE KEY", keyDER)
}
