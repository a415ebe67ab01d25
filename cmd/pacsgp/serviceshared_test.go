package main

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
)

// TestSharedService: two members of a shared group certify windows of the partitions that
// each has, at the same time and by numbers of one sequence, and pointers name the partitions.
func TestSharedService(t *testing.T) {
	t.Parallel()
	c := smallTopic(t)
	address := c.ListenAddrs()[0]
	folders := []string{t.TempDir(), t.TempDir()}
	var jobs []string
	for _, dir := range folders {
		jobs = append(jobs, serviceJob(t, address, dir, jobFile{
			"kafka": fmt.Sprintf("{brokers: [%q]}", address), "source": "{kafka: {topic: rows, group: trainers, rows: 120, spool: {limit: 10MB, keep: true}}}",
			"stream": "{group: shared}",
		}))
	}
	succeed(t, "topics", "-c", jobs[0])
	first := startService(t, "-c", jobs[0])
	first.find(t, `(has the partitions \[0 1 2\])`)
	second := startService(t, "-c", jobs[1])
	one := first.find(t, `has the partitions (\[\d(?: \d)?\])`)
	two := second.find(t, `has the partitions (\[\d(?: \d)?\])`)
	if len(one)+len(two) != len("[0 1][2]") {
		t.Errorf("the members have the partitions %s and %s", one, two)
	}
	for n := range int64(3) {
		fillTopic(t, address, 180*(n+1)) // 240 rows a partition
	}
	awaitOn(t, address, "pacsgp-certificates", func(all []certify.Certificate) bool {
		return countOf(all, one) > 0 && countOf(all, two) > 0
	}, first)
	first.end(t)
	second.end(t)
	onceEach(t, "trainers", certificates(t, address, "pacsgp-certificates"))
	for p := range 3 {
		pacsgp(t, "pull", fmt.Sprintf("small/%d", p), "-o", t.TempDir(), "--kafka", jobs[0]).says(t, 0, ".parquet")
	}
	pacsgp(t, "pull", "small", "-o", t.TempDir(), "--kafka", jobs[0]).says(t, exitFailure, "not published", "each partition of their rows has one of its own: small/0, small/1, small/2")
	pacsgp(t, "pull", "smal", "-o", t.TempDir(), "--kafka", jobs[0]).says(t, exitFailure, `"smal": not published`)
}

// countOf is how many certificates speak of exactly these partitions.
func countOf(all []certify.Certificate, partitions string) (n int) {
	for _, c := range all {
		var found []int64
		for _, g := range c.Sample.Segments {
			found = append(found, g.Partition)
		}
		if slices.Sort(found); fmt.Sprint(slices.Compact(found)) == partitions {
			n++
		}
	}
	return n
}
