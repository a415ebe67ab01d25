package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
)

// A Member is a member of a group in one generation. Its commits are refused after that generation.
type Member struct {
	ID         string
	Generation int
}

// ErrLost means that this member no longer has the partitions with which its work began.
var ErrLost = errors.New("the group has changed the partitions of this member")

// A Membership is this process's membership in a group: either one member has all partitions of a
// topic and the others wait, or members share them. A member keeps its partitions until it leaves
// or misses its session or, if they are shared, until others join or leave.
type Membership struct {
	shared   bool
	onChange func(known bool, partitions int)

	mu      sync.Mutex
	changed chan struct{} // closed when one of the fields below changes
	now     *Member       // in the current generation; nil between generations
	has     []int         // partitions in the latest generation, ascending
	with    []int         // partitions with which work began
	had     int           // the latest generation in which it had partitions, or 0
}

// A Group sets up [Client.Lead].
type Group struct {
	Name, Topic string
	Shared      bool          // members share the partitions; otherwise one has all of them
	Session     time.Duration // how long a silent member keeps its partitions
	Again       string        // ends the error of Lead if the topic is made again: what to do
	// OnChange, if not nil, is called with whether the group has this member in a current
	// generation, and how many partitions the member has.
	OnChange func(known bool, partitions int)
}

// Lead joins the group and calls work each time this member gets partitions of the topic. The context of work ends with
// the cause [ErrLost] when another member gets them or, in a shared group, when its partitions change, but not while
// the group rebalances or brokers are away. Lead leaves the group and returns when ctx is done, when work returns
// anything but ErrLost, or with [ErrAnother] when the topic is made again before work begins.
func (c *Client) Lead(ctx context.Context, group Group, work func(ctx context.Context, m *Membership) error) error {
	was, err := c.Identity(ctx, group.Topic)
	if err != nil {
		return err
	}
	m := &Membership{changed: make(chan struct{}), onChange: group.OnChange, shared: group.Shared}
	members, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: group.Name, Brokers: c.config.Brokers, Topics: []string{group.Topic},
		Dialer:           &kafka.Dialer{Timeout: 5 * time.Second, TLS: c.config.TLS, SASLMechanism: c.config.SASL, ClientID: clientID},
		GroupBalancers:   []kafka.GroupBalancer{balancer{m}},
		SessionTimeout:   group.Session,
		RebalanceTimeout: group.Session,
		// A session survives a few lost heartbeats.
		HeartbeatInterval: min(3*time.Second, group.Session/6),
		JoinGroupBackoff:  time.Second,
		// A member that has all partitions detects new ones itself.
		WatchPartitionChanges: group.Shared,
	})
	if err != nil {
		return fmt.Errorf("group %q: %w", group.Name, err)
	}
	within, stop := context.WithCancelCause(ctx)
	var following sync.WaitGroup
	following.Go(func() {
		if err := m.follow(within, members, group.Topic); err != nil {
			stop(fmt.Errorf("group %q: %w", group.Name, err))
		}
	})
	defer following.Wait()
	defer leave(members)
	defer stop(nil)
	for {
		err := m.standBy(within, func() error { return c.Same(within, was, group.Topic, "when this process began") })
		if errors.Is(err, ErrAnother) {
			return fmt.Errorf("%w%s", err, group.Again)
		}
		if err == nil {
			err = m.whileLeading(within, work)
		}
		if errors.Is(err, ErrLost) {
			continue
		}
		if within.Err() != nil && ctx.Err() == nil {
			err = context.Cause(within)
		}
		return err
	}
}

// IdentityEvery is how often to check whether a topic was replaced by a new one.
const IdentityEvery = 5 * time.Second

// standBy waits until this member has partitions, while same returns no error.
func (m *Membership) standBy(ctx context.Context, same func() error) error {
	for {
		within, cancel := context.WithTimeout(ctx, IdentityEvery)
		err := m.await(within, func() bool {
			if m.now == nil || len(m.has) == 0 {
				return false
			}
			m.with = m.has
			return true
		})
		cancel()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if again := same(); again != nil || err == nil {
			return again
		}
	}
}

// leave leaves the group within 5 seconds. If the coordinator is away, the session just expires.
func leave(members *kafka.ConsumerGroup) {
	left := make(chan struct{})
	go func() { defer close(left); _ = members.Close() }() // always nil
	select {
	case <-left:
	case <-time.After(5 * time.Second):
	}
}

