package broker_test

import (
	"testing"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// fencedAtEachStep: a writer that a later one of its id has ended gets that error, whatever it
// asks next.
func fencedAtEachStep(t *testing.T, c *broker.Client) {
	t.Helper()
	_, err := c.CreateTopic(t.Context(), "fenced", 2, 1, nil)
	fatal.If(t, err)
	r := broker.Record{Key: []byte("k"), Value: []byte("v")}
	at := map[int]int64{0: 1}
	unknown := broker.Member{Generation: -1}
	steps := map[string]func(*broker.Writer) error{
		"join": func(w *broker.Writer) error { return w.Send(t.Context(), "fenced", 1, r) },
		"send": func(w *broker.Writer) error { return w.Send(t.Context(), "fenced", 0, r) },
		"offsets": func(w *broker.Writer) error {
			return w.CommitOffsets(t.Context(), &unknown, "fenced", "fenced", at, "")
		},
		"commit": func(w *broker.Writer) error { return w.Commit(t.Context()) },
	}
	for name, step := range steps {
		for _, begun := range []bool{false, true} {
			w, err := c.NewWriter(t.Context(), "x")
			fatal.If(t, err)
			if begun || name == "commit" {
				for _, first := range []string{"send", "offsets"} {
					fatal.If(t, steps[first](w))
				}
			}
			_, err = c.NewWriter(t.Context(), "x")
			fatal.If(t, err)
			if err := step(w); !broker.Fenced(err) {
				t.Errorf("%s, begun %v: %v, want that another writer has ended it", name, begun, err)
			}
		}
	}
}
