package config

import "github.com/pacsgp/pacsgp/pipeline"

// leastForReading is what reading may take of memory whatever the budget is.
const leastForReading = 512 << 20

// PageMemory is what pages may take of memory while they are read, whatever the first ones
// look like.
func PageMemory(res pipeline.Resources) int64 { return max(res.Memory, leastForReading) }
