package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
)

// firstWindow sets the beginning of the first window of a scheduled job. The record decides all
// else of its windows.
func (k KafkaSection) firstWindow(key string, config *kafkalog.Config, faults *yamlfile.Faults) {
	for _, c := range []struct {
		key   string
		given bool
	}{
		{"to", k.To != ""},
		{"rows", k.Rows != 0},
		{"group", k.Group != ""},
	} {
		faults.Unless(!c.given, key+"."+c.key, "the schedule chooses where each window begins and ends: leave it out")
	}
	var err error
	config.From, err = k.From.of(broker.Earliest)
	faults.Unless(err == nil, key+".from", "%v", err)
	faults.Unless(config.From.Time != kafkalog.Committed, key+".from", "a schedule does not use the offsets of a group: leave it out, or name where the first window begins: earliest, latest or a time")
	config.To = kafkalog.Position{Time: broker.Latest}
}

// suitsTopic adds the faults of a scheduled job on a topic.
func (j *ScheduledJob) suitsTopic(at string, faults *yamlfile.Faults) {
	faults.Unless(j.Files.Which == "" || j.Files.Which == schedule.FilesNew, at+".files", "windows of a topic always have new rows only: leave it out")
	j.Files.Which = schedule.FilesNew
	for k, t := range j.Triggers {
		faults.Unless(t.Rows == 0, fmt.Sprintf("%s.triggers[%d].rows", at, k), "the rows come from a topic: write {lag: %d}, which counts offsets", t.Rows)
		faults.Unless(t.Files == 0, fmt.Sprintf("%s.triggers[%d].files", at, k), "the rows come from a topic: write {lag: 100000}, which counts offsets")
	}
}

// hintAgain is the hint when windows cannot follow one another.
const hintAgain = "(hint: give the job another name and output; source.kafka.from says where its first window begins)"

// Next is the window of a scheduled run that begins now. No row is read.
func (k *Topic) Next(ctx context.Context, before *pipeline.Windows, patience time.Duration) (w pipeline.TopicWindow, err error) {
	defer func() {
		if err != nil && broker.Temporary(err) {
			err = away{err}
		}
	}()
	if before == nil {
		before = &pipeline.Windows{Topic: k.Topic}
	}
	if before.Topic != k.Topic {
		return w, fmt.Errorf("%w: source.kafka.topic: it is %q, and the windows before are of %q %s", job.ErrConfig, k.Topic, before.Topic, hintAgain)
	}
	cluster := k.Cluster
	if patience > 0 {
		cluster.Patience, cluster.Warning = min(cmp.Or(cluster.Patience, yamlfile.Duration(patience)), yamlfile.Duration(patience)), nil
	}
	cfg := k.Config
	if cfg.Client, err = cluster.Client(); err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, cfg.Client.Close()) }()
	there, err := cfg.Client.Partitions(ctx, k.Topic)
	if err != nil {
		return w, err
	}
	w.Topic = k.Topic
	identity, err := cfg.Client.Identity(ctx, k.Topic)
	if err != nil {
		return w, err
	}
	if err = identity.Same(broker.Identity(before.Identity), k.Topic, "the one that the windows before are of"); err != nil {
		return w, fmt.Errorf("%w %s", err, hintAgain)
	}
	if w.Identity = pipeline.TopicIdentity(identity); identity == (broker.Identity{}) { // a broker of an older version
		w.Identity = before.Identity
	}
	if before.Ends != nil {
		for p := range before.Ends {
			if !slices.Contains(there, p) {
				return w, fmt.Errorf("kafka: topic %q has no partition %d, of which windows before have rows: it was made again %s", k.Topic, p, hintAgain)
			}
		}
		if cfg.From, err = cfg.Following(ctx, before.Ends); err != nil {
			return w, err
		}
	}
	w.Partitions, err = cfg.Freeze(ctx)
	if errors.Is(err, kafkalog.ErrGone) || err != nil && before.Ends != nil && !broker.Temporary(err) {
		err = fmt.Errorf("%w: the next window was to begin there %s", err, hintAgain)
	}
	return w, err
}

// within is the origin of the rows of a frozen window.
func (k *Topic) within(w pipeline.TopicWindow) *Topic {
	one := &Topic{KafkaSection: k.KafkaSection, Config: k.Config, file: k.file, DeadLetters: k.DeadLetters}
	c := &one.Config
	c.Identity, c.Partitions = broker.Identity(w.Identity), nil
	c.From, c.To = kafkalog.Position{Offsets: map[int]int64{}}, kafkalog.Position{Offsets: map[int]int64{}}
	for _, part := range w.Partitions {
		c.Partitions = append(c.Partitions, part.Partition)
		c.From.Offsets[part.Partition], c.To.Offsets[part.Partition] = part.First, part.End
	}
	c.Folder = filepath.Join(cmp.Or(k.spool.Folder, filepath.Dir(k.Config.Folder)), spoolPrefix+k.Digest(w)[:16])
	return one
}
