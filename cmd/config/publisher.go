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

// A publisher publishes on topics what a job makes of rows.
type publisher struct {
	*Shelf

	source Origin
	about  certify.Predictor // whose guarantee the pointer tells

	// member is the place in the group of a stream, which commits as its member, and points to
	// nothing but what the job asks for; nil: the group has no members.
	member *broker.Membership
	share  *share // of the partitions, where members share them; nil: one has them all
	failed func() // is told of each attempt of a member that failed
}

// A share is the part of a topic that this member of a shared group has.
type share struct {
	partitions []int
	ended      int // the generation in which it has ended what earlier owners have left open
}

// Check demands topics that can be published to, and rows that nobody else has published,
// before hours of training.
func (p *publisher) Check(ctx context.Context) (err error) {
	client, err := p.Cluster.Client()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	_, err = p.follows(ctx, client, nil)
	return errors.Join(kafkalog.Check(ctx, client, p.Topics), err)
}

// follows demands that a window from where its group stands still begins there, or was
// published as these certificates.
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

// Publish sends what a job has published to its output. A member of a group sends it again
// when the group has come to another generation, or another process has ended its writer,
// as long as it has the partitions.
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

// send sends all artifacts, then the pointer to the best, then how far the topic of the
// rows was read; of a window without rows only that.
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
			if err := to.Point(ctx, c, c.About(p.about)); err != nil { // what readers can believe
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
