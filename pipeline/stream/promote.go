package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/pacsgp/pacsgp/pipeline"
)

// A deciding publisher decides where the certificate of a window becomes current.
type deciding struct {
	Publisher

	work *work
	full *Window
	out  pipeline.Output
	why  string // why it does not at some location; "": it does
}

// Publish publishes the result of a window, and moves the pointers that it replaces.
func (d *deciding) Publish(ctx context.Context, r *pipeline.Result, verdict error) error {
	var points []string
	if verdict == nil {
		locations, err := d.work.Log.Locations(ctx, d.full)
		if err != nil {
			return err
		}
		for _, at := range locations {
			why, err := d.stays(ctx, at, r)
			if err != nil {
				return err
			}
			if d.why = cmp.Or(d.why, why); why == "" {
				points = append(points, at.Name)
			}
		}
	}
	return d.Publisher.Publish(ctx, r, points)
}

// stays says why a result does not replace the certificate that is current at a location; "": it does.
func (d *deciding) stays(ctx context.Context, at Location, r *pipeline.Result) (why string, err error) {
	w := d.work
	if w.Promote.Within == 0 || at.Current.ID == "" || at.Current.Of != d.full.Of {
		return "", nil
	}
	current, err := w.certificate(ctx, w.Log, d.out, at.Current.ID)
	if unfit, ok := errors.AsType[unfitError](err); ok {
		w.warning(fmt.Sprintf("certificate %.12s…, which is current, is compared with no other: %v", at.Current.ID, unfit))
		return "", nil
	}
	if err != nil {
		return "", err
	}
	decision, err := w.Promote.Decide(current, r.Certificate, w.How.Required)
	if decision.Moves {
		return "", err
	}
	return decision.Why, err
}
