package report

import (
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/certify/certifytest"
)

// What speaks against believing a certificate stands right under its first lines.
func TestDoubtsStandUnderTheHeadlines(t *testing.T) {
	var c certify.Certificate
	c.Sample.Rows = 1000
	written := func() string {
		var out strings.Builder
		WriteHeadlines(&out, c, Style{}, Anybody)
		return out.String()
	}
	if got := written(); got != "" {
		t.Errorf("nothing to doubt: %q", got)
	}
	c.Declared.Attempt.OnTheseRows = 3
	c.Copies = certify.Copies{Policy: certify.CopiesKept, Rows: 980, Distinct: 20}
	c.Dependence = certifytest.Dependence(100_000, 0.85)
	for _, want := range []string{"2 other jobs were tried", "980 of 1000 rows", "its maker's word", "correlation of their targets 0.850"} {
		if got := strings.Join(strings.Fields(written()), " "); !strings.Contains(got, want) {
			t.Errorf("%q is not said in %q", want, got)
		}
	}
}

// Whatever a job calls equal rows, many of them are a doubt: a limit of 99.9 % declares them
// separate draws, and to leave them out declares them copies.
func TestManyEqualRowsAreADoubt(t *testing.T) {
	for what, c := range map[string]struct {
		copies certify.Copies
		want   string
	}{
		"few":        {certify.Copies{Policy: certify.CopiesLimited, Limit: 0.999, Rows: 10, Distinct: 990}, ""},
		"high limit": {certify.Copies{Policy: certify.CopiesLimited, Limit: 0.999, Rows: 11, Distinct: 989}, "separate draws is its maker's word"},
		"left out":   {certify.Copies{Policy: certify.CopiesDropped, Rows: 1}, "the bounds are about distinct rows"},
		"none":       {certify.Copies{Policy: certify.CopiesDropped}, ""},
		"kept":       {certify.Copies{Policy: certify.CopiesKept, Rows: 1}, "separate draws is its maker's word"},
	} {
		got := strings.Join(certify.Certificate{Copies: c.copies, Sample: certify.Sample{Rows: 1000}}.Doubts(), " ")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}
