package pipeline

import (
	"cmp"
	"sync"
)

func compareRecords[R rowRecord](a, b R) int {
	for k := range len(a) {
		if c := cmp.Compare(a[k], b[k]); c != 0 {
			return c
		}
	}
	return 0
}

// digits is the number of digits of a record: bytes, the highest first.
func digits[R rowRecord](r R) int { return 8 * len(r) }

func digitOf[R rowRecord](r R, digit int) byte { return byte(r[digit>>3] >> (56 - 8*(digit&7)) & 0xff) }

// buckets groups records by their first digit and calls use with each group, from several
// workers. Records of equal features are in one group.
func (c *counter[R]) buckets(records []R, use func(bucket []R, digit int)) {
	bounds := partition(records, 0)
	work := make(chan []R)
	var running sync.WaitGroup
	for range c.workers {
		running.Go(func() {
			for bucket := range work {
				use(bucket, 1)
			}
		})
	}
	for i := range 256 {
		if bucket := records[bounds[i]:bounds[i+1]]; len(bucket) > 0 {
			work <- bucket
		}
	}
	close(work)
	running.Wait()
}

// fewRecords is the largest number of records that are sorted by insertion.
const fewRecords = 24

// sortRecords sorts records that agree in the digits before this one, by radix and in place. A few
// digits of hashes suffice: they are as good as random.
func sortRecords[R rowRecord](records []R, digit int) {
	if len(records) <= fewRecords {
		for i := 1; i < len(records); i++ {
			r, at := records[i], i
			for ; at > 0 && compareRecords(records[at-1], r) > 0; at-- {
				records[at] = records[at-1]
			}
			records[at] = r
		}
		return
	}
	if digit == digits(records[0]) {
		return // all are equal
	}
	bounds := partition(records, digit)
	for i := range 256 {
		if bucket := records[bounds[i]:bounds[i+1]]; len(bucket) > 1 {
			sortRecords(bucket, digit+1)
		}
	}
}

// partition orders records by one digit, in place (McIlroy, Bostic and McIlroy, 1993, "American
// flag sort"). It returns the beginnings of the groups, and the end.
func partition[R rowRecord](records []R, digit int) [257]int {
	var count, next [256]int
	for _, r := range records {
		count[digitOf(r, digit)]++
	}
	var bounds [257]int
	for i, k := range count {
		next[i] = bounds[i]
		bounds[i+1] = bounds[i] + k
	}
	for i := range 256 {
		for next[i] < bounds[i+1] {
			r := records[next[i]]
			at := digitOf(r, digit)
			for int(at) != i { // carry records to their groups until one belongs here
				r, records[next[at]] = records[next[at]], r
				next[at]++
				at = digitOf(r, digit)
			}
			records[next[i]] = r
			next[i]++
		}
	}
	return bounds
}
