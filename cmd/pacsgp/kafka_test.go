package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/broker/brokertest"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// cluster starts a broker in this process.
func cluster(t testing.TB, options ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	options = append(options, kfake.NumBrokers(1), kfake.BrokerConfigs(map[string]string{"group.min.session.timeout.ms": "100"}))
	c, err := kfake.NewCluster(options...)
	fatal.If(t, err)
	t.Cleanup(c.Close)
	return c
}

// smallTopic produces the rows of [smallLake] to three partitions of a topic and
// returns the cluster.
func smallTopic(t *testing.T) *kfake.Cluster {
	t.Helper()
	c := cluster(t, kfake.SeedTopics(3, "rows"))
	sendRows(t, c.ListenAddrs()[0], 0, 180)
	return c
}

// own is a client of ours.
func own(t testing.TB, address string) *broker.Client {
	t.Helper()
	client, err := broker.NewClient(broker.Config{Brokers: []string{address}})
	fatal.If(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// foreign is a client of another make. Records go to the partitions that they name.
func foreign(t testing.TB, address string, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append(options, kgo.SeedBrokers(address), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxBufferedRecords(2_000_000))...)
	fatal.If(t, err)
	t.Cleanup(client.Close)
	return client
}

// send produces records.
func send(t testing.TB, address string, records ...*kgo.Record) {
	t.Helper()
	client := foreign(t, address)
	fatal.If(t, client.ProduceSync(t.Context(), records...).FirstErr())
	client.Close()
}

// sendRows produces so many rows to the three partitions, from this one of the generator on.
func sendRows(t *testing.T, address string, first, n int64) {
	t.Helper()
	send(t, address, recordsOf(t, "rows", first, n)...)
}

// recordsOf are the records of rows, for three partitions, one after another, a millisecond apart.
func recordsOf(t testing.TB, topic string, first, n int64) (records []*kgo.Record) {
	t.Helper()
	rows := smallRows(t).Rows(first, int(n))
	for i := range rows[0] {
		records = append(records, &kgo.Record{Topic: topic, Partition: int32(i % 3), Timestamp: time.Now().Add(time.Duration(i) * time.Millisecond), Value: fmt.Appendf(nil, `{"x1":%v,"in":{"x2":%v},"y":%v}`, rows[0][i], rows[1][i], rows[2][i])})
	}
	return records
}

func fromTopic(c *kfake.Cluster, change jobFile) jobFile {
	job := tiny(jobFile{
		"kafka": fmt.Sprintf("{brokers: [%q]}", c.ListenAddrs()[0]), "source": "{kafka: {topic: rows}, spool: {folder: spool, retain: true}}",
		"features": "[x1, in.x2]",
	})
	maps.Copy(job, change)
	return job
}

// committedRecords are what a reader of committed records of another make sees of a topic, in
// the order of its partitions.
func committedRecords(t *testing.T, address, topic string) (all []*kgo.Record) {
	t.Helper()
	client := own(t, address)
	defer func() { _ = client.Close() }() // an open client asks for metadata again and again, and tests poll
	partitions, err := client.Partitions(t.Context(), topic)
	fatal.If(t, err)
	ends, err := client.Offsets(t.Context(), topic, partitions, broker.Latest)
	fatal.If(t, err)
	maps.DeleteFunc(ends, func(_ int, end int64) bool { return end == 0 })
	consumer := foreign(t, address, kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.KeepControlRecords())
	defer consumer.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for len(ends) > 0 && ctx.Err() == nil {
		consumer.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			if r.Offset+1 >= ends[int(r.Partition)] {
				delete(ends, int(r.Partition))
			}
			if !r.Attrs.IsControl() {
				all = append(all, r)
			}
		})
	}
	if ctx.Err() != nil {
		t.Fatalf("not read up to %v", ends)
	}
	slices.SortStableFunc(all, func(a, b *kgo.Record) int { return int(a.Partition) - int(b.Partition) })
	return all
}

func createTopic(t testing.TB, address, topic string, partitions int) {
	t.Helper()
	_, err := own(t, address).CreateTopic(t.Context(), topic, partitions, -1, nil)
	fatal.If(t, err)
}

// Records of rejected rows are sent to a topic with their position and reason, once, also when the
// job runs again; its certificate counts them and is verified by a replay.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	c := smallTopic(t)
	bad := &kgo.Record{Topic: "rows", Key: []byte("k"), Value: []byte(`{"x1":1,"in":`), Headers: []kgo.RecordHeader{{Key: "own", Value: []byte("header")}}}
	send(t, c.ListenAddrs()[0], bad)
	dir := t.TempDir()
	job := fromTopic(c, jobFile{"rejected": "{limit: 2 %, to: {kafka: rows-dead}}"}).write(t, dir)
	pacsgp(t, "train", "-c", job).says(t, exitFailure, "rows-dead", "pacsgp topics")
	pacsgp(t, "topics", "-c", job).says(t, 0, "rows-dead: made")
	for range 2 {
		succeed(t, "train", "-c", job)
	}
	pacsgp(t, "verify", filepath.Join(dir, "out"), "--source", job, "--require", "draw").says(t, 0, "were read again from the log")
	deadLetters := committedRecords(t, c.ListenAddrs()[0], "rows-dead")
	if len(deadLetters) != 1 {
		t.Fatalf("%d dead letters, want 1", len(deadLetters))
	}
	letter := deadLetters[0]
	var headers []string
	for _, h := range letter.Headers {
		headers = append(headers, h.Key+"="+string(h.Value))
	}
	want := []string{"own=header", "pacsgp.topic=rows", fmt.Sprintf("pacsgp.partition=%d", bad.Partition), fmt.Sprintf("pacsgp.offset=%d", bad.Offset)}
	if string(letter.Key) != "k" || string(letter.Value) != string(bad.Value) || len(headers) != 6 || !slices.Equal(headers[:4], want) ||
		headers[5] != "pacsgp.reason=the JSON object is cut off" {
		t.Errorf("letter %s: %s with headers %q", letter.Key, letter.Value, headers)
	}
}

