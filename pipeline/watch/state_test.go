package watch_test

import (
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/certify/certifytest"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/watch"
)

// A model without a feature of the current one does not replace it, nor does one with a bound that
// is too far above the current one.
func TestDecide(t *testing.T) {
	one := certifytest.Certificate(t, nil)
	without := one
	without.Sample.Columns = []string{"wind"}
	worse := certifytest.Certificate(t, func(ev *certify.Evidence) { ev.Model.KL = 200 })
	for name, c := range map[string]struct {
		rule  watch.Promotion
		next  certify.Certificate
		moves bool
		why   string
	}{
		"same":          {watch.Promotion{}, one, true, ""},
		"same, within":  {watch.Promotion{Within: .01}, one, true, "within 1 %"},
		"lost":          {watch.Promotion{}, without, false, `"temp"`},
		"worse":         {watch.Promotion{}, worse, true, ""},
		"worse, within": {watch.Promotion{Within: .01}, worse, false, "more than 1 % above"},
	} {
		if d, err := c.rule.Decide(one, c.next, pipeline.RequireDraw); err != nil || d.Moves != c.moves || !strings.Contains(d.Why, c.why) {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
}
