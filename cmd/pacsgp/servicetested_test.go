package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/internal/fatal"
	sinklog "github.com/pacsgp/pacsgp/sink/kafkalog"
)

// testedRows is how many rows have tested what is current under names.
func testedRows(t *testing.T, address string, topics sinklog.Topics, names ...string) (rows int64) {
	t.Helper()
	var places []sinklog.NamedPlace
	for _, name := range names {
		places = append(places, sinklog.NamedPlace{Name: name, Partition: -1})
	}
	found, err := sinklog.Places(t.Context(), own(t, address), topics, places)
	fatal.If(t, err)
	for _, at := range found {
		if c := at.Known.Current; c != nil {
			if c.Certificate != at.Current.ID {
				t.Errorf("rows have tested %.12s…, and %.12s… is current", c.Certificate, at.Current.ID)
			}
			rows += c.Losses.Count() + c.Unlabelled + c.Bad
		}
	}
	return rows
}

// A stream says of each window what it says of the current model, which stays until another one is
// better; an alarm ends nothing.
func TestStreamTestsTheCurrentModel(t *testing.T) {
	t.Parallel()
	c := smallTopic(t) // 180 rows
	address := c.ListenAddrs()[0]
	job := serviceJob(t, address, t.TempDir(), jobFile{"stream": "{promote: {error: 5 %}, warm_start: false}", "roles": "{holdout: 40 %}", "judge": "mean"})
	succeed(t, "topics", "-c", job)
	r := startService(t, "-c", job)
	fillTopic(t, address, 180) // 360: three windows
	first := awaitCertificates(t, address, 3, r)[0]
	r.find(t, "(published certificate number 3)")
	if n := testedRows(t, address, sinklog.Topics{}, "small"); n != 240 {
		t.Errorf("%d rows have tested the first model, want 240: %s", n, r.says())
	}
	if p, err := sinklog.Current(t.Context(), own(t, address), sinklog.Topics{}, "small"); err != nil || p.Model != first.Model.Digest {
		t.Errorf("the pointer is %+v (%v), want the first model", p, err)
	}
	r.find(t, "which is current: (predictions .* of 240 labelled rows)")
	if says := r.says(); !strings.Contains(says, "it is not current: it waits until it is better") || strings.Contains(says, "alarm") {
		t.Errorf("it says %s", says)
	}
	r.end(t)
	var records []*kgo.Record // the source has changed
	for i := range 120 {
		records = append(records, &kgo.Record{Topic: "rows", Partition: int32(i % 3), Value: fmt.Appendf(nil, `{"x1":%v,"in":{"x2":%v},"y":%v}`, float64(i)/120, float64(i%11)/11, 100+float64(i%7))})
	}
	send(t, address, records...)
	r = startService(t, "-c", job)
	r.find(t, "which is current: (alarm: the conditional bound of .* at row)")
	awaitCertificates(t, address, 4, r)
	r.end(t)
}
