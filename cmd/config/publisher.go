package config

import (
	"context"
	"errors"
	"fmt"

	ingestlog "github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/stream"
	"github.com/pacsgp/pacsgp/sink/kafkalog"
)

// A publisher publishes the results of a job on topics.
type publisher struct {
	*Shelf

	source Origin
	judge  pipeline.Judge // of the guarantee in the pointer

	share *share // of the partitions in a shared group, or nil
}

// A share is the part of a topic that this member of a shared group has.
type share struct {
	partitions []int
	ended      int // generation in which it ended the transactions of earlier owners
}

// config says where it publishes.
func (p *publisher) config(client *broker.Client) kafkalog.Config {
	cfg := kafkalog.Config{Client: client, Topics: p.Topics, Name: p.Name, Sign: p.sign}
	if p.share != nil {
		cfg.Share = p.share.partitions
	}
	return cfg
}

// Check demands, before hours of training, topics that take artifacts, and unpublished rows.
func (p *publisher) Check(ctx context.Context) (err error) {
	client, err := p.Cluster.Client()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	_, err = p.follows(ctx, client, nil)
	return errors.Join(kafkalog.Check(ctx, client, p.Topics), err)
}

// follows demands that a window from the committed offsets of its group still begins there, or
// was published as these certificates.
func (p *publisher) follows(ctx context.Context, client *broker.Client, all []*pipeline.Result) (kafkalog.GroupAt, error) {
	rows, ok := p.source.(*Topic)
	if !ok || p.group == "" || rows.Config.From.Time != ingestlog.Committed {
		return kafkalog.Nowhere, nil
	}
	var ids []string
	for _, r := range all {
		ids = append(ids, r.ID)
	}
	at, err := kafkalog.Follows(ctx, client, p.Topics, p.group, rows.Topic, rows.frozen.Firsts, rows.frozen.Ends, ids...)
	if err != nil {
		return at, fmt.Errorf("%w (hint: remove the spool %s, and the next run has the next window)", err, rows.Config.Folder)
	}
	return at, nil
}

// Publish sends the artifacts of a job's output, and points to the best.
func (p *publisher) Publish(ctx context.Context, all []*pipeline.Result, best *pipeline.Result, _ error) error {
	return p.send(ctx, nil, all, "certificate "+best.ID, func(to *kafkalog.Publication) error {
		return to.Point(ctx, p.Name, best.Certificate, p.judge)
	})
}

// A memberPublisher publishes the windows of a member of a group: it commits as a member.
type memberPublisher struct {
	*publisher

	member *broker.Membership
	failed func() // called for each failed attempt
}

// Publish sends the artifacts of a window, what rows have said, and pointers. It does so again
// in another generation with the same partitions, or when another process has ended its writer.
func (p *memberPublisher) Publish(ctx context.Context, all []*pipeline.Result, turns []stream.Turn) error {
	what := "no row"
	switch {
	case len(all) == 0 && len(turns) > 0:
		what = "no certificate"
	case len(all) > 0:
		what = "certificate " + all[0].ID
	}
	return p.member.Work(ctx, func(ctx context.Context, as broker.Member) error {
		err := p.send(ctx, &as, all, what, func(to *kafkalog.Publication) error {
			for _, t := range turns {
				// Not behind the pointer: rows that have chosen a model must not test it.
				if err := to.Tested(ctx, t.Name, t.Next); err != nil {
					return err
				}
				if c := t.Points; c != nil {
					if err := to.Point(ctx, t.Name, *c, p.judge); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			p.failed()
		}
		return err
	})
}

// send sends all artifacts, then what point sends, then the offsets of the rows with a word about
// them; of a window without rows the offsets alone.
func (p *publisher) send(ctx context.Context, as *broker.Member, all []*pipeline.Result, what string, point func(to *kafkalog.Publication) error) (err error) {
	client, err := p.Cluster.Client()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	cfg := p.config(client)
	if rows, ok := p.source.(*Topic); ok && rows.frozen != nil {
		cfg.Rows = rows.frozen.Identity
	}
	if p.share != nil && p.share.ended != as.Generation {
		if err := kafkalog.EndOthers(ctx, cfg); err != nil {
			return err
		}
		p.share.ended = as.Generation
	}
	to, err := kafkalog.Begin(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil { // an open transaction blocks read-committed consumers
			err = errors.Join(err, to.Abort(ctx))
		}
	}()
	at, err := p.follows(ctx, client, all)
	switch { // of a member, which commits offsets with or behind what it sends
	case err != nil:
		return err
	case as != nil && at == kafkalog.AtEnd:
		return nil
	case as != nil && at == kafkalog.AtBegin:
		to.Fresh()
	}
	for _, r := range all {
		if _, err := to.PutModel(ctx, r.Model); err != nil {
			return err
		}
		if _, err := to.PutCertificate(ctx, r.Certificate); err != nil {
			return err
		}
	}
	if err := point(to); err != nil {
		return err
	}
	if rows, ok := p.source.(*Topic); ok && p.group != "" {
		if err := to.CommitOffsets(ctx, as, p.group, rows.Topic, rows.frozen.Ends, what); err != nil {
			return err
		}
	}
	return to.Commit(ctx)
}
