package config

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	ingestlog "github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
	"github.com/pacsgp/pacsgp/sink/kafkalog"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
	"github.com/pacsgp/pacsgp/sink/sign"
)

// A publisher publishes the result of a job on topics.
type publisher struct {
	*ArtifactTopics

	source   Origin
	required certify.Predictor // the claim that the pointer is about

	share *share // of the partitions in a shared group; nil if the group is not shared
}

// A share is the partitions that this member of a shared group has.
type share struct {
	partitions []int
	ended      int // generation in which transactions of earlier owners were ended
}

// config returns where to publish.
func (p *publisher) config(client *broker.Client) kafkalog.Config {
	cfg := kafkalog.Config{Client: client, Topics: p.Topics, Name: p.Name, Sign: p.sign}
	if p.share != nil {
		cfg.Share = p.share.partitions
	}
	return cfg
}

// Check returns an error, before hours of training, if topics are unsuitable or rows published.
func (p *publisher) Check(ctx context.Context) (err error) {
	client, err := p.Cluster.Client()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	_, err = p.follows(ctx, client, nil)
	return errors.Join(kafkalog.Check(ctx, client, p.Topics), err)
}

// follows returns an error if the rows are the window at the committed offsets of a group, and the
// group is no longer there, unless the window was published with this certificate.
func (p *publisher) follows(ctx context.Context, client *broker.Client, r *pipeline.Result) (kafkalog.GroupAt, error) {
	rows, ok := p.source.(*Topic)
	if !ok || p.group == "" || rows.Config.From.Time != ingestlog.Committed {
		return kafkalog.Nowhere, nil
	}
	var ids []string
	if r != nil {
		ids = append(ids, r.ID)
	}
	at, err := kafkalog.Follows(ctx, client, p.Topics, p.group, rows.Topic, rows.frozen.Firsts, rows.frozen.Ends, ids...)
	if err != nil {
		return at, fmt.Errorf("%w (hint: remove the spool %s, and the next run has the next window)", err, rows.Config.Folder)
	}
	return at, nil
}

// Publish sends the artifact of a job and moves its pointer.
func (p *publisher) Publish(ctx context.Context, r *pipeline.Result, _ error) error {
	return p.send(ctx, nil, r, []string{p.Name})
}

// A memberPublisher publishes the windows of a member of a group. It commits as that member.
type memberPublisher struct {
	*publisher

	member *broker.Membership
	failed func() // called after each failed attempt
}

// Publish sends the artifact of a window and moves pointers. It does so again in a new generation
// with the same partitions, or after another process has fenced its writer.
func (p *memberPublisher) Publish(ctx context.Context, r *pipeline.Result, points []string) error {
	return p.member.Work(ctx, func(ctx context.Context, as broker.Member) error {
		err := p.send(ctx, &as, r, points)
		if err != nil {
			p.failed()
		}
		return err
	})
}

// send sends an artifact, the pointers called points, and the end offsets of the rows with a note
// about them. A window without rows has no artifact: then r is nil, and only offsets are sent.
func (p *publisher) send(ctx context.Context, as *broker.Member, r *pipeline.Result, points []string) (err error) {
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
	at, err := p.follows(ctx, client, r)
	switch { // a member has committed offsets if and only if it has published the window
	case err != nil:
		return err
	case as != nil && at == kafkalog.AtEnd:
		return nil
	case as != nil && at == kafkalog.AtBegin:
		to.Fresh()
	}
	what := "no row"
	if r != nil {
		what = "certificate " + r.ID
		if err := to.Put(ctx, r.Model, r.Certificate); err != nil {
			return err
		}
	}
	for _, name := range points {
		if err := to.Point(ctx, name, r.Certificate, p.required); err != nil {
			return err
		}
	}
	if rows, ok := p.source.(*Topic); ok && p.group != "" {
		if err := to.CommitOffsets(ctx, as, p.group, rows.Topic, rows.frozen.Ends, what); err != nil {
			return err
		}
	}
	return to.Commit(ctx)
}

// ArtifactTopics are the topics to which artifacts are published.
type ArtifactTopics struct {
	Cluster Cluster
	Topics  kafkalog.Topics
	Name    string
	Require Require // of the job, where one is named
	group   string  // its offsets are committed with the artifact; "" means none
	sign    sign.KeyFile
}

// DefaultTopics returns the topics with default names on brokers, as in kafka-1:9092,kafka-2:9092.
func DefaultTopics(brokers string, warning func(string)) *ArtifactTopics {
	return &ArtifactTopics{
		Cluster: Cluster{Brokers: strings.Split(brokers, ","), Patience: yamlfile.Duration(20 * time.Second), Warning: warning},
		Topics:  kafkalog.TopicsOf(""),
	}
}

// Promote makes a published certificate the current one of a name, by its id or the beginning of it.
// It returns it, and the id of the one before.
func (s *ArtifactTopics) Promote(ctx context.Context, id, name string, required certify.Predictor) (c certify.Certificate, before string, err error) {
	if len(id) < 12 || strings.Trim(id, "0123456789abcdef") != "" {
		return c, "", Argument(fmt.Errorf("%s: want the id of a published certificate, or twelve digits or more of its beginning", id))
	}
	client, err := s.Cluster.Client()
	if err != nil {
		return c, "", err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	if id, err = kafkalog.Find(ctx, client, s.Topics, id); err != nil {
		return c, "", err
	}
	a, err := (&kafkalog.Pointers{Client: client, Topics: s.Topics, Name: name}).Artifact(ctx, pipeline.Current{ArtifactRef: pipeline.ArtifactRef{ID: id}})
	if err == nil {
		err = schedule.Promotable(ctx, a.Certificate, a.Model, id, required)
	}
	if err == nil {
		before, err = kafkalog.Promote(ctx, kafkalog.Config{Client: client, Topics: s.Topics, Name: name}, a.Certificate, id, required)
	}
	return a.Certificate, before, err
}

// Pull writes the artifact of a name or id into a directory, and returns the paths of its files.
// The artifact of a name becomes current there.
func (s *ArtifactTopics) Pull(ctx context.Context, fsys durable.FS, name, output string) (paths []string, err error) {
	client, err := s.Cluster.Client()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	at := pipeline.Current{ArtifactRef: pipeline.ArtifactRef{ID: name}}
	if !digest.Is(name) {
		if at, err = (&kafkalog.Pointers{Client: client, Topics: s.Topics, Name: name}).Current(ctx); err != nil {
			return nil, err
		}
	}
	a, err := kafkalog.Pull(ctx, client, s.Topics, at.ID)
	if err != nil {
		return nil, err
	}
	if paths, err = sinklake.PutFiles(ctx, fsys, output, a); err != nil || digest.Is(name) {
		return paths, err
	}
	c, err := certify.Parse(a.Document)
	if err != nil {
		return nil, err
	}
	out := OutputIn(output, fsys)
	release, err := out.Hold()
	if err != nil {
		return nil, err
	}
	at.Model = c.Model.Digest
	err = pipeline.PointTo(out, c, at.ArtifactRef, at.Predictor, time.Now())
	return append(paths, filepath.Join(output, CurrentFile)), errors.Join(err, release())
}

// A topicsConfig declares a name and the topics under which artifacts are published.
type topicsConfig struct {
	Name   string `yaml:"name"`
	Topics string `yaml:"topics"` // beginning of their names; empty means pacsgp
}
