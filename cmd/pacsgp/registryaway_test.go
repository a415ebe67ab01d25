package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/internal/serving/servingtest"
)

// A fickleRegistry has one schema under all ids, and can be away.
type fickleRegistry struct {
	*httptest.Server

	away atomic.Bool
}

func startRegistry(t *testing.T, schema string) *fickleRegistry {
	r := &fickleRegistry{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if r.away.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"schema": schema})
	}))
	t.Cleanup(r.Close)
	return r
}

// withID is a value of Avro behind the id of its schema.
func withID(t *testing.T, id uint32, schema *avro.Schema, value map[string]any) []byte {
	t.Helper()
	text, err := schema.Encode(value)
	fatal.If(t, err)
	return append(binary.BigEndian.AppendUint32([]byte{0}, id), text...)
}

// waitsForRegistry: a service whose last records have a schema that the registry cannot give just
// now says so, is not ready, and ends at a signal.
func waitsForRegistry(t *testing.T, r *runningService, at string) {
	t.Helper()
	why := ""
	for until := time.Now().Add(30 * time.Second); !strings.Contains(why, "the registry of schemas does not answer"); time.Sleep(20 * time.Millisecond) {
		select {
		case <-r.done:
			t.Fatalf("it ends: %v: %s", r.err, r.says())
		default:
		}
		if time.Now().After(until) {
			t.Fatalf("it is ready, or says %q: %s", why, r.says())
		}
		_, why = servingtest.Get(t, http.DefaultClient, "http://"+at+"/readyz")
	}
	r.find(t, "(offset [0-9]+: .*registry of schemas does not answer|registry of schemas does not answer)")
}

func isReady(t *testing.T, r *runningService, at string) {
	t.Helper()
	status := 0
	for until := time.Now().Add(30 * time.Second); status != http.StatusOK; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("it is not ready: %s", r.says())
		}
		status, _ = servingtest.Get(t, http.DefaultClient, "http://"+at+"/readyz")
	}
}

// TestStreamWithoutARegistry: it is away when the last records of a window have a new id.
func TestStreamWithoutARegistry(t *testing.T) {
	t.Parallel()
	registry := startRegistry(t, rowSchema)
	c := cluster(t)
	address := c.ListenAddrs()[0]
	createTopic(t, address, "rows", 3)
	job := serviceJob(t, address, t.TempDir(), jobFile{
		"serve": "{listen: 127.0.0.1:0}",
		"kafka": fmt.Sprintf("{brokers: [%q], registry: {url: %q}}", address, registry.URL), "source": "{kafka: {topic: rows, group: trainers, rows: 120, spool: {limit: 10MB}, format: avro}}",
	})
	succeed(t, "topics", "-c", job)
	schema, rows := avro.MustParse(rowSchema), smallRows(t).Rows(0, 130)
	sendAs := func(id uint32, from, to int) {
		var records []*kgo.Record
		for i := from; i < to; i++ {
			records = append(records, &kgo.Record{Topic: "rows", Partition: int32(i % 3), Value: withID(t, id, schema, map[string]any{"x1": rows[0][i], "in": map[string]any{"x2": rows[1][i]}, "y": rows[2][i]})})
		}
		send(t, address, records...)
	}
	sendAs(1, 0, 100)
	r := startService(t, "-c", job)
	at := r.find(t, `metrics at (127\.0\.0\.1:[0-9]+)`)
	isReady(t, r, at)
	registry.away.Store(true)
	sendAs(2, 100, 120)
	waitsForRegistry(t, r, at)
	registry.away.Store(false)
	awaitCertificates(t, address, 1, r)
	isReady(t, r, at)
	registry.away.Store(true)
	sendAs(3, 120, 130)
	waitsForRegistry(t, r, at)
	r.end(t)
}
