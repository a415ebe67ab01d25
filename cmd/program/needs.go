package program

import (
	"errors"
	"fmt"
	"os"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/machine"
	"github.com/pacsgp/pacsgp/pipeline"
)

// A Machine says what this process may have. Tests have machines of their own.
type Machine struct {
	Memory func() int64                                  // in bytes; 0: unknown
	Room   func(folder string) (bytes int64, known bool) // on the disk
}

// This is the machine.
func This() Machine { return Machine{machine.Memory, machine.Room} }

// Needs are the bytes that a program will use, known before it starts. Too many are refused
// then, and not after hours.
type Needs struct {
	Reading int64 // of memory, for pages
	Memory  int64 // in all
	Disk    int64 // for temporary files, to count copies
}

// Surplus bounds, in percent, how far estimates of memory exceed the real use.
const Surplus = 25

// Ways to less memory: of a job, and of a command without one.
const (
	Less     = ", or set fewer workers or fewer inducing points"
	LessHere = ", or set fewer --workers"
)

// Met refuses needs above the budget for memory or the machine's. instead adds to the hints.
func (n Needs) Met(m Machine, budget int64, instead string) error {
	var faults []error
	if n.Reading > (pipeline.Resources{Memory: budget}).PageMemory() {
		faults = append(faults, fmt.Errorf("reading these files takes %d MiB for pages that have to be in memory as a whole, and the budget is %d MiB\n"+
			"hint: raise memory to %[1]d MiB, name fewer features, or write the files with smaller pages and without BYTE_STREAM_SPLIT%[3]s",
			n.Reading>>20+1, budget>>20, instead))
	}
	if allowed := m.Memory(); allowed > 0 && n.Memory-n.Memory*Surplus/(100+Surplus) > allowed {
		faults = append(faults, fmt.Errorf("this takes %s of memory, and the process may have %s (the machine, its control group or ulimit -v)\n"+
			"hint: give it more%s", machine.Bytes(n.Memory), machine.Bytes(allowed), instead))
	}
	folder := os.TempDir()
	if free, known := m.Room(folder); known && n.Disk > free {
		faults = append(faults, fmt.Errorf("counting copies takes up to %s on the disk, in %s, where %s are free\n"+
			"hint: set TMPDIR to a folder with more room, or memory to %s, so that no disk is needed", machine.Bytes(n.Disk), folder, machine.Bytes(free), machine.Bytes(n.Disk)))
	}
	return errors.Join(faults...)
}

// Afford refuses a training that needs too much, and tells limit the memory of one that does not.
func Afford(m Machine, res pipeline.Resources, limit func(bytes int64)) func(pipeline.Job, pipeline.Sample) error {
	return func(job pipeline.Job, sample pipeline.Sample) error {
		need := Needs{sample.Reader, pipeline.PeakMemory(job, sample, res), pipeline.SpillBytes(sample.Rows, res)}
		if err := need.Met(m, res.Memory, Less); err != nil {
			return err
		}
		limit(need.Memory)
		return nil
	}
}

// AffordCheck refuses a check that needs too much: first without rows, and again with a sample. again: it
// trains again, too.
func AffordCheck(m Machine, res pipeline.Resources, again bool, instead string) func(certify.Certificate, pipeline.Model, *pipeline.Sample) error {
	return func(c certify.Certificate, of pipeline.Model, rows *pipeline.Sample) error {
		if rows == nil {
			return Needs{Memory: pipeline.CheckMemory(c, of, pipeline.Sample{}, res)}.Met(m, res.Memory, "")
		}
		need := Needs{Reading: rows.Reader, Memory: pipeline.CheckMemory(c, of, *rows, res), Disk: pipeline.SpillBytes(c.Sample.Rows, res)}
		if again {
			need.Memory = max(need.Memory, pipeline.RetrainMemory(c, *rows, res))
		}
		return need.Met(m, res.Memory, instead)
	}
}

// passNeeds are those of the last pass of a task in this many parts, one at a time.
func passNeeds(p config.Task, sample pipeline.Sample, shards []pipeline.Shard, parts int) Needs {
	rows := sample.Rows
	if !p.Job.BadRows.Some() { // else rows to leave out are found among all
		var longest int64
		for _, s := range shards {
			longest = max(longest, s.Rows)
		}
		rows = min(rows, rows/int64(parts)+longest) // parts have whole shards
	}
	return Needs{sample.Reader, pipeline.PassMemory(p.Job, sample, rows, p.Resources), pipeline.SpillBytes(rows, p.Resources)}
}
