package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	sinklog "github.com/pacsgp/pacsgp/sink/kafkalog"
)

// TestStreamThatDrifts: hours of a station that measures the air, in their order, are neither
// independent nor of one source for long. Each window is published as what it is: the
// certificate assumes independent rows and says what speaks against it, and so does the log;
// one that promises nothing is published and is not current.
func TestStreamThatDrifts(t *testing.T) {
	t.Parallel()
	const windows, rows = 2, 1000
	records := airRecords(t, windows*rows+100)
	address := cluster(t, kfake.SeedTopics(1, "rows")).ListenAddrs()[0]
	send(t, address, records...)
	job := serviceJob(t, address, t.TempDir(), jobFile{
		"kafka": fmt.Sprintf("{brokers: [%q]}", address), "source": fmt.Sprintf("{kafka: {topic: rows, group: trainers, rows: %d, spool: {limit: 100MB}}}", rows),
		"features": "[PM10, NO2, CO, TEMP, DEWP]", "loss": "{epsilon: 40}", "train": "{passes: 2, objective: bound}", "bad_rows": "{tolerance: 40 %}", "stream": "{keep: 3}",
	})
	succeed(t, "topics", "-c", job)
	r := startService(t, "-c", job)
	all := awaitCertificates(t, address, windows, r)
	r.end(t)
	onceEach(t, "trainers", all)
	for i, c := range all {
		t.Logf("window %d: %s", i, c.About(certify.PredictorDraw).Headline)
		if !c.Dependence.Suspicious || !(c.Dependence.Correlation > 0.8) || c.Ledger.Bad == 0 {
			t.Errorf("window %d: neighbouring hours are %+v, %d bad rows", i, c.Dependence, c.Ledger.Bad)
		}
		for _, a := range c.Assumptions {
			if a.ID == certify.AssumeIndependentRows && (a.Status != certify.AssumptionAssumed || !strings.Contains(a.Diagnostic, fmt.Sprintf("%.3f", c.Dependence.Correlation))) {
				t.Errorf("window %d: %+v", i, a)
			}
		}
	}
	r.find(t, `(near rows are more alike)`)
	current := certify.Certificate{}
	for _, c := range all {
		if c.About(certify.PredictorDraw).Status == certify.StatusCertified {
			current = c
		}
	}
	p, err := sinklog.Current(t.Context(), own(t, address), sinklog.Topics{}, "small")
	if err != nil || p.Model != current.Model.Digest || p.Bound != current.About(certify.PredictorDraw).Bound {
		t.Errorf("the pointer is %+v (%v), want the last one that is certified", p, err)
	}
}

// airRecords are the first rows of a station, with nulls where nothing was measured.
func airRecords(t *testing.T, n int) (records []*kgo.Record) {
	t.Helper()
	root := os.Getenv("PACSGP_DATA")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared", "data")
	}
	path := filepath.Join(root, "beijing_air", "Aotizhongxin.parquet")
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the test data are missing: %v; set PACSGP_DATA", err)
		}
		t.Skipf("the test data are missing: %v; set PACSGP_DATA", err)
	}
	text := readFile(t, path)
	file, err := parquet.OpenFile(strings.NewReader(string(text)), int64(len(text)))
	fatal.If(t, err)
	columns := file.Schema().Columns()
	for _, group := range file.RowGroups() {
		rows := group.Rows()
		buf := make([]parquet.Row, 500)
		for {
			read, err := rows.ReadRows(buf)
			for _, row := range buf[:read] {
				values := map[string]any{}
				for _, v := range row {
					name := columns[v.Column()][0]
					if name == "PM2.5" {
						name = "y"
					}
					if v.Kind() == parquet.Double {
						values[name] = v.Double()
					} else if v.IsNull() {
						values[name] = nil
					}
				}
				value, err := json.Marshal(values)
				fatal.If(t, err)
				if records = append(records, &kgo.Record{Topic: "rows", Value: value}); len(records) == n {
					return records
				}
			}
			if errors.Is(err, io.EOF) {
				break
			}
			fatal.If(t, err)
		}
	}
	t.Fatalf("the station has %d rows, want %d", len(records), n)
	return nil
}
