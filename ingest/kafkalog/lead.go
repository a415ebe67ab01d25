package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pacsgp/pacsgp/internal/broker"
)

// Lead calls work while this member of the group has the partitions: anew when the group has
// come to another generation, or another process has ended this one's transaction. event and
// notice are told of it.
func Lead(ctx context.Context, m *broker.Membership, event, notice func(string), work func(ctx context.Context, as broker.Member) error) error {
	event("this member has the partitions")
	for {
		as, err := m.Now(ctx)
		if err != nil {
			return err
		}
		err = work(ctx, as)
		switch {
		case errors.Is(context.Cause(ctx), broker.ErrLost):
			notice("another member has the partitions now: this one stands by")
			return err
		case broker.Stale(err):
			if err := m.Over(ctx, as.Generation); err != nil {
				return err
			}
		case broker.Fenced(err):
			notice(err.Error())
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Second): // for two that end each other
			}
		default:
			return err
		}
	}
}

// Behind adds to an error of a partition that ends before the offset to go on at what holds
// that offset: the group, or files of a folder.
func (u *Unpredicted) Behind(err error, group, files map[int]int64, folder string) error {
	e, ok := errors.AsType[*BehindError](err)
	if !ok {
		return err
	}
	switch p := e.Partition; {
	case files[p] == e.Next && group[p] < e.Next:
		err = fmt.Errorf("%w; the names of the files in %s say that rows up to there are predicted", err, folder)
	case group[p] == e.Next:
		err = fmt.Errorf("%w; group %q stands there", err, u.Group)
	}
	return err
}

// Hint adds what to do to an error of a topic that was made anew, or has rows no more that are
// not predicted. output is what to choose anew beside the group.
func (u *Unpredicted) Hint(err error, output string) error {
	if gone, ok := errors.AsType[*GoneError](err); ok {
		return fmt.Errorf("%w (hint: these rows had no predictions, and can get none. To go on behind them set the group to the oldest offset that is left, "+
			"as with kafka-consumer-groups --group %s --topic %s:%d --reset-offsets --to-offset %d --execute; "+
			"or predict all that is left, with another group and another output %s)", err, u.Group, gone.Topic, gone.Partition, gone.Start, output)
	}
	_, behind := errors.AsType[*BehindError](err)
	if !behind && !errors.Is(err, broker.ErrAnother) {
		return err
	}
	return fmt.Errorf("%w (hint: to predict the rows that are there now, choose another group and another output %s)", err, output)
}
