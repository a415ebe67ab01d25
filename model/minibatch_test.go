package model

import (
	"bytes"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// wanted gives a trainer the rows that it asks for; those of a mini-batch come one after another.
func wanted(t testing.TB, c *Collapsed, rows Rows, step int) {
	t.Helper()
	some := rows
	if p := c.Want(); p.Kind == MiniBatch {
		from := step * p.Rows % rows.Len()
		some = rows.Slice(from, from+p.Rows)
	}
	collapsedPass(t, c, some)
}

// Mini-batches lower the bound of all rows about as far as gradients of all rows do.
func TestMiniBatchesLowerTheBound(t *testing.T) {
	rows := testRows(600, 2, 10)
	cfg := CollapsedConfig{Config: testConfig(t, rows, true), Alpha: 1, Starts: []Start{{Theta: make([]float64, 3)}}, Evaluations: 1}
	cfg.Inducing = 12
	start := fitCollapsed(t, cfg, rows).Progress().Bound
	cfg.Evaluations = 200
	least := fitCollapsed(t, cfg, rows).Progress().Bound
	cfg.Batch = 150
	c := newTestCollapsed(t, cfg, rows)
	for step := 0; !c.Done(); step++ {
		wanted(t, c, rows, step)
	}
	if got := c.Progress().Bound; c.Progress().Step != 200 || !(got < least+0.2*(start-least)) {
		t.Errorf("bound %v after %d steps from %v, by gradients of all rows %v", got, c.Progress().Step, start, least)
	}
	cfg.Batch = 600
	if got := fitCollapsed(t, cfg, rows).Progress().Bound; got != least {
		t.Errorf("bound %v by batches of all rows, without batches %v", got, least)
	}
}

// A trainer that is resumed from its state after any step gives the same bits as one that was not
// stopped.
func TestMiniBatchesResume(t *testing.T) {
	rows := testRows(120, 2, 11)
	cfg := CollapsedConfig{Config: testConfig(t, rows, true), Alpha: 1, Batch: 40, Evaluations: 8}
	cfg.Inducing = 5
	var states [2][]byte
	for i := range states {
		c := newTestCollapsed(t, cfg, rows)
		for step := 0; !c.Done(); step++ {
			if wanted(t, c, rows, step); i == 0 || c.Done() || c.Want().Kind != MiniBatch {
				continue // the passes at the end begin again
			}
			state, err := c.MarshalBinary()
			fatal.If(t, err)
			c.Close()
			cfg.Workers = 1 + step%3
			c, err = ResumeCollapsed(cfg, state)
			fatal.If(t, err)
		}
		t.Cleanup(c.Close)
		var err error
		states[i], err = c.MarshalBinary()
		fatal.If(t, err)
	}
	if !bytes.Equal(states[0], states[1]) {
		t.Error("the state is another one")
	}
}
