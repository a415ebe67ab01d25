package kafkalog

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// Where rejected rows are tolerated, a record with a bad value is a row with a NaN there, and
// one that is no row at all, a tombstone too, is a row of NaN; replayed, they are the same.
// Else each of them is an error.
func TestBadRecordsAreRowsWhereTheyAreTolerated(t *testing.T) {
	nan := math.NaN()
	c := newCluster(t, 1)
	p := c.producer(t)
	want := make([][2]float64, 0, 6)
	for _, each := range []struct {
		value string
		row   [2]float64
	}{
		{`{"x":1,"in":{"y":2}}`, [2]float64{1, 2}},
		{`{"x":null,"in":{"y":3}}`, [2]float64{nan, 3}},
		{`{"x":4`, [2]float64{nan, nan}},
		{``, [2]float64{nan, nan}},
		{`{"x":5,"in":{"y":9007199254740993}}`, [2]float64{5, nan}},
		{`{"x":6,"in":{"y":7}}`, [2]float64{6, 7}},
	} {
		r := row(0, 0, 0)
		if r.Value = []byte(each.value); each.value == "" {
			r.Value = nil
		}
		produce(t, p, r)
		want = append(want, each.row)
	}
	if _, err := Spool(t.Context(), c.config(t)); err == nil {
		t.Error("bad records that are not tolerated are no error")
	}
	cfg := c.config(t)
	cfg.Tolerant, cfg.DeadLetters = true, true
	w, err := Spool(t.Context(), cfg)
	fatal.If(t, err)
	rowsOf := func(w *Window) [][2]float64 {
		src, err := w.Open(t.Context(), dataset.Choice{Features: []string{"x"}, Target: "in.y", Mark: true})
		fatal.If(t, err)
		rows, _ := read(t, src)
		return rows
	}
	if diff := cmp.Diff(want, rowsOf(w), cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	var deadLetters []string
	err = w.DeadLetters(func(partition int, r broker.Record) error {
		text := fmt.Sprintf("%d/%d %s", partition, r.Offset, r.Value)
		for _, h := range r.Headers {
			text += fmt.Sprintf(" %s=%s", strings.TrimPrefix(h.Key, "pacsgp."), h.Value)
		}
		if r.Value == nil {
			text += " (no value)"
		}
		deadLetters = append(deadLetters, text)
		return nil
	})
	if err != nil || len(deadLetters) != 4 {
		t.Fatalf("dead letters %q, %v", deadLetters, err)
	}
	for i, want := range []string{`column "x" is null`, "JSON object is cut off", "tombstone", "beyond 2^53"} {
		if !strings.Contains(deadLetters[i], want) || !strings.Contains(deadLetters[i], " topic=rows partition=0 offset=") {
			t.Errorf("letter %q, want %q and its position", deadLetters[i], want)
		}
	}
	if !strings.HasPrefix(deadLetters[1], `0/2 {"x":4 topic`) || !strings.HasSuffix(deadLetters[2], " (no value)") {
		t.Errorf("values were touched: %q", deadLetters)
	}
	src, err := w.Open(t.Context(), dataset.Choice{Features: []string{"x"}, Target: "in.y", Mark: true})
	fatal.If(t, err)
	_, err = pipelinetest.Each(t.Context(), src, 0, func(record arrow.Record) {
		reasons := record.Column(2).(*array.String)
		for i, want := range map[int]string{1: `offset 1: column "x" is null`, 2: "offset 2: the JSON object is cut off", 4: `offset 4: column "in.y" has more digits`} {
			if !reasons.IsNull(0) || !strings.HasPrefix(reasons.Value(i), want) {
				t.Errorf("row %d: %q, want %q", i, reasons.Value(i), want)
			}
		}
	})
	fatal.If(t, err)
	fatal.If(t, Remove(cfg.Folder))
	if _, err := os.Stat(cfg.Folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removed, the spool has left something: %v", err)
	}
	again := c.config(t)
	again.Tolerant = true
	replayed, err := Replay(t.Context(), again, w.Segments)
	fatal.If(t, err)
	if diff := cmp.Diff(want, rowsOf(replayed), cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("replayed, the rows are others (-want +got):\n%s", diff)
	}
}
