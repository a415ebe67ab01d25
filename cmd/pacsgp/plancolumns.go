package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/pipeline"
)

// columnFaults are the errors about columns that would stop train.
type columnFaults []columnFault

type columnFault struct {
	column, text string
	hint         string
}

const (
	hintNull    = "hint: train stops at the first null, unless fill has a value for it or bad_rows tolerates it; leave the column out (key exclude), or clean the rows by a rule that looks at a row's own values only"
	hintTooLong = "hint: store the column as a double if it is a quantity, or leave it out (key exclude) if it is an identifier"
)

// faultsOf finds faults of the columns by the footers.
func faultsOf(job pipeline.Job, columns []config.Told, rows int64) columnFaults {
	var faults columnFaults
	for _, c := range columns {
		if job.Encode.Fills(c.Column) {
			continue
		}
		if c.Nulls > 0 && !(float64(c.Nulls) <= job.BadRows.Tolerance*float64(rows)) {
			faults = append(faults, columnFault{c.Column, "has " + certify.Count(c.Nulls, "null"), hintNull})
		}
		if c.TooLong != "" && !job.BadRows.Some() {
			faults = append(faults, columnFault{c.Column, "has numbers of more digits than a float64 holds (beyond 2^53), in " + c.TooLong, hintTooLong})
		}
		if c.Column != job.Target {
			continue
		}
		if err := job.BearsBetween(c.Least, c.Most); err != nil {
			faults = append(faults, columnFault{c.Column, err.Error(), ""})
		}
	}
	return faults
}

// error joins the faults with their hints, each once; nil without faults.
func (f columnFaults) error() error {
	var faults, hints []error
	hinted := map[string]bool{}
	for _, c := range f {
		if c.hint == "" { // a whole sentence
			faults = append(faults, errors.New(c.text))
			continue
		}
		faults = append(faults, fmt.Errorf("%w: column %q %s", pipeline.ErrData, c.column, c.text))
		if !hinted[c.hint] {
			hinted[c.hint] = true
			hints = append(hints, errors.New(c.hint))
		}
	}
	return errors.Join(append(faults, hints...)...)
}

// nullsWords describes nulls by the footers.
func (p planned) nullsWords() string {
	const shown = 8
	var having, uncounted []string
	for _, c := range p.Columns {
		if c.Nulls > 0 {
			having = append(having, fmt.Sprintf("%d in %q%s", c.Nulls, c.Name, map[bool]string{true: " (filled)"}[c.Filled]))
		}
		if c.Uncounted > 0 {
			uncounted = append(uncounted, fmt.Sprintf("%q (%s)", c.Name, certify.Count(c.Uncounted, "row")))
		}
	}
	var words []string
	if having != nil {
		rows := strconv.FormatInt(p.leastNull, 10)
		if p.mostNull > p.leastNull {
			rows += " to " + strconv.FormatInt(p.mostNull, 10)
		}
		consequence := "their rows, " + rows + ", are left out"
		switch {
		case p.mostNull == 0:
			consequence = "fill has a value for them"
		case p.faults != nil:
			consequence = "train would stop, unless bad_rows.tolerance allows their " + rows + " rows"
		}
		which := strings.Join(having[:min(len(having), shown)], ", ")
		if more := len(having) - shown; more > 0 {
			which += fmt.Sprintf(" and in %d more columns", more)
		}
		words = append(words, which+", by the footers: "+consequence)
	}
	if len(uncounted) > 0 {
		words = append(words, "not known where footers do not count them: "+strings.Join(uncounted, ", "))
	}
	if words == nil {
		return "none in the used columns, by the footers"
	}
	return strings.Join(words, "; ")
}
