package pipeline

import "github.com/pacsgp/pacsgp/model"

// programBytes is what a process takes before it has a row: its code, the Go
// runtime, the libraries' tables.
const programBytes = 28 << 20

// heapSlack is how much more than what lives the heap has when it is collected:
// in percent of it. The command sets the runtime's limit to the sum.
const heapSlack = 25

// PeakMemory is the most memory, in bytes, that a run of a job with its defaults
// filled in has at a time. Each part counts what lives in it; rows that all parts of
// training share stand before them.
func PeakMemory(job Job, s Sample, res Resources) int64 {
	res, job = res.WithDefaults(), job.ForRows(s.Rows)
	n, columns := s.train(job), int64(s.Features+1)
	rows := func(n int64) int64 { return n * columns * 8 }
	reference := job.Roles.rule().references(s.Rows)
	starts := max(startRows, reference)
	starts = min(starts, s.Rows)

	// Both passes: batches that are decoded ahead, the marks of all rows, the
	// reference and start rows.
	readers := int64(max(1, min(res.Workers, s.Shards)))
	reading := s.Reader + rows(min(s.Rows, readers*(batchesAhead+2)*int64(s.Batch)))
	record := int64(16)
	if job.Copies.Policy == CopiesDropped {
		record = 24
	}
	counting := min(record*s.Rows, res.Memory)
	found := rows(reference) + rows(starts)
	if job.Roles.Holdout > 0 {
		found += s.Rows / 8 // a bit a row says which are hold-out rows
	}
	most := reading + counting + found

	// Training: the train rows, or what reads them again; start rows, scaled; the
	// shuffle buffer and a batch.
	kept := rows(n)
	if kept > res.Memory {
		kept = reading
	}
	shared := kept + found + rows(starts)
	var finished int64 // states of the candidates that are done
	for _, c := range candidates(job, s) {
		use := model.MemoryOf(c.Kernel, c.Inducing, s.Features, int(min(starts, startRows)), res.Workers)
		batch := rows(int64(c.Plan.Batch))
		if int64(c.Plan.Batch) < n {
			batch += rows(min(int64(job.Train.Buffer), n)) + rows(int64(c.Plan.Batch))/4
		}
		batch += rows(chunkRows)
		saving := 2*use.State + finished // the state, and the checkpoint with all states
		most = max(
			most,
			shared+finished+use.Start,
			shared+finished+batch+use.Step+saving,
			shared+finished+use.State+use.Result,
			found+reading+counting+use.Pass, // the last pass
		)
		finished += use.State
	}
	return programBytes + most + most*heapSlack/100
}
