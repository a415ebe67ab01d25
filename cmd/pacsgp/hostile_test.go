package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode"

	"github.com/pacsgp/pacsgp/sink/verifytest"
)

// evil is a name that clears a terminal, sets its title and reverses the reading
// order. A file can have it; in YAML it stands in quotes.
const (
	evil     = "x\x1b[2J\x1b]0;t\a\u202eneddih\u2066\u009b31m\x7f\u200b"
	evilYAML = `"x\x1b[2J\x1b]0;t\a\u202eneddih\u2066\u009b31m\x7f\u200b"`
)

// obeyed returns the first piece of text that a terminal would obey, or "".
func obeyed(text string) string {
	for i, r := range text {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || unicode.In(r, unicode.Zl, unicode.Zp)) || r == unicode.ReplacementChar {
			return fmt.Sprintf("%q", text[max(0, i-40):min(len(text), i+40)])
		}
	}
	return ""
}

// Whatever bears a hostile name, no command prints it as it is.
func TestHostileNames(t *testing.T) {
	a := trained(t)
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Skip(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Skip(err) // not every file system takes such names
		}
		return path
	}
	model, certificate := readFile(t, a.model), readFile(t, a.certificate)
	rows := lines(40)
	text := make([]string, 40)
	odd := table{evil: rows["x1"], "x1": rows["x1"], "x2": rows["x2"], "y": rows["y"], "t" + evil: text}
	file(filepath.Join("odd", evil+".parquet"), odd.bytes(t))
	file(filepath.Join("odd", evil+".csv"), nil)
	file(filepath.Join("text", "part.parquet"), table{"x1": rows["x1"], "x2": rows["x2"], "y": rows["y"], "t" + evil: text}.bytes(t))
	file(filepath.Join("broken", evil+".parquet"), []byte("PAR1 no footer"))
	file(filepath.Join("keys", evil+"=1", "part.parquet"), rows.bytes(t))
	file(filepath.Join("good", evil, "part.parquet"), rows.bytes(t))
	file(filepath.Join("raw\xff\x9b", "part.parquet"), rows.bytes(t))
	file(filepath.Join("out", "checkpoint-"+evil), []byte(evil))
	file(filepath.Join("out", ".pacsgp-"+evil), []byte(evil))
	forged := bytes.ReplaceAll(model, []byte(`"x1"`), []byte("\"\x7f\u009b\""[:4]))
	for _, data := range []string{"broken", "good", evil} {
		if out, _ := verifytest.Python(t, "-m", "pacsgp", "verify", a.model, a.certificate, filepath.Join(dir, data)); obeyed(out) != "" {
			t.Errorf("Python prints %s", obeyed(out))
		}
	}
	calls := [][]string{
		{evil},
		{"train", "--" + evil},
		{"train", "-c", evil},
		{"plan", "-c", file(evil, nil)},
		{"demo", "-o", a.certificate + "/" + evil},
		{"version", evil},
		{"verify", a.model, a.certificate, "--id", evil},
		{"--" + evil},
		{"inspect", file("forged", resealed(forged))},
		{"inspect", file("row", bytes.ReplaceAll(certificate, []byte(`"x1"`), []byte(`"`+"\u009b"+`"`)))},
		{"inspect", file("json", []byte(`{"format":"`+evil+`"}`))},
		{"inspect", file("escaped", []byte(`{"format":"\u001b[2J\u202e"}`))},
		{"verify", a.model, file("kind", []byte(`{"`+evil+`":1}`))},
		{"verify", a.model, a.certificate, filepath.Join(dir, "odd")},
		{"verify", a.model, a.certificate, filepath.Join(dir, "keys")},
		{"predict", a.model, a.certificate, filepath.Join(dir, "good"), "-o", filepath.Join(dir, evil+".out")},
		{"predict", a.model, a.certificate, filepath.Join(dir, "broken"), "-o", filepath.Join(dir, evil+".out")},
		{"predict", a.model, a.certificate, filepath.Join(dir, "raw\xff\x9b"), "-o", filepath.Join(dir, "raw\xff\x9b.out")},
	}
	for _, path := range []string{evil, file("empty"+evil, nil), file("text"+evil, []byte(evil)), file("model"+evil, model), file("certificate"+evil, certificate)} {
		calls = append(calls, []string{"inspect", path}, []string{"verify", path, a.certificate}, []string{"verify", a.model, path},
			[]string{"inspect", "--json", path}, []string{"predict", a.model, a.certificate, path, "-o", path})
	}
	for i, change := range []jobFile{
		{evilYAML: "1"},
		{"train": "{" + evilYAML + ": 1}"},
		{"target": evilYAML},
		{"features": "[" + evilYAML + "]"},
		{"exclude": "[" + evilYAML + "]"},
		{"loss": "{epsilon: 0.7, unit: " + evilYAML + "}"},
		{"loss": "{epsilon: 0.7, kind: " + evilYAML + "}"},
		{"loss": "{epsilon: " + evilYAML + "}"},
		{"split": "{key: " + evilYAML + "}"},
		{"duplicates": evilYAML},
		{"memory": evilYAML},
		{"require": evilYAML},
		{"checkpoint": evilYAML},
		{"grid": evilYAML},
		{"scaling": evilYAML},
		{"fill": "{" + evilYAML + ": 0}"},
		{"output": evilYAML},
		{"source": "{paths: [" + evilYAML + "]}"},
		{"target": "${NO" + evil + "}"},
		{"source": "{paths: [odd]}"},
		{"source": "{paths: [odd]}", "features": "[x1, x2]"},
		{"source": "{paths: [text]}"},
		{"source": "{paths: [broken]}"},
		{"source": "{paths: [keys]}"},
		{"source": "{paths: [good]}"},
		{"source": "{paths: [good]}", "delta": "1e-9"},
	} {
		job := tiny(change).write(t, dir)
		kept := file(fmt.Sprintf("job-%d.yaml", i), readFile(t, job))
		calls = append(calls, []string{"plan", "-c", kept}, []string{"plan", "--json", "-c", kept}, []string{"train", "-c", kept}, []string{"train", "--json", "-c", kept})
	}
	// The last pass in parts, and topics.
	job := tiny(nil).write(t, a.dir)
	fitted := t.TempDir()
	succeed(t, "train", "-c", job, "-o", fitted, "--no-pass")
	part := filepath.Join(dir, "part"+evil)
	calls = append(calls,
		[]string{"pass", "-c", job, "--from", fitted, "-o", part}, []string{"pass", "-c", job, "--from", evil, "-o", part},
		[]string{"pass", "-c", job, "--from", fitted, "-o", part, "--part", evil}, []string{"pass", "-c", evil, "-o", part},
		[]string{"pass", "-c", job, "--from", fitted, "-o", filepath.Join(evil, evil)},
		[]string{"certify", "-c", job, "-o", fitted, part, file("nopart"+evil, []byte(evil))}, []string{"certify", "-c", job, "-o", fitted, evil},
		[]string{"certify", "-c", job, "-o", evil, part}, []string{"certify", "-c", job, "-o", fitted, part},
		[]string{"train", "-c", job, "-o", filepath.Join(dir, "fitted"+evil), "--no-pass"},
	)
	cluster := smallTopic(t)
	broker := cluster.ListenAddrs()[0]
	for i, change := range []jobFile{
		{"kafka": fmt.Sprintf("{brokers: [%q]}", broker), "publish": fmt.Sprintf("{kafka: {name: %s}}", evilYAML)},
		{"kafka": fmt.Sprintf("{brokers: [%q]}", broker), "publish": fmt.Sprintf("{kafka: {name: a, topics: %s}}", evilYAML)},
		{"kafka": fmt.Sprintf("{brokers: [%q], sasl: {mechanism: %s}}", broker, evilYAML)},
		{"kafka": fmt.Sprintf("{brokers: [%q], tls: {ca: %s}}", broker, evilYAML)},
		{"kafka": "{patience: 1s, brokers: [" + strings.Replace(evilYAML, `\x7f`, `\x7f:1`, 1) + "]}"},
		{"features": "[x1, " + evilYAML + "]"},
		{"kafka": fmt.Sprintf("{brokers: [%q]}", broker), "source": fmt.Sprintf("{kafka: {topic: %s}}", evilYAML)},
		{"kafka": fmt.Sprintf("{brokers: [%q]}", broker), "source": fmt.Sprintf("{kafka: {topic: rows, from: %s}}", evilYAML)},
		{"kafka": fmt.Sprintf("{brokers: [%q]}", broker), "source": fmt.Sprintf("{kafka: {topic: rows, format: %s}}", evilYAML)},
		{"kafka": fmt.Sprintf("{brokers: [%q]}", broker), "source": fmt.Sprintf("{kafka: {topic: rows}, spool: {folder: %s}}", evilYAML)},
		{"kafka": fmt.Sprintf("{brokers: [%q]}", broker), "source": fmt.Sprintf("{kafka: {topic: rows, %s: 1}}", evilYAML)},
	} {
		kept := file(fmt.Sprintf("topic-%d.yaml", i), readFile(t, fromTopic(cluster, change).write(t, dir)))
		for _, command := range []string{"topics", "plan", "train"} {
			calls = append(calls, []string{command, "-c", kept})
		}
		calls = append(calls, []string{"pull", evil, "--kafka", kept, "-o", filepath.Join(dir, "pulled"+evil)}, []string{"verify", a.model, a.certificate, "--source", kept})
	}
	calls = append(calls,
		[]string{"pull", evil, "--kafka", broker, "-o", filepath.Join(dir, "pulled"+evil)}, []string{"pull", "a", "--kafka", evil, "-o", evil},
		[]string{"topics", "-c", evil},
	)
	for _, args := range calls {
		got := pacsgp(t, args...)
		for where, said := range map[string]string{"stdout": got.stdout, "stderr": got.log, "error": got.message} {
			if found := obeyed(said); found != "" {
				t.Errorf("pacsgp %q prints to %s: %s", args, where, found)
			}
		}
	}
}

