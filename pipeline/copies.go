package pipeline

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
)

// The policies for copies: rows that equal an earlier row in every used column.
const (
	CopiesLimited     = certify.CopiesLimited     // a few are tolerated, more stop the job: the default
	CopiesDropped     = certify.CopiesDropped     // they get the role copy
	CopiesIndependent = certify.CopiesIndependent // the user declares that equal rows are separate draws
)

// A CopiesDecl declares what equal rows mean. The zero value is a limit of 1 %.
type CopiesDecl struct {
	Policy certify.CopiesPolicy `json:"policy"`
	Limit  float64              `json:"limit"` // of policy limit: the largest share of rows that may be copies
}

func (d CopiesDecl) withDefaults(fault func(string, ...any)) CopiesDecl {
	switch d.Policy {
	case "":
		if d.Limit == 0 {
			d.Limit = 0.01
		}
		d.Policy = CopiesLimited
	case CopiesLimited:
	case CopiesDropped, CopiesIndependent:
		if d.Limit != 0 {
			fault("copies: %s has no limit", d.Policy)
		}
	default:
		fault("copies: %q is neither a share of the rows nor %s or %s", d.Policy, CopiesDropped, CopiesIndependent)
	}
	if !(0 <= d.Limit && d.Limit <= 1) {
		fault("copies: %v is no share of the rows between 0 and 1", d.Limit)
	}
	return d
}

// Copies counts equal rows of a sample, with and without the target. -0 equals 0.
type Copies struct {
	Rows             int64 `json:"rows"`
	Distinct         int64 `json:"distinct"`          // different rows
	DistinctFeatures int64 `json:"distinct_features"` // different rows without the target
	Frequent         int64 `json:"-"`                 // most rows with the same features; 0 if copies are dropped
}

// OfRows is the number of rows that equal an earlier one.
func (c Copies) OfRows() int64 { return c.Rows - c.Distinct }

// OfFeatures is the number of rows that equal an earlier one in the features.
func (c Copies) OfFeatures() int64 { return c.Rows - c.DistinctFeatures }

// allow returns an error if there are more copies among all rows than the job allows. Its text
// counts the copies among open rows alone, so that it discloses nothing else of hold-out rows.
func (d CopiesDecl) allow(all, open Copies) error {
	if d.Policy != CopiesLimited || !(float64(all.OfRows()) > d.Limit*float64(all.Rows)) {
		return nil
	}
	rows := "rows"
	if open.Rows < all.Rows {
		rows = "rows that are no hold-out rows"
	}
	return fmt.Errorf("%w: more rows equal an earlier row in every used column than copies allows, %s: %d of %d %s (%s), of which %d are distinct. "+
		"The bound supposes that rows are separate draws: a draw that is in the data several times would be counted several times, and the bound would be too low. %s",
		ErrData, percent(d.Limit), open.OfRows(), open.Rows, rows, percent(float64(open.OfRows())/float64(open.Rows)), open.Distinct, open.hints())
}

// uneven is the number of times that the most frequent features come as often as features on average, from
// which on rows do not look multiplied by a join or a delivery.
const uneven = 8

// natural reports whether rows repeat as records of few values do: one in ten rows with the features of an
// earlier one has another target, or some features are far more frequent than others.
func (c Copies) natural() bool {
	return 10*c.OfRows() < 9*c.OfFeatures() || c.Frequent > uneven*(c.Rows/max(1, c.DistinctFeatures))
}

// hints are the ways on for rows with more copies than a job allows, the likely one first.
func (c Copies) hints() string {
	why := "Here rows repeat evenly, with their targets, as after a join or a repeated delivery"
	remove := "remove the copies from the data, where a join or a repeated delivery made them"
	drop := "set copies: drop, if copies were made after the rows were drawn: of equal rows the first is used, the others neither train nor certify, and the promise is about distinct rows"
	independent := fmt.Sprintf("set copies: independent, if equal rows are separate draws, as with columns of few values (%d rows equal an earlier one in the features alone): the certificate then says that this is your declaration", c.OfFeatures())
	ways := []string{remove, drop, independent}
	if c.natural() {
		why = fmt.Sprintf("Here rows repeat as records of few values do: %d rows equal an earlier one in the features alone, and one set of features comes %d times", c.OfFeatures(), c.Frequent)
		ways = []string{independent, remove, drop}
	}
	return why + ". There are three ways on, the likely one first:\nhint: " + strings.Join(ways, "\nhint: or ")
}

// counted is a certificate's statement about copies.
func (j Job) counted(c Copies, all certify.Tallies) certify.Copies {
	found := certify.Copies{Policy: j.Copies.Policy, Limit: j.Copies.Limit, Distinct: c.Distinct, Rows: c.OfRows(), Features: c.OfFeatures()}
	if j.Copies.Policy == CopiesDropped && found.Rows > 0 {
		risk := all.Of(certify.PredictorMean, certify.RoleTrain).Risk
		if err := risk.Merge(all.Of(certify.PredictorMean, certify.RoleCopy).Risk); err == nil { // else refused for the lack of it
			found.AsTheyCome = &certify.Risk{Exact: risk}
		}
	}
	return found
}

// notice says what becomes of the copies.
func (d CopiesDecl) notice(c Copies) string {
	text := fmt.Sprintf("%d of %d rows equal an earlier row in every used column: ", c.OfRows(), c.Rows)
	switch d.Policy {
	case CopiesDropped:
		return text + "they are left out, as copies that were made after the rows were drawn"
	case CopiesIndependent:
		return text + "they count as separate draws, as the job declares"
	case CopiesLimited:
		return text + "they count as separate draws; if they are copies, remove them or set copies: drop"
	}
	return text // of no policy that a job can have
}

// diagnostic says what was counted, and what is assumed of equal rows.
func (d CopiesDecl) diagnostic(c Copies) string {
	text := fmt.Sprintf("Of %d rows, %d equal an earlier row in every used column, and %d in the features alone. ", c.Rows, c.OfRows(), c.OfFeatures())
	switch d.Policy {
	case CopiesDropped:
		return text + "The first of equal rows is used and the later ones are left out: it is assumed that those are copies, made after the rows were drawn."
	case CopiesIndependent:
		return text + "That equal rows are separate draws is declared by the user."
	case CopiesLimited:
		return text + "Equal rows are taken for separate draws."
	}
	return text
}

// percent writes a share with three significant digits.
func percent(share float64) string {
	return strconv.FormatFloat(100*share, 'g', 3, 64) + " %"
}

// copies are the counts for a document.
func (v variety) copies() Copies { return Copies{v.rows, v.distinct, v.distinctFeatures, v.frequent} }
