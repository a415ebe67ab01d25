// Package inorder does pieces of work at the same time and hands on what comes of them in
// the order of the pieces.
package inorder

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// A piece is at work until done is closed.
type piece[T, R any] struct {
	of   T
	made R
	err  error
	done chan struct{}
}

// Run takes pieces from give, does work on up to workers of them at a time, and calls use
// with what comes of each, one after the other and in their order. At most workers+2
// pieces are in hand at a time: give waits when there are as many. The first error ends
// it: the context of all three is done then. When Run returns no work is being done.
func Run[T, R any](ctx context.Context, workers int, give func(ctx context.Context, hand func(T) error) error, work func(context.Context, T) (R, error), use func(context.Context, R) error) error {
	all, ctx := errgroup.WithContext(ctx)
	queue := make(chan *piece[T, R], max(workers, 1))
	todo := make(chan *piece[T, R])
	all.Go(func() error {
		defer close(queue)
		defer close(todo)
		return give(ctx, func(of T) error {
			p := &piece[T, R]{of: of, done: make(chan struct{})}
			for _, to := range []chan *piece[T, R]{queue, todo} {
				select {
				case to <- p:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			return nil
		})
	})
	for range max(workers, 1) {
		all.Go(func() error {
			for p := range todo {
				p.made, p.err = work(ctx, p.of)
				close(p.done)
			}
			return nil
		})
	}
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
