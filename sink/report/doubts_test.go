package report

import (
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
)

// What speaks against believing a certificate stands right under its first lines.
func TestDoubtsStandUnderTheHeadlines(t *testing.T) {
	var c certify.Certificate
	c.Sample.Rows = 1000
	written := func() string {
		var out strings.Builder
		WriteHeadlines(&out, c, Style{})
		return out.String()
	}
	if got := written(); got != "" {
		t.Errorf("nothing to doubt: %q", got)
	}
	c.Declared.Attempt.OnTheseRows = 3
	c.Copies = certify.Copies{Policy: certify.CopiesIndependent, Rows: 980}
	c.Dependence = certify.Dependence{Suspicious: true, Correlation: 0.85}
	for _, want := range []string{"2 other jobs were tried", "980 of 1000 rows", "its maker's word", "correlation of their targets 0.850"} {
		if got := strings.Join(strings.Fields(written()), " "); !strings.Contains(got, want) {
			t.Errorf("%q is not said in %q", want, got)
		}
	}
}
