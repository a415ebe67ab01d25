//go:build unix

package model

import (
	"syscall"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// BenchmarkGradient takes gradients of the bound by all parameters of kl-PAC-SGP, one
// after the other, as L-BFGS asks for them: 32,000 rows of 8 features.
func BenchmarkGradient(b *testing.B) {
	n, m := 32_000, 500
	if testing.Short() {
		n, m = 2000, 100
	}
	rows := testRows(n, 8, 9)
	c := CollapsedConfig{Config: testConfig(b, rows, true), Alpha: 1, Evaluations: 1 << 20, Starts: []Start{{Theta: make([]float64, 9)}}}
	c.Inducing, c.Workers = m, 2
	tr, err := NewCollapsed(c, rows)
	fatal.If(b, err)
	b.Cleanup(tr.Close)
	b.ReportAllocs()
	before := processorTime(b)
	for b.Loop() {
		for before := tr.Progress().Step; tr.Progress().Step == before && !tr.Done(); {
			collapsedPass(b, tr, rows)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/gradient")
	b.ReportMetric((processorTime(b)-before).Seconds()/float64(b.N), "cpu-s/gradient")
}

// processorTime is what the processors have worked for this process.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	fatal.If(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
