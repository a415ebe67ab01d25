package certify

import (
	"fmt"
	"strings"
)

// Doubts are the reservations that belong beside the headlines.
func (c Certificate) Doubts() []string {
	var said []string
	if c.Declared.Attempt.OnTheseRows > 1 {
		said = append(said, c.OtherJobs()+" tried on these rows before this one, says its maker. If this job was changed after results were seen, its confidence is not what it says.")
	}
	if len(c.Declared.Scaling) > 0 {
		said = append(said, "The scaling was declared. That it was not computed from the certified rows is its maker's word; if it was, the bounds may be too low.")
	}
	said = append(said, c.Copies.doubts(c.loss())...)
	if n := c.Ledger.Bad; n > 0 {
		said = append(said, fmt.Sprintf("%d of %d rows (%s %%) break a row rule and were left out. Nothing is promised about such rows; where what breaks them has to do with how hard they are to predict, or the target is what breaks, the promise is worth less.",
			n, c.Sample.Rows, RoundUp(100*float64(n)/float64(c.Sample.Rows), 2)))
	}
	if f := c.Findings; f != nil && f.NearCopies > 0 {
		said = append(said, fmt.Sprintf("%d of %d rows looked at equal another row but for the last digits. If they are copies, the bounds are too low.", f.NearCopies, f.Rows))
	}
	if f := c.Findings; f != nil && len(f.Ordered) > 0 {
		said = append(said, quotedList(f.Ordered)+" follows the order of the rows. Unless they were sorted by it, it is a counter or a clock: fresh rows have other values, and the bounds say nothing of them.")
	}
	if f := c.Findings; f != nil && len(f.Grids) > 0 {
		said = append(said, quotedList(f.Grids)+" has each value of an even grid at most once, as no independent draws do: it is a counter or a clock, in whatever order the rows are. Fresh rows have other values, and the bounds say nothing of them.")
	}
	if c.fitted() {
		said = append(said, fmt.Sprintf("The column %s is %.0f %% nearer to the target on train rows than on reference rows. It looks as if it had been fitted on train rows; then the bounds from them are too low.",
			quoted(c.Mean.Column), 100*(1-c.Mean.Train.Upper()/c.Mean.Reference.Upper())))
	}
	u := c.Ledger.Units
	if u == nil || u.small(c.Ledger) { // rows of one unit may depend on each other
		said = append(said, c.Dependence.doubts()...)
	}
	if u != nil {
		said = append(said, u.doubts(c.Ledger)...)
	}
	return said
}

func quotedList(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = quoted(name)
	}
	return strings.Join(all, ", ")
}

// OtherJobs says how many other jobs the maker counted on the same rows.
func (c Certificate) OtherJobs() string {
	if k := c.Declared.Attempt.OnTheseRows; k != 2 {
		return fmt.Sprintf("%d other jobs were", k-1)
	}
	return "1 other job was"
}
