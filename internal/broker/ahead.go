package broker

import (
	"context"
	"encoding/binary"
)

// A fetcher prefetches one answer behind the one whose records are being read.
type fetcher struct {
	client  *Client
	of      *tail
	offset  int64
	limit   int32
	answers chan answered // of what was asked for; nil: nothing
	cancel  context.CancelFunc
}

type answered struct {
	fetched

	err error
}

// ask begins to fetch from an offset on.
func (f *fetcher) ask(ctx context.Context, offset int64, limit int32) {
	f.drop()
	ctx, cancel := context.WithCancel(ctx)
	answers := make(chan answered, 1)
	f.offset, f.limit, f.answers, f.cancel = offset, limit, answers, cancel
	client, of := f.client, f.of.Range
	go func() {
		var a answered
		a.err = client.Retry(ctx, ofTopic(of.Topic, func(ctx context.Context) (err error) {
			a.fetched, err = client.fetch(ctx, of, offset, limit)
			return err
		}))
		answers <- a
	}()
}

// take returns the answer from an offset on, prefetched if that was asked for.
func (f *fetcher) take(ctx context.Context, offset int64, limit int32) (fetched, error) {
	if f.answers == nil || f.offset != offset || f.limit != limit {
		f.ask(ctx, offset, limit)
	}
	a := <-f.answers
	f.answers = nil
	f.cancel()
	return a.fetched, a.err
}

// drop ends what was asked for and not taken.
func (f *fetcher) drop() {
	if f.answers != nil {
		f.cancel()
		<-f.answers
		f.answers = nil
	}
}

// behindWhole is the offset behind the last whole batch by the lengths alone, −1 if there is none:
// a guess until the batches have been read.
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