// lost reports whether the current generation has changed the partitions with which work began. The
// caller holds the lock.
func (m *Membership) lost() bool {
	if m.shared {
		return m.now != nil && !slices.Equal(m.has, m.with)
	}
	return m.now != nil && len(m.has) == 0
}

// Partitions returns the partitions with which work began.
func (m *Membership) Partitions() []int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.with)
}

// whileLeading calls work, and cancels it when its partitions are lost.
func (m *Membership) whileLeading(ctx context.Context, work func(context.Context, *Membership) error) error {
	within, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	var watching sync.WaitGroup
	watching.Go(func() {
		if m.await(within, m.lost) == nil {
			lose(ErrLost)
		}
	})
	err := work(within, m)
	lost := errors.Is(context.Cause(within), ErrLost)
	lose(nil)
	watching.Wait()
	if lost && ctx.Err() == nil {
		return ErrLost
	}
	return err
}

// current waits for a generation and returns this process's member in it, or [ErrLost] if that does
// not have the partitions with which work began.
func (m *Membership) current(ctx context.Context) (Member, error) {
	var found Member
	lost := false
	err := m.await(ctx, func() bool {
		if m.now == nil {
			return false
		}
		found, lost = *m.now, m.lost()
		return true
	})
	if err == nil && lost {
		err = ErrLost
	}
	return found, err
}

// Work calls work while this member has its partitions. It calls work again if the generation is
// over, or if another process has fenced its transaction.
func (m *Membership) Work(ctx context.Context, work func(ctx context.Context, as Member) error) error {
	for {
		as, err := m.current(ctx)
		if err != nil {
			return err
		}
		err = work(ctx, as)
		switch {
		case errors.Is(context.Cause(ctx), ErrLost):
			return err
		case Stale(err):
			over := func() bool { return m.now == nil || m.now.Generation != as.Generation }
			if err := m.await(ctx, over); err != nil {
				return err
			}
		case Fenced(err):
			if err := Pause(ctx, time.Second); err != nil { // two processes can fence each other
				return err
			}
		default:
			return err
		}
	}
}

// await waits until a condition is true. It calls is with the lock held.
func (m *Membership) await(ctx context.Context, is func() bool) error {
	for {
		m.mu.Lock()
		ok, changed := is(), m.changed
		m.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		}
	}
}

func (m *Membership) begin(now Member, partitions []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now, m.has = &now, slices.Sorted(slices.Values(partitions))
	if len(m.has) > 0 {
		m.had = now.Generation
	}
	m.reportChange()
}

func (m *Membership) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = nil
	m.reportChange()
}

// reportChange reports a change to OnChange and to await. The caller holds the lock.
func (m *Membership) reportChange() {
	if m.onChange != nil {
		m.onChange(m.now != nil, len(m.has))
	}
	close(m.changed)
	m.changed = make(chan struct{})
}

// follow goes from one generation to the next. Between two, no commit is accepted, but members keep
// their partitions. It returns an error if the group will never accept this member.
func (m *Membership) follow(ctx context.Context, members *kafka.ConsumerGroup, topic string) error {
	for ctx.Err() == nil {
		g, err := members.Next(ctx)
		switch {
		case errors.Is(err, kafka.ErrGroupClosed):
			return nil
		case refuses(err):
			return err
		case err != nil: // the library tries again until the group is closed
			continue
		}
		var partitions []int
		for _, p := range g.Assignments[topic] {
			partitions = append(partitions, p.ID)
		}
		m.begin(Member{g.MemberID, int(g.ID)}, partitions)
		g.Start(func(over context.Context) {
			<-over.Done()
			m.end()
		})
	}
	return nil
}

// refuses reports whether a later try to join the group would fail with the same error.
func refuses(err error) bool {
	return slices.ContainsFunc([]error{
		kafka.InvalidSessionTimeout, kafka.GroupAuthorizationFailed, kafka.TopicAuthorizationFailed, kafka.InconsistentGroupProtocol,
		kafka.InvalidGroupId, kafka.SASLAuthenticationFailed, kafka.ClusterAuthorizationFailed,
	}, func(fatal error) bool { return errors.Is(err, fatal) })
}

// Stale reports whether a commit failed because its generation is over.
func Stale(err error) bool {
	return errors.Is(err, kafka.IllegalGeneration) || errors.Is(err, kafka.UnknownMemberId) || errors.Is(err, kafka.RebalanceInProgress)
}

// Fenced reports whether a later writer of the same id has ended this one.
func Fenced(err error) bool {
	return errors.Is(err, kafka.InvalidProducerEpoch) || errors.Is(err, kafka.ProducerFenced)
}
