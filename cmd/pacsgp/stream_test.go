package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/fatal"
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

// TestStreamThatHasLostRows: a stream whose next rows are gone by retention ends and says how to go on
// behind them, which works.
func TestStreamThatHasLostRows(t *testing.T) {
	t.Parallel()
	address := cluster(t, kfake.SeedTopics(3, "rows")).ListenAddrs()[0]
	sendRows(t, address, 0, 150)
	job := serviceJob(t, address, t.TempDir(), jobFile{})
	succeed(t, "topics", "-c", job)
	r := startService(t, "-c", job)
	awaitCertificates(t, address, 1, r)
	r.end(t)
	sendRows(t, address, 150, 150)
	forget(t, address, "rows", 1, 70)
	r = startService(t, "-c", job)
	<-r.done
	if r.err == nil {
		t.Fatal("it has not ended")
	}
	hint := regexp.MustCompile(`--group ([a-z]+) --topic rows:1 --reset-offsets --to-offset 70 --execute(?:; remove the spool ([^ ,]+),)?`).FindStringSubmatch(r.err.Error())
	if hint == nil {
		t.Fatalf("it says %v", r.err)
	}
	if hint[2] != "" {
		fatal.If(t, os.RemoveAll(hint[2]))
	}
	w, err := own(t, address).NewWriter(t.Context(), "")
	fatal.If(t, err)
	fatal.If(t, w.CommitOffsets(t.Context(), &broker.Member{Generation: -1}, hint[1], "rows", map[int]int64{1: 70}, ""))
	r = startService(t, "-c", job)
	all := awaitCertificates(t, address, 2, r)
	r.end(t)
	if g := all[1].Sample.Segments; !slices.ContainsFunc(g, func(of certify.Segment) bool { return of.Partition == 1 && of.First == 70 }) {
		t.Errorf("the second window has %+v", g)
	}
}
