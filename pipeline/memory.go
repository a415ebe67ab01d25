package pipeline

import (
	"math"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model"
)

// programBytes is the memory of a process without rows: code, Go runtime, tables of libraries.
const programBytes = 36 << 20

// heapSlack is the garbage in the heap before a collection, in percent of the live bytes. The
// command sets the runtime's limit to the sum.
const heapSlack = 25

// process is the memory of a process with this many live bytes.
func process(living int64) int64 { return programBytes + living + living*heapSlack/100 }

// PeakMemory is the peak memory, in bytes, of a run of a job with its defaults filled in.
func PeakMemory(job Job, s Sample, res Resources) int64 {
	res, job = res.WithDefaults(), job.ForRows(s.Rows)
	n := s.train(job)
	_, starts := s.looked(job)

	// Both passes: batches decoded in advance, the marks of all rows, the reference and
	// start rows.
	reading, counting := s.reading(res), min(recordBytes*s.Rows, res.Memory)
	found := s.found(job)
	most := reading + counting + found

	// Training: train rows, or their readers; start rows, scaled; the shuffle buffer
	// and a batch.
	scaled := s
	scaled.Features = s.inputs(job)
	kept := scaled.bytes(n)
	if kept > res.Memory {
		kept = reading
	}
	shared := kept + found + scaled.bytes(starts)
	var finished int64 // states of the candidates that are done
	for _, c := range candidates(job, s) {
		use := job.Train.memory(c, scaled.Features, int(min(starts, startRows)), res.Workers)
		batch := scaled.bytes(int64(c.Plan.Batch))
		if int64(c.Plan.Batch) < n {
			batch += scaled.bytes(min(int64(job.Train.Buffer), n)) + scaled.bytes(int64(c.Plan.Batch))/4
		}
		batch += scaled.bytes(chunkRows)
		var began int64 // an ancestor, and its posterior in other scales
		if job.Train.WarmStart {
			began = 2 * use.Posterior
		}
		saving := 2*use.State + finished // the state, and the checkpoint with all states
		most = max(
			most,
			shared+began+finished+use.Start,
			shared+began+finished+batch+use.Step+saving,
			shared+began+finished+use.State+use.Result,
			shared+began+finished+use.Fit,
			found+reading+counting+use.Pass, // the last pass
		)
		finished += use.State
	}
	return process(most)
}

// PassMemory is the peak memory, in bytes, of making the last pass of a job, whose parts have at most
// this many rows, one part at a time.
func PassMemory(job Job, s Sample, rows int64, res Resources) int64 {
	res, job = res.WithDefaults(), job.ForRows(s.Rows)
	most := int64(0)
	for _, c := range candidates(job, s) {
		most = max(most, job.Train.memory(c, s.inputs(job), startRows, res.Workers).Pass)
	}
	return process(s.found(job) + s.reading(res) + min(recordBytes*rows, res.Memory) + most)
}

// CheckMemory is the peak memory, in bytes, of a check of a certificate and its model, with
// the rows or, if s has none, without.
func CheckMemory(c certify.Certificate, m Model, s Sample, res Resources) int64 {
	res = res.WithDefaults()
	job, err := statedJob(c.Configuration)
	if err != nil {
		return 0 // the check refuses it at once
	}
	reference, starts := s.looked(job.ForRows(s.Rows))
	use := memoryOf(m, int(min(reference, startRows)), res)
	if s.Rows == 0 {
		return process(use.Posterior)
	}
	living := s.reading(res) + min(recordBytes*s.Rows, res.Memory) + s.Rows/8 // a bit a row for hold-out rows
	s.Units = c.Ledger.Units
	work := max(use.Pass, use.Fit)
	if job.Grid.Prior == certify.PriorPeaked { // the peaks are estimated again
		living += s.bytes(reference) + s.bytes(starts)
		work = max(work, use.Estimate)
	}
	return process(living + work)
}

// memoryOf is the memory of using a model with this many start rows.
func memoryOf(m Model, rows int, res Resources) model.Memory {
	p := m.Posterior
	return model.MemoryOf(p.Kernel.Family, p.Inducing(), p.Dim(), rows, res.Workers)
}

// RetrainMemory is the peak memory, in bytes, of training again.
func RetrainMemory(c certify.Certificate, s Sample, res Resources) int64 {
	job, err := statedJob(c.Configuration)
	if err != nil {
		return 0
	}
	return PeakMemory(job, s, res)
}

// PredictMemory is the peak memory, in bytes, of predicting these rows.
func PredictMemory(m Model, s Sample, res Resources) int64 {
	res = res.WithDefaults()
	return process(s.reading(res) + memoryOf(m, 0, res).Pass)
}

// SpillBytes bounds the temporary files, in bytes, of counting the copies among these rows: 0
// if the records fit into memory.
func SpillBytes(rows int64, res Resources) int64 {
	if rows <= max(leastRecords, res.WithDefaults().Memory/recordBytes) {
		return 0
	}
	return recordBytes * rows
}

// bytes is the memory of this many rows.
func (s Sample) bytes(rows int64) int64 { return rows * int64(s.Features+1) * 8 }

// reading is the memory for reading rows: pages, and batches decoded in advance.
func (s Sample) reading(res Resources) int64 {
	readers := int64(max(1, min(res.Workers, s.Shards)))
	return s.Reader + s.bytes(min(s.Rows, readers*(batchesAhead+2)*int64(s.Batch)))
}

// found is the memory of what the first pass finds: the reference and start rows, and a bit a row for
// hold-out rows, and for outside rows.
func (s Sample) found(job Job) int64 {
	reference, starts := s.looked(job)
	return s.bytes(reference) + s.bytes(starts) + s.Rows/8*job.Roles.sets()
}

// looked are the numbers of reference rows and of start rows, which stay in memory.
func (s Sample) looked(job Job) (reference, starts int64) {
	reference = ReferenceCount(s.Rows)
	apart := float64(s.apart(job.Roles.Holdout)) // no start row; fewer by chance
	return reference, min(max(startRows, reference), s.Rows-int64(max(0, apart-4*math.Sqrt(apart))))
}
