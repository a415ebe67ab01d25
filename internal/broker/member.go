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

// A Member is a member of a group in one generation, after which its commits are refused.
type Member struct {
	ID         string
	Generation int
}

// ErrLost says that the partitions that work began with are not those of this member now.
var ErrLost = errors.New("the group has changed the partitions of this member")

// A Membership is this process's position in a group: one member has all partitions of a topic while
// the others stand by, or they share them. A member keeps its partitions until it leaves or misses
// its session or, where they are shared, until others come or go.
type Membership struct {
	shared   bool
	onChange func(known bool, partitions int)

	mu      sync.Mutex
	changed chan struct{} // closed when what follows changes
	now     *Member       // of the current generation; nil: there is none
	has     []int         // the partitions of the latest generation, ascending
	with    []int         // those that work began with
	had     int           // the latest generation in which it had some; 0: it never had
}

// A Group is what a member joins.
type Group struct {
	Name, Topic string
	Shared      bool          // members share the partitions; else one has all of them
	Session     time.Duration // how long a member that is not heard of keeps the partitions
	// OnChange, if not nil, receives whether the group knows this member now, and how many
	// partitions it has.
	OnChange func(known bool, partitions int)
}

// Lead joins the group and calls work each time that this member is given partitions of the topic.
// The context of work ends, with the cause [ErrLost], when another member has them or, in a shared
// group, when this one has others; not while the group finds out or brokers are away. Lead leaves
// the group and returns when work has returned anything but ErrLost, or ctx is done.
func (c *Client) Lead(ctx context.Context, of Group, work func(ctx context.Context, m *Membership) error) error {
	m := &Membership{changed: make(chan struct{}), onChange: of.OnChange, shared: of.Shared}
	members, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: of.Name, Brokers: c.config.Brokers, Topics: []string{of.Topic},
		Dialer:           &kafka.Dialer{Timeout: 5 * time.Second, TLS: c.config.TLS, SASLMechanism: c.config.SASL, ClientID: clientID},
		GroupBalancers:   []kafka.GroupBalancer{balancer{m}},
		SessionTimeout:   of.Session,
		RebalanceTimeout: of.Session,
		// So often that a few that are lost do not end the session.
		HeartbeatInterval: min(3*time.Second, of.Session/6),
		JoinGroupBackoff:  time.Second,
		// One member that has all partitions finds new ones itself.
		WatchPartitionChanges: of.Shared,
	})
	if err != nil {
		return fmt.Errorf("kafka: group %q: %w", of.Name, err)
	}
	ctx, stop := context.WithCancel(ctx)
	refused := make(chan error, 1)
	var following sync.WaitGroup
	following.Go(func() {
		if err := m.follow(ctx, members, of.Topic); err != nil {
			refused <- fmt.Errorf("kafka: group %q: %w", of.Name, err)
			stop()
		}
	})
	defer following.Wait()
	defer func() { leave(members) }()
	defer stop()
	for {
		err := m.await(ctx, func() bool {
			if m.now == nil || len(m.has) == 0 {
				return false
			}
			m.with = m.has
			return true
		})
		if err == nil {
			err = m.whileLeading(ctx, work)
		}
		if errors.Is(err, ErrLost) {
			continue
		}
		select {
		case why := <-refused:
			return why
		default:
			return err
		}
	}
}

// leave leaves the group within some seconds: without its coordinator the session ends by itself.
func leave(members *kafka.ConsumerGroup) {
	left := make(chan struct{})
	go func() {
		defer close(left)
		_ = members.Close() // always nil
	}()
	select {
	case <-left:
	case <-time.After(5 * time.Second):
	}
}

// lost reports whether the current generation has taken away what work began with. The lock is
// held.
func (m *Membership) lost() bool {
	if m.shared {
		return m.now != nil && !slices.Equal(m.has, m.with)
	}
	return m.now != nil && len(m.has) == 0
}

// Partitions are those that work began with.
func (m *Membership) Partitions() []int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.with)
}

// whileLeading calls work until it returns, or what it began with is lost.
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

// current waits for a generation and returns this process's member in it, if that has the
// partitions that work began with.
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

// Work calls work while this member has the partitions: again in another generation, or when
// another process has ended its transaction.
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
			if err := Pause(ctx, time.Second); err != nil { // for two that end each other
				return err
			}
		default:
			return err
		}
	}
}

// await waits until a condition on what the lock guards is true.
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

// begin begins a generation, in which this member has these partitions.
func (m *Membership) begin(now Member, partitions []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now, m.has = &now, slices.Sorted(slices.Values(partitions))
	if len(m.has) > 0 {
		m.had = now.Generation
	}
	m.tell()
}

// end ends the generation.
func (m *Membership) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = nil
	m.tell()
}

// tell says what has changed. The lock is held.
func (m *Membership) tell() {
	if m.onChange != nil {
		m.onChange(m.now != nil, len(m.has))
	}
	close(m.changed)
	m.changed = make(chan struct{})
}

// follow goes from one generation to the next. Between two of them no commit is accepted, but members
// keep their partitions. An error means that the group will never take this member.
func (m *Membership) follow(ctx context.Context, members *kafka.ConsumerGroup, topic string) error {
	for ctx.Err() == nil {
		g, err := members.Next(ctx)
		switch {
		case errors.Is(err, kafka.ErrGroupClosed):
			return nil
		case refuses(err):
			return err
		case err != nil: // it is tried again, by the library, until the group is closed
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

// refuses reports whether joining a group again would end in the same error.
func refuses(err error) bool {
	return slices.ContainsFunc([]error{
		kafka.InvalidSessionTimeout, kafka.GroupAuthorizationFailed, kafka.TopicAuthorizationFailed, kafka.InconsistentGroupProtocol,
		kafka.InvalidGroupId, kafka.SASLAuthenticationFailed, kafka.ClusterAuthorizationFailed,
	}, func(fatal error) bool { return errors.Is(err, fatal) })
}

// Stale reports whether a commit was refused because its generation is over.
func Stale(err error) bool {
	return errors.Is(err, kafka.IllegalGeneration) || errors.Is(err, kafka.UnknownMemberId) || errors.Is(err, kafka.RebalanceInProgress)
}

// Fenced reports whether a writer was ended by a later one of the same id.
func Fenced(err error) bool {
	return errors.Is(err, kafka.InvalidProducerEpoch) || errors.Is(err, kafka.ProducerFenced)
}
