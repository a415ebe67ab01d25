package certify

// A DuplicatesPolicy is the rule of a job for rows that equal an earlier one.
type DuplicatesPolicy string

// The policies.
const (
	DuplicatesDropped DuplicatesPolicy = "drop"  // the first of equal rows counts, the others neither train nor certify
	DuplicatesKept    DuplicatesPolicy = "keep"  // they are separate draws
	DuplicatesLimited DuplicatesPolicy = "limit" // so are they, and more than the limit end the job
)

// Duplicates counts rows that equal an earlier one.
type Duplicates struct {
	Policy DuplicatesPolicy `json:"policy"`
	Limit  float64          `json:"limit"` // share of the rows, for the policy limit
	Rows   int64            `json:"found"` // that equal an earlier one in all used columns
}
