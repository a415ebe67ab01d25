package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pacsgp/pacsgp/internal/broker"
)

// DeadLetters is a topic for the records of a window that are not rows.
type DeadLetters struct {
	Client *broker.Client
	Topic  string
	ID     string        // of the window, among the windows of all jobs
	Source string        // topic of the window's rows
	Ends   map[int]int64 // offsets at which the window ends there, by partition
}

// deadLettersBytes bounds the dead letters that wait to be sent.
const deadLettersBytes = 256 << 10

// Put sends the dead letters that each yields, with the partition that they were in, in one transaction.
// The same transaction commits Ends as offsets of a group named after the window, as a mark that they
// are sent. So read-committed consumers see dead letters once, however often the job is killed and run
// again, until the cluster forgets the offsets of groups without members
// (offsets.retention.minutes, a week by default). Put keeps the records until they are sent.
func (d DeadLetters) Put(ctx context.Context, each func(func(partition int, r broker.Record) error) error) (err error) {
	p := post{DeadLetters: d}
	defer func() {
		if err != nil && p.writer != nil {
			err = errors.Join(err, abort(ctx, p.writer))
		}
	}()
	if err := each(func(partition int, r broker.Record) error { return p.add(ctx, partition, r) }); err != nil {
		if errors.Is(err, errSent) {
			return nil
		}
		return err
	}
	if p.writer == nil {
		return nil // there was no letter
	}
	if err := p.flush(ctx); err != nil {
		return err
	}
	if err := p.writer.CommitOffsets(ctx, p.group(), d.Source, d.Ends, "dead letters"); err != nil {
		return err
	}
	return p.writer.Commit(ctx)
}

var errSent = errors.New("they were sent before")

// A post sends dead letters in batches.
type post struct {
	DeadLetters

	writer    *broker.Writer
	to        outlet
	partition int // of the source, of the waiting dead letters
	waiting   []broker.Record
	bytes     int // of the waiting dead letters
}

func (p *post) group() string { return "pacsgp-dead-letters-" + p.ID }

// begin aborts the open transaction of an earlier process. It returns errSent if one has sent the
// dead letters.
func (p *post) begin(ctx context.Context) error {
	var err error
	if p.to, err = openOutlet(ctx, p.Client, p.Topic); err != nil {
		return err
	}
	if p.writer, err = p.Client.NewWriter(ctx, p.group()); err != nil {
		return err
	}
	found, err := p.Client.CommittedOffsets(ctx, p.group(), p.Source, slices.Sorted(maps.Keys(p.Ends)))
	if err == nil && maps.Equal(found, p.Ends) {
		err = errSent
	}
	return err
}

// add adds a letter to the waiting ones.
func (p *post) add(ctx context.Context, partition int, r broker.Record) error {
	if p.writer == nil {
		if err := p.begin(ctx); err != nil {
			return err
		}
	}
	size := room(r)
	if partition != p.partition || p.bytes+size > deadLettersBytes {
		if err := p.flush(ctx); err != nil {
			return err
		}
	}
	p.partition, p.bytes = partition, p.bytes+size
	p.waiting = append(p.waiting, r)
	return nil
}

// flush sends the waiting dead letters.
func (p *post) flush(ctx context.Context) error {
	if len(p.waiting) == 0 {
		return nil
	}
	pieces, err := p.to.packed(p.waiting, deadLettersBytes, func(i int) broker.Record { return p.to.withoutRecord(p.waiting[i]) })
	if err == nil {
		err = send(ctx, p.writer, parcel{p.to.name, p.to.at(p.partition), pieces})
	}
	if err != nil {
		return fmt.Errorf("dead letters: %w", err)
	}
	p.waiting, p.bytes = p.waiting[:0], 0
	return nil
}
