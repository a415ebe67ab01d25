package broker

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
)

// TLSFiles are the PEM files of an encrypted connection, as a file declares them.
type TLSFiles struct {
	CA          string `yaml:"ca"`          // authorities of the brokers' certificates; "" means those of the system
	Certificate string `yaml:"certificate"` // of the client, with Key; "" means none
	Key         string `yaml:"key"`
}

// Load reads the files and returns a configuration. A certificate needs a key, and vice versa.
func (f TLSFiles) Load() (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.CA != "" {
		pem, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, fmt.Errorf("kafka: tls.ca: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("kafka: tls.ca: %s holds no certificate (PEM)", f.CA)
		}
	}
	if (f.Certificate == "") != (f.Key == "") {
		return nil, errors.New("kafka: tls: certificate and key of the client go together")
	}
	if f.Certificate != "" {
		pair, err := tls.LoadX509KeyPair(f.Certificate, f.Key)
		if err != nil {
			return nil, fmt.Errorf("kafka: tls.certificate: %w", err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}

// Mechanisms of authentication by user and password.
const (
	Plain       = "plain"
	ScramSHA256 = "scram-sha-256"
	ScramSHA512 = "scram-sha-512"
)

// Mechanisms are all of them.
var Mechanisms = []string{Plain, ScramSHA256, ScramSHA512}

// Login returns the mechanism of that name for a user. Other names than the above are errors.
func Login(mechanism, user, password string) (sasl.Mechanism, error) {
	switch mechanism {
	case Plain:
		return plain.Mechanism{Username: user, Password: password}, nil
	case ScramSHA256:
		return scram.Mechanism(scram.SHA256, user, password)
	case ScramSHA512:
		return scram.Mechanism(scram.SHA512, user, password)
	default:
		return nil, fmt.Errorf("kafka: sasl.mechanism: %q is none of %s", mechanism, strings.Join(Mechanisms, ", "))
	}
}
