package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	ingestlog "github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/kafkalog"
)

// A publishConfig declares where artifacts go beside the output directory.
type publishConfig struct {
	Kafka topicsConfig `yaml:"kafka"`
}

// A topicsConfig declares the topics of artifacts.
type topicsConfig struct {
	Brokers     brokerList `yaml:"brokers"`
	TLS         tlsConfig  `yaml:"tls"`
	SASL        saslConfig `yaml:"sasl"`
	Patience    span       `yaml:"patience"`
	Name        string     `yaml:"name"`
	Topics      topicNames `yaml:"topics"`
	ExactlyOnce bool       `yaml:"exactly_once"`

	told func(string)
}

type topicNames struct {
	Certificates string `yaml:"certificates"`
	Models       string `yaml:"models"`
	Current      string `yaml:"current"`
}

// A shelf is where artifacts are published on topics.
type shelf struct {
	cluster     clusterConfig
	topics      kafkalog.Topics
	name        string
	exactlyOnce bool
	group       string // whose offsets are committed with the artifact; "": none

	// members is the place in the group of a service, which commits as its member, and
	// points to nothing but what the job asks for; nil: the group has no members.
	members *broker.Membership
	share   *share // of the partitions, where its members share them; nil: the group has no members, or one works
	failed  func() // is told of each attempt to publish that failed; nil: nobody is
}

// A share is the part of a topic that this member of a shared group has.
type share struct {
	partitions []int
	ended      int // the generation in which it has ended what earlier owners have left open
}

// ofMember is the shelf for a member of a group, with its share of the partitions, or nil for
// all of them. failed is told of each attempt to publish that failed.
func (s *shelf) ofMember(m *broker.Membership, of *share, failed func()) *shelf {
	own := *s
	own.members, own.share, own.failed = m, of, failed
	return &own
}

// shelf is what the section declares, nil if nothing. Without brokers it is on the
// cluster that the rows come from.
func (c configuration) shelf(fault func(ok bool, format string, args ...any)) *shelf {
	const key = "publish.kafka"
	k, group := c.Publish.Kafka, c.Source.Kafka.Group
	if c.Source.scheduled {
		group = "" // there is to be none
	}
	if reflect.ValueOf(k).IsZero() {
		fault(group == "", "source.kafka.group: its offsets are committed with what is published, so declare publish.kafka")
		return nil
	}
	s := &shelf{
		cluster: clusterConfig{Brokers: k.Brokers, TLS: k.TLS, SASL: k.SASL, Patience: k.Patience, told: k.told},
		topics:  kafkalog.Topics(k.Topics), name: k.Name, exactlyOnce: k.ExactlyOnce, group: group,
	}
	if len(k.Brokers) == 0 && c.Source.Kafka.declared() {
		fault(k.TLS == (tlsConfig{}) && k.SASL == (saslConfig{}), "%s: tls and sasl are given without brokers; those of source.kafka have their own", key)
		fault(k.Patience == 0, "%s.patience: it is given without brokers, and has no effect then; source.kafka.patience is that of its brokers", key)
		s.cluster = c.Source.Kafka.cluster()
	} else {
		s.cluster.check(key, fault)
		fault(s.group == "", "source.kafka.group: its offsets can only be committed on its own cluster; leave the brokers of %s out", key)
	}
	fault(!strings.HasPrefix(k.Name, "score/") && !strings.HasPrefix(k.Name, "sequence/") && !partitionName.MatchString(k.Name),
		"%s.name: names that begin with score/ or sequence/, or end in a slash and a number, are used for other things", key)
	fault(k.Name != "" && !strings.ContainsAny(k.Name, "\n\r") && len(k.Name) <= 200 && !isID(k.Name), "%s.name: name the model, under which consumers find the current one", key)
	return s
}

// partitionName is how the pointers of a shared group end.
var partitionName = regexp.MustCompile(`/[0-9]+$`)

// tell sets who hears why brokers cannot be reached.
func (c *configuration) tell(told func(string)) {
	if c.Source.Kafka.declared() {
		c.Source.Kafka.told = told
	}
	if !reflect.ValueOf(c.Publish.Kafka).IsZero() {
		c.Publish.Kafka.told = told
	}
}

// isID reports whether a text looks like the id of a certificate.
func isID(text string) bool { return len(text) == 64 && strings.Trim(text, "0123456789abcdef") == "" }

// check demands topics that can be published to, and rows that nobody else has published,
// before hours of training.
func (s *shelf) check(ctx context.Context, source origin) (err error) {
	client, err := s.cluster.client()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	_, err = s.follows(ctx, client, source, nil)
	return errors.Join(kafkalog.Check(ctx, client, s.topics), err)
}

// follows demands that a window from where its group stands still begins there, or was
// published as these certificates.
func (s *shelf) follows(ctx context.Context, client *broker.Client, source origin, all []*pipeline.Result) (kafkalog.Stand, error) {
	rows, ok := source.(*kafkaOrigin)
	if !ok || s.group == "" || rows.config.From.Time != ingestlog.Committed {
		return kafkalog.Nowhere, nil
	}
	var ids []string
	for _, r := range all {
		ids = append(ids, r.ID)
	}
	stand, err := kafkalog.Follows(ctx, client, s.topics, s.group, rows.Topic, rows.window.Firsts, rows.window.Ends, ids...)
	if err != nil {
		return stand, fmt.Errorf("%w (hint: remove the spool %s, and the next run has the next window)", err, rows.config.Folder)
	}
	return stand, nil
}

