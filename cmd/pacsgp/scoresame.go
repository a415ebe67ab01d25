package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/durable"
)

// aboutOffsets begins the text beside the offsets. Behind it stand what the predictions are
// about and, if brokers tell, the id of the topic with the rows and that of its cluster.
const aboutOffsets = "predictions "

// aboutOffsets is the text beside the offsets of predictions about something.
func (s *topicScorer) aboutOffsets(means string) string {
	text := aboutOffsets + means
	if of := s.rows.Identity; of != (broker.Identity{}) {
		text += " " + of.Topic + " " + of.Cluster
	}
	return text
}

// readAboutOffsets takes such a text apart; of another one nothing is known.
func readAboutOffsets(text string) (means string, of broker.Identity) {
	rest, ok := strings.CutPrefix(text, aboutOffsets)
	if !ok {
		return "", broker.Identity{}
	}
	means, rest, _ = strings.Cut(rest, " ")
	if topic, cluster, ok := strings.Cut(rest, " "); ok {
		of = broker.Identity{Cluster: cluster, Topic: topic}
	}
	return means, of
}

// stands returns where the group stands in the topic, which has to be the one that it was
// then, and finds out what its predictions are about.
func (s *topicScorer) stands(ctx context.Context) (map[int]int64, error) {
	partitions, err := s.client.Partitions(ctx, s.rows.Topic)
	if err != nil {
		return nil, err
	}
	at, texts, err := s.client.Committed(ctx, s.rows.Group, s.rows.Topic, partitions)
	if err != nil {
		return nil, err
	}
	for _, p := range partitions {
		if at[p] < 0 {
			delete(at, p)
			continue
		}
		means, of := readAboutOffsets(texts[p])
		if err := s.rows.Identity.Same(of, s.rows.Topic, fmt.Sprintf("the one that group %q has offsets of", s.rows.Group)); err != nil {
			return nil, err
		}
		if s.follower.means == "" {
			s.follower.means = means
		}
	}
	return at, nil
}

// sameTopic finds out which topic has the rows, and from then on demands that it is the same
// one, as far as brokers tell.
func (s *topicScorer) sameTopic(ctx context.Context) error {
	is, err := s.client.Identity(ctx, s.rows.Topic)
	if err != nil {
		return err
	}
	if s.rows.Identity == (broker.Identity{}) {
		s.rows.Identity = is
	}
	return is.Same(s.rows.Identity, s.rows.Topic, "when this process began")
}

// behind says what holds the offset that a partition has not come to.
func (s *topicScorer) behind(err error, group, files map[int]int64) error {
	e, ok := errors.AsType[*kafkalog.BehindError](err)
	if !ok {
		return err
	}
	switch p := e.Partition; {
	case files[p] == e.Next && group[p] < e.Next:
		err = fmt.Errorf("%w; the names of the files in %s say that rows up to there are predicted", err, s.Output.Folder)
	case group[p] == e.Next:
		err = fmt.Errorf("%w; group %q stands there", err, s.rows.Group)
	}
	return err
}

// anew adds to an error of a topic that was made anew, or has rows no more that are not
// predicted, what to do.
func (s *topicScorer) anew(err error) error {
	output := "topic"
	if !s.ToTopic() {
		output = "directory"
	}
	if gone, ok := errors.AsType[*kafkalog.GoneError](err); ok {
		return fmt.Errorf("%w (hint: these rows had no predictions, and can get none. To go on behind them set the group to the oldest offset that is left, "+
			"as with kafka-consumer-groups --group %s --topic %s:%d --reset-offsets --to-offset %d --execute; "+
			"or predict all that is left, with another group and another output %s)", err, s.rows.Group, gone.Topic, gone.Partition, gone.Start, output)
	}
	_, behind := errors.AsType[*kafkalog.BehindError](err)
	if !behind && !errors.Is(err, broker.ErrAnother) {
		return err
	}
	return fmt.Errorf("%w (hint: to predict the rows that are there now, choose another group and another output %s)", err, output)
}

// lakeTopic is the file beside predictions, under a name that readers of a lake pass over,
// that says which topic they are of.
func lakeTopic(topic string) string { return "_topic-" + topic + ".json" }

// readTopic demands that the topic with the rows is the one that the folder has predictions
// of, if it says so.
func (w *lakeWriter) readTopic(names []string) error {
	name := lakeTopic(w.s.rows.Topic)
	if w.topic = slices.Contains(names, name); !w.topic {
		return nil
	}
	path := filepath.Join(w.s.Output.Folder, name)
	file, err := w.s.w.fs.Open(path)
	if err != nil {
		return err
	}
	var of broker.Identity
	data, err := io.ReadAll(io.LimitReader(file, maxTopicBytes))
	if err = errors.Join(err, file.Close()); err == nil {
		err = json.Unmarshal(data, &of)
	}
	if err == nil && (of.Topic == "" || of.Cluster == "") {
		err = errors.New("it names no topic and no cluster")
	}
	if err != nil {
		return fmt.Errorf("%s: it does not say which topic the predictions are of: %w", path, err)
	}
	return w.s.rows.Identity.Same(of, w.s.rows.Topic, "the one that "+path+" names")
}

const maxTopicBytes = 1 << 16

// keepTopic writes the file, if it is not there and brokers tell which topic it is.
func (w *lakeWriter) keepTopic() error {
	if w.topic || w.s.rows.Identity == (broker.Identity{}) {
		return nil
	}
	text, err := json.Marshal(w.s.rows.Identity)
	if err != nil {
		return err
	}
	file, err := durable.Create(w.s.w.fs, filepath.Join(w.s.Output.Folder, lakeTopic(w.s.rows.Topic)))
	if err != nil {
		return err
	}
	defer file.Abort()
	if _, err := file.Write(append(text, '\n')); err != nil {
		return err
	}
	w.topic = true
	return file.Commit()
}
