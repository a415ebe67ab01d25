package config

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
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/kafkalog"
)

// A publishConfig declares where artifacts go beside the output directory.
type publishConfig struct {
	Kafka topicsConfig `yaml:"kafka"`
}

// A topicsConfig declares the topics of artifacts.
type topicsConfig struct {
	Brokers     brokerList        `yaml:"brokers"`
	TLS         tlsConfig         `yaml:"tls"`
	SASL        saslConfig        `yaml:"sasl"`
	Patience    yamlfile.Duration `yaml:"patience"`
	Name        string            `yaml:"name"`
	Topics      topicNames        `yaml:"topics"`
	ExactlyOnce bool              `yaml:"exactly_once"`

	told func(string)
}

type topicNames struct {
	Certificates string `yaml:"certificates"`
	Models       string `yaml:"models"`
	Current      string `yaml:"current"`
}

// A Shelf is where artifacts are published on topics.
type Shelf struct {
	Cluster     Cluster
	Topics      kafkalog.Topics
	Name        string
	exactlyOnce bool
	group       string // whose offsets are committed with the artifact; "": none

	// members is the place in the group of a service, which commits as its member, and
	// points to nothing but what the job asks for; nil: the group has no members.
	members *broker.Membership
	share   *Share // of the partitions, where its members share them; nil: the group has no members, or one works
	failed  func() // is told of each attempt to publish that failed; nil: nobody is
}

// A Share is the part of a topic that this member of a shared group has.
type Share struct {
	Partitions []int
	ended      int // the generation in which it has ended what earlier owners have left open
}

// OfMember is the shelf for a member of a group, with its share of the partitions, or nil for
// all of them. failed is told of each attempt to publish that failed.
func (s *Shelf) OfMember(m *broker.Membership, of *Share, failed func()) *Shelf {
	own := *s
	own.members, own.share, own.failed = m, of, failed
	return &own
}

// shelf is what the section declares, nil if nothing. Without brokers it is on the
// cluster that the rows come from.
func (c JobFile) shelf(faults *yamlfile.Faults) *Shelf {
	const key = "publish.kafka"
	k, group := c.Publish.Kafka, c.Source.Kafka.Group
	if c.Source.scheduled {
		group = "" // there is to be none
	}
	if reflect.ValueOf(k).IsZero() {
		faults.Unless(group == "", "source.kafka.group", "its offsets are committed with what is published, so declare publish.kafka")
		return nil
	}
	s := &Shelf{
		Cluster: Cluster{Brokers: k.Brokers, TLS: k.TLS, SASL: k.SASL, Patience: k.Patience, Told: k.told},
		Topics:  kafkalog.Topics(k.Topics), Name: k.Name, exactlyOnce: k.ExactlyOnce, group: group,
	}
	if len(k.Brokers) == 0 && c.Source.Kafka.declared() {
		faults.Unless(k.TLS == (tlsConfig{}) && k.SASL == (saslConfig{}), key, "tls and sasl are given without brokers; those of source.kafka have their own")
		faults.Unless(k.Patience == 0, key+".patience", "it is given without brokers, and has no effect then; source.kafka.patience is that of its brokers")
		s.Cluster = c.Source.Kafka.Cluster()
	} else {
		s.Cluster.check(key, faults)
		faults.Unless(s.group == "", "source.kafka.group", "its offsets can only be committed on its own cluster; leave the brokers of "+key+" out")
	}
	faults.Unless(!strings.HasPrefix(k.Name, "score/") && !strings.HasPrefix(k.Name, "sequence/") && !partitionName.MatchString(k.Name), key+".name", "names that begin with score/ or sequence/, or end in a slash and a number, are used for other things")
	faults.Unless(k.Name != "" && !strings.ContainsAny(k.Name, "\n\r") && len(k.Name) <= 200 && !IsID(k.Name), key+".name", "name the model, under which consumers find the current one")
	return s
}

// Publisher is where the job publishes beside its output; nil: nowhere.
func (p Task) Publisher() pipeline.Publisher {
	if p.Shelf == nil {
		return nil
	}
	return onTopics{p}
}

// onTopics publishes a job on the topics of its shelf.
type onTopics struct{ Task }

// Check asks whether it can.
func (o onTopics) Check(ctx context.Context) error { return o.Shelf.Check(ctx, o.Source) }

// Publish publishes.
func (o onTopics) Publish(ctx context.Context, all []*pipeline.Result, best *pipeline.Result, verdict error) error {
	return o.Shelf.Publish(ctx, Publication{Source: o.Source, Results: all, Best: best, Points: verdict == nil, About: o.Judge.Predictor()})
}

// partitionName is how the pointers of a shared group end.
var partitionName = regexp.MustCompile(`/[0-9]+$`)

// tell sets who hears why brokers cannot be reached.
func (c *JobFile) tell(told func(string)) {
	if c.Source.Kafka.declared() {
		c.Source.Kafka.told = told
	}
	if !reflect.ValueOf(c.Publish.Kafka).IsZero() {
		c.Publish.Kafka.told = told
	}
}

// IsID reports whether a text looks like the id of a certificate.
func IsID(text string) bool { return len(text) == 64 && strings.Trim(text, "0123456789abcdef") == "" }

