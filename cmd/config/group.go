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

// Kinds of groups.
const (
	GroupSingle = "single" // one member has all partitions
	GroupShared = "shared" // members share them
)

// A Service is the environment of a process that goes on as rows come.
type Service struct {
	FS           durable.FS
	Patience     time.Duration                    // default time to wait for absent brokers
	Said, Warned func(string)                     // get events and warnings
	OnChange     func(known bool, partitions int) // gets the state of this process in its group
	Lags         func(map[int]int64, error)       // gets the lags of the group by partition, or why they are unknown; or nil
}

// lead calls run while this process has partitions of the group, until ctx is done or an error.
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

// lagEvery is the time between two requests for the lags of a group. Without an answer they end
// after lagWithin, and lagEach for each partition: each is asked for by itself.
const (
	lagEvery  = 5 * time.Second
	lagWithin = 10 * time.Second
	lagEach   = 100 * time.Millisecond
)

// measureLags reports the lags of a group at intervals, until ctx is done.
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

// lagsOf asks for the lags once, without the patience of the client.
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
