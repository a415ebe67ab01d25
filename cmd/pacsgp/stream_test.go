package main

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/certify"
)

// TestStreamThatDrifts: rows in an order, as of a source that drifts, are no independent ones. Their
// window is published all the same; its certificate and the log say what speaks against it.
func TestStreamThatDrifts(t *testing.T) {
	t.Parallel()
	address := cluster(t, kfake.SeedTopics(3, "rows")).ListenAddrs()[0]
	var records []*kgo.Record
	for i := range 120 {
		records = append(records, &kgo.Record{Topic: "rows", Partition: int32(i % 3), Value: fmt.Appendf(nil, `{"x1":%d,"in":{"x2":%d},"y":%d}`, i%29, i%31, i)})
	}
	send(t, address, records...)
	job := serviceJob(t, address, t.TempDir(), jobFile{"loss": "{epsilon: 40}"})
	succeed(t, "topics", "-c", job)
	r := startService(t, "-c", job)
	c := awaitCertificates(t, address, 1, r)[0]
	r.find(t, "(near rows are more alike)")
	r.end(t)
	if !c.Warned(certify.WarnDependence) || !(c.Dependence.Correlation(1) > 0.8) || c.Assumptions[0].ID != certify.AssumeIndependentRows {
		t.Errorf("neighbouring rows are %+v, and %+v", c.Dependence, c.Assumptions[0])
	}
}
