// Package inorder works on several items at a time and passes on the results in the order of the items.
package inorder

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// A piece is the result of one item. It is valid when done is closed.
type piece[R any] struct {
	made R
	err  error
	done chan struct{}
}

// Run takes items from give, calls work on up to workers of them at a time, and calls use with each result, one at a
// time and in the order of the items. At most workers+2 items are in progress; give blocks when there are that many.
// At the first error the context of all three is cancelled. Run returns when no work is running.
func Run[T, R any](ctx context.Context, workers int, give func(ctx context.Context, hand func(T) error) error, work func(context.Context, T) (R, error), use func(context.Context, R) error) error {
	all, ctx := errgroup.WithContext(ctx)
	workers = max(workers, 1)
	all.SetLimit(workers + 2) // two more are below
	queue := make(chan *piece[R], workers)
	all.Go(func() error {
		defer close(queue)
		return give(ctx, func(item T) error {
			p := &piece[R]{done: make(chan struct{})}
			select {
			case queue <- p:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			all.Go(func() error { // waits for a worker
				defer close(p.done)
				p.made, p.err = work(ctx, item)
				return nil
			})
			return nil
		})
	})
	all.Go(func() error {
		for p := range queue {
			select {
			case <-p.done:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			if p.err != nil {
				return p.err
			}
			if err := use(ctx, p.made); err != nil {
				return err
			}
		}
		return nil
	})
	return all.Wait()
}
