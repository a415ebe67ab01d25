package job

import (
	"fmt"

	"github.com/pacsgp/pacsgp/internal/words"
)

// A RejectedDecl declares how many rows may break a row rule. With the zero value the source stops at the first such
// row.
type RejectedDecl struct {
	// Limit is the largest share of rejected rows, from 0 to below 1. Rejected rows are counted, and used neither
	// for training nor for certifying. With a limit above 0 the source marks them (docs/reference/job.md).
	Limit float64 `json:"limit"`
}

// Some reports whether the job tolerates rejected rows.
func (d RejectedDecl) Some() bool { return d.Limit > 0 }

// Allow returns an error if there are more rejected rows than the job tolerates.
func (d RejectedDecl) Allow(bad, rows int64) error {
	if float64(bad) <= d.Limit*float64(rows) {
		return nil
	}
	return fmt.Errorf("%w: %d of %s (%s) break a row rule, and rejected.limit is %s",
		ErrData, bad, words.Count(rows, "row"), percent(float64(bad)/float64(rows)), percent(d.Limit))
}

// Stop returns the error of [RejectedDecl.Allow] with a hint. which names some of the rejected rows.
func (d RejectedDecl) Stop(bad, rows int64, which string) error {
	err := d.Allow(bad, rows)
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w; %s\nhint: correct the rows; leave such a column out, or raise rejected.limit if a promise about the other rows alone is enough", err, which)
}
