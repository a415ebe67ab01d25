package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/internal/serving/servingtest"
)

// A shared buffer is written by one goroutine and read by another.
type shared struct {
	lock sync.Mutex
	text bytes.Buffer
}

func (s *shared) Write(b []byte) (int, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.text.Write(b)
}

func (s *shared) String() string {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.text.String()
}

var consoleAddress = regexp.MustCompile(`https?://[^/]+/`)

// served starts a console and returns its address. It ends with the test, without an error.
func served(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var said shared
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, append([]string{"console", "--listen", "127.0.0.1:0"}, args...), testSystem(&said, io.Discard, nil, nil))
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the console ended with %v", err)
		}
	})
	for began := time.Now(); time.Since(began) < 30*time.Second; time.Sleep(10 * time.Millisecond) {
		if address := consoleAddress.FindString(said.String()); address != "" {
			return address
		}
		select {
		case err := <-done:
			done <- nil
			t.Fatalf("the console ended at once: %v", err)
		default:
		}
	}
	t.Fatal("the console does not listen")
	return ""
}

// The console shows what train has published, on this machine alone.
func TestConsole(t *testing.T) {
	a := trained(t)
	address := served(t, a.out)
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		status, page := servingtest.Get(t, http.DefaultClient, address)
		if status == http.StatusOK && strings.Contains(page, "/certificate/"+a.id) {
			break
		}
		if time.Since(began) > 30*time.Second {
			t.Fatalf("status %d: %s", status, page)
		}
	}
	status, page := servingtest.Get(t, http.DefaultClient, address+"certificate/"+a.id)
	if status != http.StatusOK || !strings.Contains(page, "What the bound is made of") {
		t.Errorf("status %d: %s", status, page)
	}
	pacsgp(t, "console").says(t, exitUsage, "name the output directories")
	pacsgp(t, "console", filepath.Join(a.dir, "none")).says(t, exitFailure, "no such file")
	pacsgp(t, "console", a.certificate).says(t, exitFailure, "no directory")
}

// Others are served with a token and TLS, or not at all.
func TestConsoleForOthers(t *testing.T) {
	dir := t.TempDir()
	token, chain, key := filepath.Join(dir, "token"), filepath.Join(dir, "chain.pem"), filepath.Join(dir, "key.pem")
	writeFile(t, token, []byte("a-token-of-some-length\n"))
	roots := selfSigned(t, chain, key)
	for _, args := range [][]string{
		{"--listen", "0.0.0.0:0"},
		{"--listen", ":0"},
		{"--listen", "[::]:0"},
		{"--listen", "example.org:0"},
		{"--listen", "0.0.0.0:0", "--token-file", token},
		{"--listen", "0.0.0.0:0", "--tls-cert", chain, "--tls-key", key},
	} {
		pacsgp(t, append([]string{"console", dir}, args...)...).says(t, exitUsage, "beyond loopback, it needs a token, a certificate and its key")
	}
	pacsgp(t, "console", dir, "--listen", "7433").says(t, exitUsage, "want host:port")
	pacsgp(t, "console", dir, "--tls-cert", chain).says(t, exitUsage, "--tls-key: certificate and key go together")
	short := filepath.Join(dir, "short")
	writeFile(t, short, []byte("too short\n"))
	pacsgp(t, "console", dir, "--token-file", short).says(t, exitFailure, "at least 16 characters")

	address := served(t, dir, "--token-file", token, "--tls-cert", chain, "--tls-key", key)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	if status, page := servingtest.Get(t, client, address); status != http.StatusUnauthorized || !strings.HasPrefix(address, "https://") {
		t.Errorf("%s: status %d: %s", address, status, page)
	}
	if status, _ := servingtest.Get(t, client, address, "Authorization", "Bearer a-token-of-some-length"); status != http.StatusOK {
		t.Errorf("with the token: status %d", status)
	}
}

// selfSigned writes a certificate for this machine, and returns it as a root.
func selfSigned(t *testing.T, chain, key string) *x509.CertPool {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	fatal.If(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	fatal.If(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	fatal.If(t, err)
	writeFile(t, chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	writeFile(t, key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return roots
}
