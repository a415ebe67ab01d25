package broker

import (
	"context"
	"encoding/binary"

	"github.com/segmentio/kafka-go"
)

// A fetcher asks for the answer behind the one whose records are being read, so that the
// broker, the network and who uses the records work at the same time. It holds one answer.
type fetcher struct {
	client  *Client
	of      *tail
	offset  int64
	limit   int32
	answers chan fetched // of what was asked for; nil: nothing
	cancel  context.CancelFunc
}

type fetched struct {
	Fetched

	err error
}

func (c *Client) ahead(t *tail) *fetcher { return &fetcher{client: c, of: t} }

// ask begins to fetch from an offset on.
func (f *fetcher) ask(ctx context.Context, offset int64, limit int32) {
	f.drop()
	ctx, cancel := context.WithCancel(ctx)
	answers := make(chan fetched, 1)
	f.offset, f.limit, f.answers, f.cancel = offset, limit, answers, cancel
	client, topic, partition, isolation := f.client, f.of.Topic, f.of.Partition, kafka.ReadCommitted
	if f.of.Undecided {
		isolation = kafka.ReadUncommitted
	}
	go func() {
		var a fetched
		a.err = client.Retry(ctx, ofTopic(topic, func(ctx context.Context) (err error) {
			a.Fetched, err = client.fetch(ctx, isolation, topic, partition, offset, limit)
			return err
		}))
		answers <- a
	}()
}

// take returns the answer from an offset on: the one that was asked for, if it is of that
// offset and limit.
func (f *fetcher) take(ctx context.Context, offset int64, limit int32) (Fetched, error) {
	if f.answers == nil || f.offset != offset || f.limit != limit {
		f.ask(ctx, offset, limit)
	}
	a := <-f.answers
	f.answers = nil
	f.cancel()
	return a.Fetched, a.err
}

// drop ends what was asked for and not taken.
func (f *fetcher) drop() {
	if f.answers != nil {
		f.cancel()
		<-f.answers
		f.answers = nil
	}
}

// behindWhole is the offset behind the last batch that is whole, −1 if none is. It looks
// at lengths only: what it says is a guess until the batches have been read.
func behindWhole(data []byte) (next int64) {
	next = -1
	for len(data) >= headerBytes {
		size := int64(int32(binary.BigEndian.Uint32(data[8:]))) + 12
		if size < headerBytes || size > int64(len(data)) {
			break
		}
		first := int64(binary.BigEndian.Uint64(data))
		next = first + int64(binary.BigEndian.Uint32(data[23:])) + 1
		data = data[size:]
	}
	return next
}
