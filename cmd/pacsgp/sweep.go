package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/report"
)

// An alternativeRecord is what the run record says of one alternative of a
// sweep. The files are in the output directory.
type alternativeRecord struct {
	Alternative int            `json:"alternative"` // its number, from 1 on
	Changes     string         `json:"changes"`     // in words: what it changes in the job
	Mean        verdictRecord  `json:"mean"`
	Draw        verdictRecord  `json:"draw"`
	Status      certify.Status `json:"status"` // of the judged guarantee
	Bound       float64        `json:"bound"`
	Certificate string         `json:"certificate"`
	Row         string         `json:"certificate_row"`
	Model       string         `json:"model"`
	ID          string         `json:"id"`
}

// alternativeOf says what a run of an alternative came to.
func alternativeOf(job pipeline.Job, r runRecord) alternativeRecord {
	return alternativeRecord{job.Number, job.Changes(), r.Mean, r.Draw, r.Status, r.Bound, r.Certificate, r.Row, r.Model, r.ID}
}

// better reports whether an alternative's record is better than another's: a
// certified one than one that is not, then the lower bound, then the first.
func (a alternativeRecord) better(b alternativeRecord) bool {
	if one, other := a.Status == certify.StatusCertified, b.Status == certify.StatusCertified; one != other {
		return one
	}
	return a.Bound < b.Bound
}

// add takes the next result of a sweep, or the only one of a job. Of the others
// only what the run record says is kept: a model can be large.
func (o *outcome) add(next *outcome, job pipeline.Job) {
	if len(job.Sweep) == 0 {
		*o = *next
		return
	}
	next.result.Model = pipeline.Model{}
	all := append(o.record.Alternatives, alternativeOf(job, next.record))
	if best := o.record.Best; best == 0 || all[len(all)-1].better(all[best-1]) {
		*o = *next
		o.record.Best = job.Number
	}
	o.record.Alternatives = all
}

// the names who is judged, in a sentence.
var the = map[config.Judge]string{config.JudgeMean: "the mean of Q", config.JudgeDraw: "a draw of Q"}

// sweepTable prints what the alternatives came to.
func (o *outcome) sweepTable(to system) error {
	all := o.record.Alternatives
	if len(all) == 0 {
		return nil
	}
	w := to.stdout
	report.WriteDoubts(w, o.result.Certificate, to.style)
	_, _ = fmt.Fprintf(w, "Sweep of %d alternatives, declared together: all %d certificates hold at once, and any may be chosen\n", len(all), len(all))
	table := tabwriter.NewWriter(w, 2, 4, 2, ' ', 0)
	for _, a := range all {
		mark := " "
		if a.Alternative == o.record.Best {
			mark = "*"
		}
		_, _ = fmt.Fprintf(table, "%s %d\t%s\tmean %s (%s)\tdraw %s (%s)\t%s\n", mark, a.Alternative, a.Changes,
			certify.AtMost(a.Mean.Bound), a.Mean.Status, certify.AtMost(a.Draw.Bound), a.Draw.Status, a.Certificate)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	best := "the best: of those that are certified the one of the lowest bound for " + the[o.record.Judge]
	if o.record.Status != certify.StatusCertified {
		best = "none is certified for " + the[o.record.Judge] + "; the one of the lowest bound"
	}
	_, err := fmt.Fprintf(w, "* %s. Its certificate:\n\n", best)
	return err
}
