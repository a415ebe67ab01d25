package kafkalog

import (
	"errors"
	"fmt"

	"github.com/pacsgp/pacsgp/internal/broker"
)

// Behind adds to an error of a partition that ends too early what holds the later offset: the
// group, or files of a folder.
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

// Hint adds what to do to an error of a topic that was made anew, or has lost rows without
// predictions. output is what to choose anew beside the group.
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