// resealed gives a file of an artifact a seal that fits, as anybody can, if it has one.
func resealed(data []byte) []byte {
	at := bytes.LastIndex(data, []byte("pacsgp-sha256\x18\x40")) + len("pacsgp-sha256") + 2
	if at < len("pacsgp-sha256")+2 {
		return data
	}
	out := bytes.Clone(data)
	copy(out[at:], bytes.Repeat([]byte("0"), 64))
	sum := sha256.Sum256(out)
	copy(out[at:], hex.EncodeToString(sum[:]))
	return out
}

type brokenPipe struct{ left int }

func (b *brokenPipe) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, syscall.ENOSPC
	}
	return len(p), nil
}

// A report that cannot be written is a failure of the command.
func TestStandardOutputThatIsFull(t *testing.T) {
	a := trained(t)
	job := tiny(nil).write(t, a.dir)
	output := filepath.Join(t.TempDir(), "predictions.parquet")
	for _, args := range [][]string{
		{"plan", "-c", job},
		{"train", "-c", job},
		{"inspect", a.certificate},
		{"verify", a.model, a.certificate, a.lake},
		{"predict", a.model, a.certificate, a.lake, "-o", output},
		{"version"},
		{"--help"},
	} {
		for _, left := range []int{0, 40} {
			var log bytes.Buffer
			err := run(t.Context(), args, testSystem(&brokenPipe{left}, &log, plain()))
			if !errors.Is(err, syscall.ENOSPC) || status(err) != exitFailure {
				t.Errorf("pacsgp %q after %d bytes: %v, want status 1", args, left, err)
			}
		}
	}
}
