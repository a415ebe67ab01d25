package certify

import "fmt"

// Doubts are the reservations that belong beside the headlines.
func (c Certificate) Doubts() []string {
	var said []string
	if c.Declared.Attempt.OnTheseRows > 1 {
		said = append(said, c.OtherJobs()+" tried on these rows before this one, says its maker. If this job was changed after results were seen, its confidence is not what it says.")
	}
	said = append(said, c.Copies.doubts()...)
	if n := c.Ledger.Bad; n > 0 {
		said = append(said, fmt.Sprintf("%d of %d rows (%s %%) break a row rule and were left out. Nothing is promised about such rows; where what breaks them has to do with how hard they are to predict, or the target is what breaks, the promise is worth less.",
			n, c.Sample.Rows, RoundUp(100*float64(n)/float64(c.Sample.Rows), 2)))
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

// OtherJobs says how many other jobs the maker counted on the same rows.
func (c Certificate) OtherJobs() string {
	if k := c.Declared.Attempt.OnTheseRows; k != 2 {
		return fmt.Sprintf("%d other jobs were", k-1)
	}
	return "1 other job was"
}
