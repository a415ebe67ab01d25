package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

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
