// Package machine says what the machine gives a process: memory, and room in folders.
package machine

import "fmt"

// Bytes is a size in words.
func Bytes(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, suffix := float64(n)/unit, 0
	for value >= unit && suffix < 3 {
		value /= unit
		suffix++
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGT"[suffix])
}
