package config

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/durable"
)

// The ways in which a group divides partitions.
const (
	GroupSingle = "single" // one member has all partitions
	GroupShared = "shared" // members share the partitions
)

// A Service has what a process that follows new rows needs from its caller.
type Service struct {
	FS           durable.FS
	Patience     time.Duration                    // default time to wait for absent brokers
	Said, Warned func(string)                     // called with events and warnings
	OnChange     func(known bool, partitions int) // called when the state of this process in its group changes
	Lags         func(map[int]int64, error)       // called with the lag of each partition, or why lags are unknown; nil means never
}

// lead calls run while this process has partitions of the group. It ends with ctx or an error.
func (s Service) lead(ctx context.Context, client *broker.Client, group broker.Group, run func(context.Context, *broker.Membership) error) error {
	var measuring sync.WaitGroup
	defer measuring.Wait()
	measured, stop := context.WithCancel(ctx)
	defer stop()
	group.OnChange = s.OnChange
	if s.Lags != nil {
		measuring.Go(func() { s.measureLags(measured, client, group) })
	}
	s.Said(fmt.Sprintf("member of group %q: waiting for its partitions", group.Name))
	if _, err := client.Partitions(ctx, group.Topic); err != nil { // a member of a topic that is made later gets no partition
		return fmt.Errorf("%w (hint: start this when the topic is there)", err)
	}
	return client.Lead(ctx, group, func(ctx context.Context, as *broker.Membership) error {
		has, lost := "the partitions", "another member has the partitions now: this one stands by"
		if group.Shared {
			has, lost = "the partitions "+strings.Trim(strings.ReplaceAll(fmt.Sprint(as.Partitions()), " ", ", "), "[]"), "the group has divided the partitions again: this member stands by until it has some"
		}
		s.Said("this member has " + has)
		err := run(ctx, as)
		if errors.Is(context.Cause(ctx), broker.ErrLost) {
			s.Warned(lost)
		}
		return err
	})
}

// lagEvery is the time between two requests for the lags of a group. A request ends after
// lagWithin, and lagEach more for each partition, since partitions are asked for one by one.
const (
	lagEvery  = 5 * time.Second
	lagWithin = 10 * time.Second
	lagEach   = 100 * time.Millisecond
)

// measureLags calls s.Lags every lagEvery until ctx is done.
func (s Service) measureLags(ctx context.Context, client *broker.Client, group broker.Group) {
	for {
		lags, err := lagsOf(ctx, client, group)
		if ctx.Err() != nil {
			return
		}
		s.Lags(lags, err)
		if broker.Pause(ctx, lagEvery) != nil {
			return
		}
	}
}

// lagsOf requests the lags once, for less time than the client's patience.
func lagsOf(ctx context.Context, client *broker.Client, group broker.Group) (map[int]int64, error) {
	within, cancel := context.WithTimeout(ctx, lagWithin)
	defer cancel()
	partitions, err := client.Partitions(within, group.Topic)
	if err != nil {
		return nil, err
	}
	within, cancel = context.WithTimeout(ctx, lagWithin+time.Duration(len(partitions))*lagEach)
	defer cancel()
	return client.Lags(within, group.Name, group.Topic, partitions)
}
