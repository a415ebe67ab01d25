package pipeline

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// errUneven says that models have predicted different numbers of rows.
var errUneven = fmt.Errorf("%w: they are not as many for each model", ErrChanged)

// PredictInStep predicts the same rows with several models, from a source for each. It calls use
// with predictions of the same rows, one slice a model, in the order of the models. They are valid
// until use returns.
func PredictInStep(ctx context.Context, models []*Ready, sources []Source, use func([][]Prediction) error) error {
	all, ctx := errgroup.WithContext(ctx)
	batches, taken := make([]chan []Prediction, len(models)), make([]chan struct{}, len(models))
	for i, m := range models {
		batches[i], taken[i] = make(chan []Prediction), make(chan struct{})
		all.Go(func() error {
			defer close(batches[i])
			return m.Predict(ctx, sources[i], func(batch []Prediction) error {
				select {
				case batches[i] <- batch:
				case <-ctx.Done():
					return ctx.Err()
				}
				select { // merged uses the batch until then
				case <-taken[i]:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
		})
	}
	all.Go(func() error { return merged(ctx, batches, taken, use) })
	return all.Wait()
}

// merged cuts the batches of several models at the same rows.
func merged(ctx context.Context, batches []chan []Prediction, taken []chan struct{}, use func([][]Prediction) error) error {
	left, now := make([][]Prediction, len(batches)), make([][]Prediction, len(batches))
	for {
		ended := 0
		for i := range batches {
			more := true
			if len(left[i]) == 0 {
				left[i], more = <-batches[i]
			}
			if !more {
				ended++
			}
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case ended == len(batches):
			return nil
		case ended > 0:
			return errUneven
		}
		n := len(left[0])
		for _, rows := range left {
			n = min(n, len(rows))
		}
		for i := range left {
			now[i], left[i] = left[i][:n], left[i][n:]
		}
		if err := use(now); err != nil {
			return err
		}
		for i := range left {
			if len(left[i]) == 0 {
				select {
				case taken[i] <- struct{}{}:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		}
	}
}
