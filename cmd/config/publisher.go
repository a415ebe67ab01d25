package config

import (
	"context"
	"errors"
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
	ingestlog "github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/kafkalog"
)

// A publisher publishes the results of a job on topics.
type publisher struct {
	*Shelf

	source Origin
	about  certify.Predictor // of the guarantee in the pointer

	// member is the place of a stream in its group: it commits as a member, and points only to
	// certificates that the job asks for. nil: the group has no members.
	member *broker.Membership
	share  *share // of the partitions in a shared group, or nil
	failed func() // called for each failed attempt of a member
}

// A share is the part of a topic that this member of a shared group has.
type share struct {
	partitions []int
	ended      int // generation in which it ended the transactions of earlier owners
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

// Publish sends the artifacts of a job's output. A member of a group with the same partitions
// sends them again in another generation, or when another process has ended its writer.
func (p *publisher) Publish(ctx context.Context, all []*pipeline.Result, best *pipeline.Result, verdict error) error {
	if p.member == nil {
		return p.send(ctx, nil, all, best, true)
	}
	return p.member.Work(ctx, func(ctx context.Context, as broker.Member) error {
		err := p.send(ctx, &as, all, best, verdict == nil)
		if err != nil {
			p.failed()
		}
		return err
	})
}

// send sends all artifacts, then the pointer to the best, then the offsets of the rows; of a
// window without rows the offsets alone.
func (p *publisher) send(ctx context.Context, as *broker.Member, all []*pipeline.Result, best *pipeline.Result, points bool) (err error) {
	client, err := p.Cluster.Client()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	cfg := kafkalog.Config{Client: client, Topics: p.Topics, Name: p.Name, ExactlyOnce: p.exactlyOnce}
	if rows, ok := p.source.(*Topic); ok && rows.frozen != nil {
		cfg.Rows = rows.frozen.Identity
	}
	if p.share != nil {
		cfg.Share = p.share.partitions
		if p.share.ended != as.Generation {
			if err := kafkalog.EndOthers(ctx, cfg); err != nil {
				return err
			}
			p.share.ended = as.Generation
		}
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
	case as != nil && at == kafkalog.AtBegin && p.exactlyOnce:
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
	what := "no row"
	if best != nil {
		what = "certificate " + best.ID
		if points {
			c := best.Certificate
			if err := to.Point(ctx, c, c.About(p.about)); err != nil { // without the maker's word
				return err
			}
		}
	}
	if rows, ok := p.source.(*Topic); ok && p.group != "" {
		if err := to.CommitOffsets(ctx, as, p.group, rows.Topic, rows.frozen.Ends, what); err != nil {
			return err
		}
	}
	return to.Commit(ctx)
}
