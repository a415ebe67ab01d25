package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	ingestlog "github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/stream"
	sinklog "github.com/pacsgp/pacsgp/sink/kafkalog"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// ServicePatience is the default time for which a service waits for absent brokers.
const ServicePatience = 24 * time.Hour

// A Member is a process that streams a job as a member of its group.
type Member struct {
	Task
	Service

	Topic *Topic // the topic of the rows
	Quota *ingestlog.Quota
	// Waits is called with the reason when rows cannot be read for a while, and with nil when they can be read again.
	Waits func(err error)
	// Failed is called after each failed attempt to publish.
	Failed func()

	client  *broker.Client // of rows and artifacts
	folders *sinklake.Windows
}

// Member prepares the task to stream. It returns an error for a job that cannot stream.
func (p Task) Member() (*Member, error) {
	var faults yamlfile.Faults
	p.checkStream(&faults)
	_, err := p.Sign.Read() // fails before the first window
	if err = cmp.Or(faults.Err(job.ErrConfig), err); err != nil {
		return nil, err
	}
	p.Job.Repeated = true
	p.Job.Train.WarmStart = p.Job.Train.Method == job.MethodFreeForm
	from, _ := p.Source.(*Topic)
	for _, patience := range []*yamlfile.Duration{&from.Cluster.Patience, &p.PublishTo.Cluster.Patience} {
		*patience = cmp.Or(*patience, yamlfile.Duration(ServicePatience))
	}
	return &Member{Task: p, Topic: from, Quota: &ingestlog.Quota{Limit: int64(from.spool.Limit)}}, nil
}

// check demands topics that can be published to, before hours of training.
func (m *Member) check(ctx context.Context) error {
	if m.Topic.DeadLetters != "" {
		if _, err := m.client.Partitions(ctx, m.Topic.DeadLetters); err != nil {
			return fmt.Errorf("rejected.to: %w (hint: pacsgp topics -c job.yaml makes it)", err)
		}
	}
	return sinklog.Check(ctx, m.client, m.PublishTo.Topics)
}

// Run streams as a member of the group until ctx is done or an error is permanent. s has the
// settings that are not in the job.
func (m *Member) Run(ctx context.Context, s stream.Stream) (err error) {
	if err := m.Topic.Schemas(m.Waits); err != nil {
		return err
	}
	if m.client, err = m.Topic.Cluster.Client(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.client.Close()) }()
	files := durable.OS{}
	if err := files.MkdirAll(m.Output); err != nil {
		return err
	}
	lock, err := files.Lock(filepath.Join(m.Output, sinklake.StreamLock))
	if err != nil {
		return fmt.Errorf("output: %w (hint: each member of a group needs an output of its own)", err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	m.folders = &sinklake.Windows{FS: m.FS, Path: m.Output, Sign: m.Sign}
	if err := m.check(ctx); err != nil {
		return err
	}
	s.Job, s.Name, s.Topic, s.Folders = m.Job, m.sequence(), m.Topic.Topic, m.folders
	s.Promote = m.Stream.Promote.rule()
	session := time.Duration(given(m.Stream.SessionTimeout, sessionTimeout))
	group := broker.Group{Name: m.Topic.Group, Topic: m.Topic.Topic, Shared: m.Stream.Shared(), Session: session, Again: " (hint: choose another source.kafka.group, publish.kafka.name and output)"}
	return m.lead(ctx, m.client, group, func(ctx context.Context, as *broker.Membership) error {
		windows, log := m.session(as)
		return s.Run(ctx, windows, log)
	})
}

// sequence returns the name of the sequence of certificates.
func (m *Member) sequence() string { return m.Topic.Topic + "/" + m.Topic.Group }

// session returns windows and log of the stream, valid while this member has its partitions.
func (m *Member) session(as *broker.Membership) (stream.Windows, stream.Log) {
	cfg, to := m.Topic.Config, m.PublishTo
	cfg.Client, cfg.Quota, cfg.Group = m.client, m.Quota, m.Topic.Group
	log := &memberLog{
		Sequence: &sinklog.Sequence{Client: m.client, Topics: to.Topics, Name: m.sequence(), Model: to.Name},
		as:       memberPublisher{&publisher{ArtifactTopics: to, required: m.Require.Of}, as, m.Failed},
	}
	if m.Stream.Shared() {
		cfg.Partitions = as.Partitions()
		log.Model = sinklog.NameOf(to.Name, cfg.Partitions[0])
		log.as.share = &share{partitions: cfg.Partitions}
	}
	windows := &ingestlog.Windows{
		Config: cfg, Folder: func(n int64) string { return filepath.Join(m.folders.Open(n), "spool") },
		Rows: m.rows,
	}
	return windows, log
}

// rows returns the rows of a window that is spooled in a folder. From is Committed, so that
// publishing checks the committed offsets of the group.
func (m *Member) rows(w *ingestlog.Window, folder string) dataset.Rows {
	return &Topic{
		KafkaSection: m.Topic.KafkaSection, DeadLetters: m.Topic.DeadLetters, file: m.Topic.file, frozen: w,
		Config: ingestlog.Config{
			Client: m.client, Topic: m.Topic.Topic, Columns: m.Topic.Config.Columns, Folder: folder, Quota: m.Quota,
			From: ingestlog.Position{Time: ingestlog.Committed},
		},
	}
}

// A memberLog is the log to which a member publishes.
type memberLog struct {
	*sinklog.Sequence

	as      memberPublisher
	settled bool // transactions of earlier owners have been ended
}

func (l *memberLog) Publisher(w *stream.Window) stream.Publisher {
	of := *l.as.publisher
	of.source, _ = w.Rows.(*Topic)
	return &memberPublisher{&of, l.as.member, l.as.failed}
}

// Locations returns the model's location or, in a shared group, one for each partition.
func (l *memberLog) Locations(ctx context.Context, w *stream.Window) ([]stream.Location, error) {
	names := []string{l.as.Name}
	if l.as.share != nil {
		names = nil
		for _, g := range w.Segments {
			if name := sinklog.NameOf(l.as.Name, int(g.Partition)); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if !l.settled {
		if err := sinklog.EndOthers(ctx, l.as.config(l.Client)); err != nil {
			return nil, err
		}
		l.settled = true
	}
	return sinklog.Locations(ctx, l.Client, l.Topics, names)
}
