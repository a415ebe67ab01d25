// Package machine says what the machine gives a process: memory, and room in folders.
package machine

import (
	"fmt"
	"time"
)

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

// Seconds is a time in words, to two digits.
func Seconds(s float64) string {
	d := time.Duration(s * float64(time.Second))
	switch {
	case d < time.Second:
		return "1s"
	case d < 100*time.Second:
		return d.Round(time.Second).String()
	case d < 100*time.Minute:
		return fmt.Sprintf("%.0fm", d.Minutes())
	default:
		return fmt.Sprintf("%.0fh", d.Hours())
	}
}
