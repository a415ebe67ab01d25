package pipeline

import "cmp"

// A place is the ordinal of a row, then a short digest of its target, then one of its features, or
// absentFeatures if one has a missing value.
const (
	halfBits  = 12
	placeBits = 2 * halfBits

	absentFeatures = 1<<halfBits - 1
)

// leastWhole is the number of rows without missing values, all held out before with the same features,
// that show that split and columns are the earlier ones: then rows with missing values that were not held
// out were bad rows, and no train rows.
const leastWhole = 30

// placeRank spreads ordinals over all 64-bit numbers.
func placeRank(place uint64) uint64 { return place >> placeBits * 0x9e3779b97f4a7c15 }

func byRank(rank func(uint64) uint64) func(a, b uint64) int {
	return func(a, b uint64) int { return cmp.Compare(rank(a), rank(b)) }
}
