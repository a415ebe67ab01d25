package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A stream says of each window what it says of the current model; an alarm ends nothing.
func TestStreamTestsTheCurrentModel(t *testing.T) {
	t.Parallel()
	c := smallTopic(t) // 180 rows
	address := c.ListenAddrs()[0]
	job := serviceJob(t, address, t.TempDir(), jobFile{"stream": "{warm_start: false}", "roles": "{holdout: 40 %}", "judge": "mean"})
	succeed(t, "topics", "-c", job)
	r := startService(t, "-c", job)
	fillTopic(t, address, 180) // 360: three windows
	awaitCertificates(t, address, 3, r)
	r.find(t, "(published certificate number 3)")
	r.find(t, "which is current: (predictions .* of 120 labelled rows)")
	if says := r.says(); strings.Contains(says, "alarm") {
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
