package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/broker/brokertest"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// TestSecrets: neither what a job on a broker with TLS and a password writes nor what it says has
// the password, whether it ends well or not. (Each mechanism and fault: TestSecurity.)
func TestSecrets(t *testing.T) {
	const password, wrong = "correct-horse-battery", "wrong-donkey-capacitor"
	s := brokertest.StartSecure(t, "reader", password)
	createTopic(t, s.Address, "rows", 3)
	fillTopic(t, s.Address, 0)
	dir, said := t.TempDir(), ""
	for word, status := range map[string]int{password: 0, wrong: exitFailure} {
		secret := filepath.Join(t.TempDir(), "password") // outside of what is searched
		writeFile(t, secret, []byte(word+"\n"))
		own := filepath.Join(dir, word[:5])
		fatal.If(t, os.MkdirAll(own, 0o755))
		job := tiny(jobFile{
			"kafka":    fmt.Sprintf("{brokers: [%q], patience: 4s, tls: {ca: %q}, sasl: {mechanism: scram-sha-512, user: reader, password_file: %q}}", s.Secure, s.Authority, secret),
			"source":   "{kafka: {topic: rows}, spool: {retain: true}}",
			"features": "[x1, in.x2]",
			"publish":  "{kafka: {name: small}}",
		}).write(t, own)
		commands := [][]string{{"topics", "-c", job}, {"train", "-c", job, "--log-level", "debug"}, {"pull", "small", "-o", filepath.Join(own, "pulled"), "--kafka", job}}
		if status != 0 {
			commands = commands[1:2]
		}
		for _, command := range commands {
			a := pacsgp(t, command...)
			if a.status != status || status != 0 && !strings.Contains(a.message, "user or password is wrong") {
				t.Errorf("%s: status %d: %s, want %d", command[0], a.status, a.message, status)
			}
			said += a.stdout + a.log + a.message
		}
	}
	for _, topic := range []string{"pacsgp-certificates", "pacsgp-models", "pacsgp-current"} {
		for _, r := range committedRecords(t, s.Address, topic) {
			said += string(r.Key) + string(r.Value)
		}
	}
	hidden := func(where string, text []byte) {
		if bytes.Contains(text, []byte(password)) || bytes.Contains(text, []byte(wrong)) {
			t.Errorf("%s has the password", where)
		}
	}
	hidden("what was said or published", []byte(said))
	files := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			files++
			hidden(path, readFile(t, path))
		}
		return err
	})
	if err != nil || files < 10 {
		t.Errorf("%d files, %v", files, err)
	}
}
