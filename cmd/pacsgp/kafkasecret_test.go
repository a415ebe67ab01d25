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

// TestSecrets: a job on a broker that demands TLS and a password works with each
// mechanism; a wrong password, authority, name or protocol is told for what it is; and
// neither what it writes nor what it says has the password, whether it ends well or not.
func TestSecrets(t *testing.T) {
	const password, wrong = "correct-horse-battery", "wrong-donkey-capacitor"
	s := brokertest.StartSecure(t, "reader", password)
	createTopic(t, s.Address, "rows", 3)
	fillTopic(t, s.Address, 0)
	dir := t.TempDir()
	secret := filepath.Join(t.TempDir(), "password") // outside of what is searched
	writeFile(t, secret, []byte(password+"\n"))
	mistaken := filepath.Join(t.TempDir(), "password")
	writeFile(t, mistaken, []byte(wrong))
	sasl := func(mechanism, user, file string) string {
		return fmt.Sprintf("{mechanism: %s, user: %s, password_file: %q}", mechanism, user, file)
	}
	var said strings.Builder
	type try struct {
		tls, sasl string
		status    int
		want      string // of the message
	}
	good := fmt.Sprintf("{ca: %q}", s.Authority)
	for i, c := range []try{
		{good, sasl("plain", "reader", secret), 0, ""},
		{good, sasl("scram-sha-256", "reader", secret), 0, ""},
		{good, sasl("scram-sha-512", "reader", secret), 0, ""},
		{good, sasl("plain", "reader", mistaken), exitFailure, "user or password is wrong"},
		{good, sasl("scram-sha-512", "reader", mistaken), exitFailure, "user or password is wrong"},
		{good, sasl("scram-sha-256", "nobody", secret), exitFailure, "user or password is wrong"},
		{fmt.Sprintf("{ca: %q}", s.Stranger), sasl("plain", "reader", secret), exitFailure, "unknown authority"},
		{"", sasl("plain", "reader", secret), exitFailure, "speaks without TLS"},
		{good, "", exitFailure, "password"},
	} {
		cluster := fmt.Sprintf("brokers: [%q], patience: 4s", s.Secure)
		if c.tls != "" {
			cluster += ", tls: " + c.tls
		}
		if c.sasl != "" {
			cluster += ", sasl: " + c.sasl
		}
		own := filepath.Join(dir, fmt.Sprint(i))
		name := fmt.Sprint("small", i)
		job := tiny(jobFile{
			"kafka":    "{" + cluster + "}",
			"source":   "{kafka: {topic: rows}, spool: {keep: true}}",
			"features": "[x1, in.x2]",
			"publish":  fmt.Sprintf("{kafka: {name: %[1]s, topics: %[1]s}}", name),
		})
		fatal.If(t, os.MkdirAll(own, 0o755))
		path := job.write(t, own)
		commands := [][]string{{"topics", "-c", path}, {"train", "-c", path, "--log-level", "debug"}}
		if c.status != 0 {
			commands = commands[1:]
		}
		for _, command := range commands {
			a := pacsgp(t, command...)
			if a.status != c.status || !strings.Contains(a.message, c.want) {
				t.Errorf("tls %s, sasl %s: %s: status %d: %s, want %d and %q", c.tls, c.sasl, command[0], a.status, a.message, c.status, c.want)
			}
			fmt.Fprint(&said, a.stdout, a.log, a.message)
		}
		if c.status == 0 {
			a := succeed(t, "pull", name, "-o", filepath.Join(own, "pulled"), "--kafka", path)
			fmt.Fprint(&said, a.stdout, a.log)
			for _, prefix := range []string{"c-", "m-", "p-"} {
				for _, r := range committedRecords(t, s.Address, prefix+name) {
					said.Write(append(r.Key, r.Value...))
				}
			}
		}
	}
	hidden := func(where string, text []byte) {
		for _, secret := range []string{password, wrong} {
			if bytes.Contains(text, []byte(secret)) {
				t.Errorf("%s has the password %q", where, secret)
			}
		}
	}
	hidden("what was said or published", []byte(said.String()))
	files := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			files++
			hidden(path, readFile(t, path))
		}
		return err
	})
	if err != nil || files < 20 {
		t.Errorf("%d files, %v", files, err)
	}
}
