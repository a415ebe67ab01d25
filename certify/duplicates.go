package certify

// A DuplicatesPolicy is the rule of a job for rows that equal an earlier one.
type DuplicatesPolicy string

// The policies.
const (
	DuplicatesDropped DuplicatesPolicy = "drop"  // the first of equal rows is used, the others neither train nor certify
	DuplicatesKept    DuplicatesPolicy = "keep"  // equal rows are separate draws
	DuplicatesLimited DuplicatesPolicy = "limit" // equal rows are separate draws; more of them than the limit end the job
)

// Duplicates has the job's rule for rows that equal an earlier one, and their number.
type Duplicates struct {
	Policy DuplicatesPolicy `json:"policy"`
	Limit  float64          `json:"limit"` // largest share of the rows under [DuplicatesLimited]; else 0
	Rows   int64            `json:"found"` // rows that equal an earlier one in all used columns
}