// remake deletes a topic, and makes one of its name.
func remake(t *testing.T, address, name string, partitions int) {
	t.Helper()
	brokertest.DeleteTopic(t, address, name)
	if made, err := own(t, address).CreateTopic(t.Context(), name, partitions, 1, nil); err != nil || !made {
		t.Fatalf("made: %v, %v", made, err)
	}
}

// TestSecrets: neither what a job on a broker with TLS and a password writes nor what it says has
// the password, whether it ends well or not. (Each mechanism and fault: TestSecurity.)
func TestSecrets(t *testing.T) {
	const password, wrong = "correct-horse-battery", "wrong-donkey-capacitor"
	s := brokertest.StartSecure(t, "reader", password)
	createTopic(t, s.Address, "rows", 3)
	sendRows(t, s.Address, 0, 180)
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

const rowSchema = `{"type":"record","name":"Row","fields":[{"name":"x1","type":"double"},{"name":"in","type":{"type":"record","name":"In","fields":[{"name":"x2","type":["null","double"]}]}},{"name":"y","type":"double"}]}`

// A job on a topic of Avro gives the model that the same rows give as JSON, by a registry
// that asks for a password, which is in no output, and by a schema in a file.
func TestAvroTopic(t *testing.T) {
	t.Parallel()
	const password = "open sesame"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, given, _ := r.BasicAuth(); user != "reader" || given != password {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"schema": rowSchema})
	}))
	defer server.Close()
	plain := smallTopic(t)
	c := cluster(t, kfake.SeedTopics(3, "wire", "bare"))
	rows, schema := smallRows(t).Rows(0, 180), avro.MustParse(rowSchema)
	var records []*kgo.Record
	for i := range rows[0] {
		value, err := schema.Encode(map[string]any{"x1": rows[0][i], "in": map[string]any{"x2": rows[1][i]}, "y": rows[2][i]})
		fatal.If(t, err)
		records = append(records, &kgo.Record{Topic: "bare", Partition: int32(i % 3), Value: value},
			&kgo.Record{Topic: "wire", Partition: int32(i % 3), Value: append(binary.BigEndian.AppendUint32([]byte{0}, 5), value...)})
	}
	send(t, c.ListenAddrs()[0], records...)
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "row.avsc"), []byte(rowSchema))
	for name, password := range map[string]string{"right": "open%20sesame", "wrong": "open%20barley"} {
		writeFile(t, filepath.Join(dir, name), []byte(strings.Replace(server.URL, "://", "://reader:"+password+"@", 1)+"\n"))
	}
	models := map[string]bool{}
	for i, topic := range []jobFile{
		{"kafka": fmt.Sprintf("{brokers: [%q]}", plain.ListenAddrs()[0]), "source": "{kafka: {topic: rows}}"},
		{"kafka": fmt.Sprintf("{brokers: [%q], registry: right}", c.ListenAddrs()[0]), "source": "{kafka: {topic: wire, format: avro}}"},
		{"kafka": fmt.Sprintf("{brokers: [%q]}", c.ListenAddrs()[0]), "source": "{kafka: {topic: bare, format: avro, schema: row.avsc}}"},
	} {
		out := fmt.Sprintf("out%d", i)
		topic["output"] = out
		job := fromTopic(c, topic).write(t, dir)
		a := succeed(t, "train", "-c", job)
		r := record(t, filepath.Join(dir, out))
		models[r.Model] = true
		b := pacsgp(t, "verify", filepath.Join(dir, out, r.Model), filepath.Join(dir, out, r.Certificate), "--source", job)
		// So small a model certifies nothing, which is said when all is verified.
		if b.status != exitNotCertified || !strings.Contains(b.message, "the certificate is correct") || !strings.Contains(b.stdout, "were read again from the log") {
			t.Errorf("verify: status %d, %s%s", b.status, b.stdout, b.message)
		}
		if strings.Contains(a.stdout+a.log+b.stdout+b.log+string(readFile(t, filepath.Join(dir, out, r.Certificate))), "sesame") {
			t.Error("the password stands in an output")
		}
	}
	if len(models) != 1 {
		t.Errorf("models %v, want one", models)
	}
	silent := fromTopic(c, jobFile{"kafka": fmt.Sprintf("{brokers: [%q], registry: wrong}", c.ListenAddrs()[0]), "source": "{kafka: {topic: wire, format: avro}}"}).write(t, dir)
	if a := pacsgp(t, "train", "-c", silent); a.status == 0 || !strings.Contains(a.message, "does not answer") || strings.Contains(a.message, "barley") {
		t.Errorf("status %d, %s", a.status, a.message)
	}
}
