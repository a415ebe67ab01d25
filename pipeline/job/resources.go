package job

// leastForReading is the memory for reading under any budget.
const leastForReading = 512 << 20

// PageMemory is the memory for pages while they are read, in bytes.
func (r Resources) PageMemory() int64 { return max(r.Memory, leastForReading) }
