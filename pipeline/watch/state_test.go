package watch_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/certify/certifytest"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/watch"
)

// A model without a feature of the current one does not replace it untested.
func TestLostFeature(t *testing.T) {
	one := certifytest.Certificate(t, nil)
	without := one
	without.Sample.Columns = []string{"wind"}
	for name, c := range map[string]struct {
		rule         watch.Promotion
		next         certify.Certificate
		moves, waits bool
	}{
		"same": {watch.Promotion{}, one, true, false}, "lost": {watch.Promotion{}, without, false, false},
		"lost, tested": {watch.Promotion{Error: .05}, without, false, true}, "lost, old": {watch.Promotion{Error: .05, MaxAge: 1}, without, false, true},
		"old": {watch.Promotion{Error: .05, MaxAge: 1}, one, true, false},
	} {
		if d := c.rule.Decide(one, c.next, pipeline.JudgeDraw, time.Hour); d.Moves != c.moves || d.Waits != c.waits || strings.Contains(d.Why, `"temp"`) != (name == "lost" || name == "lost, old") {
			t.Errorf("%s: %+v", name, d)
		}
	}
}
