package certify

// A CopiesPolicy is the rule of a job for rows that equal an earlier one.
type CopiesPolicy string

// The policies.
const (
	CopiesDropped CopiesPolicy = "drop"  // the first of equal rows counts, the others neither train nor certify
	CopiesKept    CopiesPolicy = "keep"  // they are separate draws
	CopiesLimited CopiesPolicy = "limit" // so are they, and more than the limit end the job
)

// Copies counts rows that equal an earlier one.
type Copies struct {
	Policy CopiesPolicy `json:"policy"`
	Limit  float64      `json:"limit"` // share of the rows, for the policy limit
	Rows   int64        `json:"found"` // that equal an earlier one in all used columns
}