// Check demands topics that can be published to, and rows that nobody else has published,
// before hours of training.
func (s *Shelf) Check(ctx context.Context, source Origin) (err error) {
	client, err := s.Cluster.Client()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	_, err = s.follows(ctx, client, source, nil)
	return errors.Join(kafkalog.Check(ctx, client, s.Topics), err)
}

// follows demands that a window from where its group stands still begins there, or was
// published as these certificates.
func (s *Shelf) follows(ctx context.Context, client *broker.Client, source Origin, all []*pipeline.Result) (kafkalog.Stand, error) {
	rows, ok := source.(*Topic)
	if !ok || s.group == "" || rows.Config.From.Time != ingestlog.Committed {
		return kafkalog.Nowhere, nil
	}
	var ids []string
	for _, r := range all {
		ids = append(ids, r.ID)
	}
	stand, err := kafkalog.Follows(ctx, client, s.Topics, s.group, rows.Topic, rows.window.Firsts, rows.window.Ends, ids...)
	if err != nil {
		return stand, fmt.Errorf("%w (hint: remove the spool %s, and the next run has the next window)", err, rows.Config.Folder)
	}
	return stand, nil
}

// A Publication is what a run publishes on topics.
type Publication struct {
	Source  Origin             // of the rows
	Results []*pipeline.Result // none: of a window without rows
	Best    *pipeline.Result   // that the pointer may go to; nil: there is none
	Points  bool               // even where the group has members the pointer goes there
	About   certify.Predictor  // whose guarantee the pointer tells
}

// Publish sends what a job has published to its output. A member of a group sends it again
// when the group has come to another generation, or another process has ended its writer,
// as long as it has the partitions.
func (s *Shelf) Publish(ctx context.Context, p Publication) error {
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
func (s *Shelf) send(ctx context.Context, as *broker.Member, p Publication) (err error) {
	client, err := s.Cluster.Client()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	cfg := kafkalog.Config{Client: client, Topics: s.Topics, Name: s.Name, ExactlyOnce: s.exactlyOnce}
	if rows, ok := p.Source.(*Topic); ok && rows.window != nil {
		cfg.Rows = rows.window.Identity
	}
	if s.share != nil {
		cfg.Share = s.share.Partitions
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
	stand, err := s.follows(ctx, client, p.Source, p.Results)
	switch { // of a member, which commits offsets with or behind what it sends
	case err != nil:
		return err
	case as != nil && stand == kafkalog.AtEnd:
		return nil
	case as != nil && stand == kafkalog.AtBegin && s.exactlyOnce:
		to.Fresh()
	}
	for _, r := range p.Results {
		if _, err := to.PutModel(ctx, r.Model); err != nil {
			return err
		}
		if _, err := to.PutCertificate(ctx, r.Certificate); err != nil {
			return err
		}
	}
	what := "no row"
	if p.Best != nil {
		what = "certificate " + p.Best.ID
		if as == nil || p.Points {
			c := p.Best.Certificate
			if err := to.Point(ctx, c, c.About(p.About)); err != nil { // what readers can believe
				return err
			}
		}
	}
	if rows, ok := p.Source.(*Topic); ok && s.group != "" {
		if err := to.CommitOffsets(ctx, as, s.group, rows.Topic, rows.window.Ends, what); err != nil {
			return err
		}
	}
	return to.Commit(ctx)
}

// MakeTopics makes the topics that a job sends to.
func (p Task) MakeTopics(ctx context.Context, partitions, replicas int, told func(topic string, made bool)) (err error) {
	from, _ := p.Source.(*Topic)
	letters := from != nil && from.Letters != ""
	if p.Shelf == nil && !letters {
		return fmt.Errorf("%w: publish.kafka: the job publishes to no topic", pipeline.ErrConfig)
	}
	if p.Shelf != nil {
		client, err := p.Shelf.Cluster.Client()
		if err != nil {
			return err
		}
		if err := errors.Join(kafkalog.Create(ctx, client, p.Shelf.Topics, partitions, replicas, told), client.Close()); err != nil {
			return err
		}
	}
	if !letters {
		return nil
	}
	client, err := from.Cluster().Client()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	made, err := client.CreateTopic(ctx, from.Letters, partitions, replicas, nil)
	if err == nil {
		told(from.Letters, made)
	}
	return err
}

// OnTopics reads the artifact that a reference such as kafka:kafka-1:9092/NAME means, on
// topics of the usual names; false: it is no such reference.
func OnTopics(ctx context.Context, reference string) (a kafkalog.Artifact, ok bool, err error) {
	rest, ok := strings.CutPrefix(reference, "kafka:")
	brokers, name, named := strings.Cut(rest, "/")
	if !ok || !named || name == "" {
		return a, false, nil
	}
	client, err := Cluster{Brokers: strings.Split(brokers, ","), Patience: yamlfile.Duration(20 * time.Second)}.Client()
	if err != nil {
		return a, true, ArgumentError{err}
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	a, err = kafkalog.Pull(ctx, client, kafkalog.Topics{}, name)
	return a, true, err
}