// A publication is what a run publishes on topics.
type publication struct {
	source  origin             // of the rows
	results []*pipeline.Result // none: of a window without rows
	best    *pipeline.Result   // that the pointer may go to; nil: there is none
	points  bool               // even where the group has members the pointer goes there
	about   certify.Predictor  // whose guarantee the pointer tells
}

// publish sends what a job has published to its output. A member of a group sends it again
// when the group has come to another generation, or another process has ended its writer,
// as long as it has the partitions.
func (s *shelf) publish(ctx context.Context, p publication) error {
	if s.members == nil {
		return s.send(ctx, nil, p)
	}
	for {
		as, err := s.members.Now(ctx)
		if err != nil {
			return err
		}
		if err = s.send(ctx, &as, p); err != nil && s.failed != nil {
			s.failed()
		}
		switch {
		case broker.Stale(err):
			if err := s.members.Over(ctx, as.Generation); err != nil {
				return err
			}
		case broker.Fenced(err):
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Second): // for two that end each other
			}
		default:
			return err
		}
	}
}

// send sends all artifacts, then the pointer to the best, then how far the topic of the
// rows was read; of a window without rows only that.
func (s *shelf) send(ctx context.Context, as *broker.Member, p publication) (err error) {
	client, err := s.cluster.client()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	cfg := kafkalog.Config{Client: client, Topics: s.topics, Name: s.name, ExactlyOnce: s.exactlyOnce}
	if rows, ok := p.source.(*kafkaOrigin); ok && rows.window != nil {
		cfg.Rows = rows.window.Identity
	}
	if s.share != nil {
		cfg.Share = s.share.partitions
		if s.share.ended != as.Generation {
			if err := kafkalog.EndOthers(ctx, cfg); err != nil {
				return err
			}
			s.share.ended = as.Generation
		}
	}
	to, err := kafkalog.Begin(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil { // what is open is a wall for who reads behind it
			err = errors.Join(err, to.Abort(ctx))
		}
	}()
	stand, err := s.follows(ctx, client, p.source, p.results)
	if err != nil {
		return err
	}
	switch { // of a member, which commits offsets with or behind what it sends
	case as != nil && stand == kafkalog.AtEnd:
		return nil
	case as != nil && stand == kafkalog.AtBegin && s.exactlyOnce:
		to.Fresh()
	}
	for _, r := range p.results {
		if _, err := to.PutModel(ctx, r.Model); err != nil {
			return err
		}
		if _, err := to.PutCertificate(ctx, r.Certificate); err != nil {
			return err
		}
	}
	what := "no row"
	if p.best != nil {
		what = "certificate " + p.best.ID
		if as == nil || p.points {
			c := p.best.Certificate
			if err := to.Point(ctx, c, c.About(p.about)); err != nil { // what readers can believe
				return err
			}
		}
	}
	if rows, ok := p.source.(*kafkaOrigin); ok && s.group != "" {
		if err := to.CommitOffsets(ctx, as, s.group, rows.Topic, rows.window.Ends, what); err != nil {
			return err
		}
	}
	return to.Commit(ctx)
}

// makeTopics makes the topics that a job sends to.
func (p task) makeTopics(ctx context.Context, partitions, replicas int, told func(topic string, made bool)) (err error) {
	from, _ := p.source.(*kafkaOrigin)
	letters := from != nil && from.letters != ""
	if p.shelf == nil && !letters {
		return fmt.Errorf("%w: publish.kafka: the job publishes to no topic", pipeline.ErrConfig)
	}
	if p.shelf != nil {
		client, err := p.shelf.cluster.client()
		if err != nil {
			return err
		}
		if err := errors.Join(kafkalog.Create(ctx, client, p.shelf.topics, partitions, replicas, told), client.Close()); err != nil {
			return err
		}
	}
	if !letters {
		return nil
	}
	client, err := from.cluster().client()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	made, err := client.CreateTopic(ctx, from.letters, partitions, replicas, nil)
	if err == nil {
		told(from.letters, made)
	}
	return err
}

// onTopics reads the artifact that a reference such as kafka:kafka-1:9092/NAME means, on
// topics of the usual names; false: it is no such reference.
func onTopics(ctx context.Context, reference string) (a kafkalog.Artifact, ok bool, err error) {
	rest, ok := strings.CutPrefix(reference, "kafka:")
	brokers, name, named := strings.Cut(rest, "/")
	if !ok || !named || name == "" {
		return a, false, nil
	}
	client, err := clusterConfig{Brokers: strings.Split(brokers, ","), Patience: span(20 * time.Second)}.client()
	if err != nil {
		return a, true, argumentError{err}
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	a, err = kafkalog.Pull(ctx, client, kafkalog.Topics{}, name)
	return a, true, err
}
