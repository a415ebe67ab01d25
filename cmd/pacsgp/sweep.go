package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/report"
)

// the names who is judged, in a sentence.
var the = map[pipeline.Judge]string{pipeline.JudgeMean: "the mean of Q", pipeline.JudgeDraw: "a draw of Q"}

// sweepTable prints what the alternatives came to.
func (o *outcome) sweepTable(to system) error {
	all := o.Record.Alternatives
	if len(all) == 0 {
		return nil
	}
	w := to.stdout
	report.WriteDoubts(w, o.Result.Certificate, to.style)
	_, _ = fmt.Fprintf(w, "Sweep of %d alternatives, declared together: all %d certificates hold at once, and any may be chosen\n", len(all), len(all))
	table := tabwriter.NewWriter(w, 2, 4, 2, ' ', 0)
	for _, a := range all {
		mark := " "
		if a.Alternative == o.Record.Best {
			mark = "*"
		}
		_, _ = fmt.Fprintf(table, "%s %d\t%s\tmean %s (%s)\tdraw %s (%s)\t%s\n", mark, a.Alternative, a.Changes,
			certify.AtMost(a.Mean.Bound), a.Mean.Status, certify.AtMost(a.Draw.Bound), a.Draw.Status, a.Certificate)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	best := "the best: of those that are certified the one of the lowest bound for " + the[o.Record.Judge]
	if o.Record.Status != certify.StatusCertified {
		best = "none is certified for " + the[o.Record.Judge] + "; the one of the lowest bound"
	}
	_, err := fmt.Fprintf(w, "* %s. Its certificate:\n\n", best)
	return err
}
