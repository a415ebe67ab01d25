package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/durable/durabletest"
)

// A scorer of files that is to end in the middle of a file ends without an error; with
// --once it was not done, and says so.
func TestScoreInterrupted(t *testing.T) {
	dir := t.TempDir()
	smallLake(t, dir)
	succeed(t, "train", "-c", tiny(nil).write(t, dir))
	score := filepath.Join(dir, "score.yaml")
	writeFile(t, score, []byte("model: out\nsource: {paths: [lake]}\noutput: scored\n"))
	for once, want := range map[string]int{"": 0, "--once": exitInterrupted} {
		ctx, end := context.WithCancel(t.Context())
		ends := hooked(func(op durabletest.Operation, effect func() error) error {
			if op.Kind == durabletest.Create && strings.Contains(op.Name, "scored") {
				end()
			}
			return effect()
		})
		args := []string{"score", "-c", score}
		if once != "" {
			args = append(args, once)
		}
		if err := run(ctx, args, testSystem(discard{}, discard{}, ends)); err == nil && want != 0 || err != nil && status(err) != want {
			t.Errorf("score %s: %v", once, err)
		}
		if ctx.Err() == nil {
			t.Error("it was not interrupted")
		}
		end()
	}
}
