package inorder_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/pacsgp/pacsgp/internal/inorder"
)

// What comes of the pieces is handed on in their order, whichever is done first, and no
// more of them are in hand than is said.
func TestRunKeepsTheOrder(t *testing.T) {
	for _, workers := range []int{0, 1, 3, 8} {
		const pieces = 2000
		var given, used atomic.Int64
		most := int64(0)
		next := 0
		err := inorder.Run(
			t.Context(), workers,
			func(_ context.Context, hand func(int) error) error {
				for i := range pieces {
					if err := hand(i); err != nil {
						return err
					}
					most = max(most, given.Add(1)-used.Load())
				}
				return nil
			},
			func(_ context.Context, i int) (int, error) {
				for range i % 7 {
					runtime.Gosched()
				}
				return 3 * i, nil
			},
			func(_ context.Context, made int) error {
				if made != 3*next {
					t.Errorf("%d workers: %d instead of %d", workers, made, 3*next)
				}
				next++
				used.Add(1)
				return nil
			},
		)
		if err != nil || next != pieces {
			t.Errorf("%d workers: %d pieces of %d, %v", workers, next, pieces, err)
		}
		if limit := int64(max(workers, 1) + 2); most > limit {
			t.Errorf("%d workers: %d pieces in hand, want at most %d", workers, most, limit)
		}
	}
}

// An error of any of the three ends the others, and is what is returned.
func TestRunEndsWithAnError(t *testing.T) {
	broken := errors.New("broken")
	at := func(location, here string, i int) error {
		if location == here && i == 50 {
			return broken
		}
		return nil
	}
	for _, location := range []string{"give", "work", "use"} {
		used := 0
		err := inorder.Run(
			t.Context(), 2,
			func(_ context.Context, hand func(int) error) error {
				for i := 0; ; i++ {
					if err := errors.Join(at(location, "give", i), hand(i)); err != nil {
						return err
					}
				}
			},
			func(_ context.Context, i int) (int, error) { return i, at(location, "work", i) },
			func(_ context.Context, i int) error { used++; return at(location, "use", i) },
		)
		if !errors.Is(err, broken) {
			t.Errorf("%s: %v", location, err)
		}
		if location == "work" && used != 50 {
			t.Errorf("%d pieces were used before the one that failed, want 50", used)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := inorder.Run(ctx, 2, func(_ context.Context, hand func(int) error) error {
		for {
			if err := hand(1); err != nil {
				return err
			}
		}
	}, func(_ context.Context, i int) (int, error) { return i, nil }, func(context.Context, int) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// An error ends work and use that wait for something, whichever of them has it.
func TestRunEndsWhatWaits(t *testing.T) {
	broken := errors.New("broken")
	wait := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for _, location := range []string{"give", "work", "use"} {
		err := inorder.Run(
			t.Context(), 2,
			func(ctx context.Context, hand func(int) error) error {
				for i := range 3 {
					if err := hand(i); err != nil {
						return err
					}
				}
				if location == "give" {
					return broken
				}
				return wait(ctx)
			},
			func(ctx context.Context, i int) (int, error) {
				switch {
				case i == 0:
					return i, nil
				case i == 1 && location == "work":
					return i, broken
				}
				return i, wait(ctx)
			},
			func(ctx context.Context, _ int) error {
				switch location {
				case "use":
					return broken
				case "work": // the piece before the one that fails
					return nil
				}
				return wait(ctx)
			},
		)
		if !errors.Is(err, broken) {
			t.Errorf("%s: %v", location, err)
		}
	}
}
