package lake_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pacsgp/pacsgp/internal/durable/durabletest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/lake"
)

// TestAwait: a directory that another process has is waited for, until that gives it back or
// the caller is to end.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := durabletest.NewMemory()
		other, err := lake.Open("out", fsys)
		fatal.If(t, err)
		reports := 0
		hears := func(err error) {
			if reports++; !errors.Is(err, pipeline.ErrHeld) {
				t.Errorf("it reports %v", err)
			}
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if _, err := lake.Await(ctx, "out", fsys, hears); !errors.Is(err, context.DeadlineExceeded) || reports == 0 {
			t.Errorf("reported %d times: %v", reports, err)
		}
		go func() {
			time.Sleep(time.Hour)
			_ = other.Close()
		}()
		own, err := lake.Await(t.Context(), "out", fsys, hears)
		fatal.If(t, err)
		fatal.If(t, own.Close())
	})
}
