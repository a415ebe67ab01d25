package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"time"

	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/score"
	"github.com/pacsgp/pacsgp/pipeline/watch"
	sinklog "github.com/pacsgp/pacsgp/sink/kafkalog"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
	"github.com/pacsgp/pacsgp/sink/report"
	"github.com/pacsgp/pacsgp/sink/sign"
)

// A Scoring runs a score file with the adapters for its sources and outputs.
type Scoring struct {
	ScoreFile
	Service

	Once       bool   // stop when no row is left
	testing    bool   // losses are those that a watch tests
	Trusted    string // public keys that must have signed models; "" demands no signature
	Events     score.Events
	RoundEnded func(failed int) // called after each round with the number of files that could not be predicted
}

// ErrFull means that the disk of the output is full.
var ErrFull = sinklake.ErrFull

// filesAtOnce is how many files are predicted at the same time: while one is opened or waits for
// the disk, another is predicted.
const filesAtOnce = 3

// Run predicts until ctx is done or, with Once, no row is left. failed counts failed files.
func (s *Scoring) Run(ctx context.Context) (failed int, err error) {
	if s.Trusted != "" {
		if _, err := sign.ReadTrusted(s.Trusted); err != nil {
			return 0, Argument(fmt.Errorf("--trusted: %w", err))
		}
	}
	pointers, closePointers, err := s.pointers()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, closePointers()) }()
	if s.OnTopics() {
		return 0, s.fromTopic(ctx, pointers)
	}
	return s.filesToFiles(ctx, pointers)
}

// Where returns the path of the predictions of a file.
func (c ScoreFile) Where(f score.File) string {
	return sinklake.PredictionsOf(c.Output.Folder, f)
}

// pointers returns the pointers to models, and a function that closes them.
func (s *Scoring) pointers() (score.Pointers, func() error, error) {
	if s.Model.Folder != "" {
		return folderPointers(s.Model.Folder), func() error { return nil }, nil
	}
	client, err := s.client(s.Kafka)
	if err != nil {
		return nil, nil, err
	}
	return &sinklog.Pointers{Client: client, Topics: sinklog.TopicsOf(s.Model.Kafka.Topics), Name: s.Model.Kafka.Name}, client.Close, nil
}

func (s *Scoring) client(c Cluster) (*broker.Client, error) {
	c.Warning, c.Patience = s.Warned, cmp.Or(c.Patience, yamlfile.Duration(s.Patience))
	return c.Client()
}

// folderPointers is a job's output directory, as a source of pointers.
type folderPointers string

func (f folderPointers) Current(ctx context.Context) (pipeline.Current, error) {
	p, err := sinklake.CurrentIn(string(f))
	if errors.Is(err, sinklake.ErrNoOutput) {
		what := "does not exist"
		if found, _ := objects.IsFolder(ctx, string(f)); found {
			what = "holds no model"
		}
		err = fmt.Errorf("%s %s (hint: restore it, or correct model in the file)", string(f), what)
	}
	return p, err
}

func (f folderPointers) Artifact(ctx context.Context, p pipeline.Current) (a score.Artifact, err error) {
	a, err = ReadArtifacts(ctx, objects.Join(string(f), sinklake.ModelName(p.Model)), objects.Join(string(f), sinklake.CertificateName(p.ID)))
	if errors.Is(err, fs.ErrNotExist) {
		err = score.Later(err)
	}
	return a, err
}

// ready checks a model and its signature by a trusted key. It reads the keys again each time.
func (s *Scoring) ready(ctx context.Context, a score.Artifact) (_ *pipeline.Ready, err error) {
	if s.Trusted != "" && s.Model.Folder != "" {
		a.Signatures, err = sinklake.NewOutput(s.Model.Folder, nil).Signatures(a.ID)
	}
	if s.Trusted != "" && err == nil {
		_, err = signedBy(ctx, a.ID, a.Certificate, a.Signatures, s.Trusted)
	}
	if err != nil && !errors.Is(err, job.ErrRefused) {
		err = score.Later(err)
	}
	if err == nil {
		_, err = pipeline.Verify(ctx, a.Certificate, a.Model, a.Digest, nil, s.Resources())
	}
	if err != nil {
		return nil, err
	}
	if s.testing {
		tested, _ := watch.Promise(a.Certificate, nil)
		a.Model.Meta.Loss = tested.Loss
	}
	return pipeline.NewReady(a.Model, s.Resources().Workers)
}

func (s *Scoring) follower(from score.Pointers, keeps func() string, again string) *score.Follower {
	return score.NewFollower(score.Config{Pointers: from, Ready: s.ready, Warning: s.Warned, ModelWarnings: report.ModelWarnings, Keeps: keeps, Again: again})
}

// followerOf returns a follower of the pointers for predictions in a folder.
func (s *Scoring) followerOf(ctx context.Context, from score.Pointers) (*score.Follower, *sinklake.About, error) {
	about, first, err := sinklake.ReadAbout(ctx, s.FS, s.Output.Folder)
	if err != nil {
		return nil, nil, err
	}
	f := s.follower(from, about.Says, "another group and another topic")
	if first != nil {
		f.ContinueFrom(*first)
	}
	return f, about, nil
}

// reading completes r by the paths, resources and names of the source's files. Unless once is set, paths without files
// are no error.
func (s *Scoring) reading(r ingestlake.Unpredicted, once bool) *ingestlake.Unpredicted {
	if said := map[string]bool{}; !once {
		r.Empty = func(err error) {
			if text := err.Error(); !said[text] {
				said[text] = true
				s.Said(text)
			}
		}
	}
	res := s.Resources()
	r.Paths, r.Decoders, r.Pages = s.Source.Paths, res.Workers, res.PageMemory()/filesAtOnce
	r.Name = func(f ingestlake.File) (name, version string) {
		file := f.ListedFile(s.Folder)
		if f.Arrow {
			return file.Path, digest.OfValues(file, f.Modified)[:16]
		}
		return file.Path, digest.OfValues(file)[:16]
	}
	return &r
}

func (s *Scoring) filesToFiles(ctx context.Context, from score.Pointers) (failed int, err error) {
	folder, err := sinklake.Open(s.Output.Folder, s.FS)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	follower, about, err := s.followerOf(ctx, from)
	if err != nil {
		return 0, err
	}
	defer follower.Close()
	remove, warn := s.Replaced == replacedRemove, s.Warned
	if remove {
		warn = s.Said
	}
	out := &sinklake.Predictions{FS: s.FS, Folder: s.Output.Folder, About: about, Remove: remove, Warn: warn}
	l := score.Loop[ingestlake.StoredColumns]{
		Follower: follower, Reader: s.reading(ingestlake.Unpredicted{Passthrough: s.Passthrough, Whole: true}, s.Once), Writer: out, Events: s.Events,
		Has: out.Has, AtOnce: filesAtOnce, Once: s.Once, RoundEnded: s.RoundEnded, After: time.After,
	}
	return l.Rounds(ctx, s.Every())
}

// A topicScoring predicts rows of a topic as a member of a group.
type topicScoring struct {
	*Scoring

	client   *broker.Client
	follower *score.Follower
	about    *sinklake.About // what predictions in a folder are about; nil for predictions on a topic
	rows     *kafkalog.Unpredicted
	ended    int // generation of a shared group in which transactions of earlier owners were ended
}

// unpredictedRecords returns the rows of the topic and a client, which must be closed.
func (s *Scoring) unpredictedRecords(once bool) (*kafkalog.Unpredicted, *broker.Client, error) {
	k := s.Source.Kafka
	origin := &Topic{KafkaSection: KafkaSection{TopicSection: k}}
	origin.Cluster.Patience = cmp.Or(origin.Cluster.Patience, yamlfile.Duration(s.Patience))
	waits := func(err error) {
		if err != nil { // the next predictions show that the wait is over
			s.Events.Waits(err)
		}
	}
	if err := origin.Schemas(waits); err != nil {
		return nil, nil, err
	}
	client, err := s.client(k.Cluster)
	return &kafkalog.Unpredicted{
		Config:      kafkalog.Config{Client: client, Topic: k.Topic, Group: k.Group, Format: k.Format, Schema: origin.Config.Schema, Registry: origin.Config.Registry},
		Passthrough: s.Passthrough, Workers: s.Resources().Workers, Once: once, Warning: s.Warned,
	}, client, err
}

func (s *Scoring) fromTopic(ctx context.Context, from score.Pointers) (err error) {
	k := s.Source.Kafka
	rows, client, err := s.unpredictedRecords(s.Once)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	t := &topicScoring{Scoring: s, client: client, rows: rows}
	topics, output := []string{k.Topic}, "directory"
	if s.ToTopic() {
		topics, output = append(topics, s.Output.Kafka), "topic"
		t.follower = s.follower(from, nil, "another group and another topic")
	} else if t.follower, t.about, err = s.followerOf(ctx, from); err != nil {
		return err
	}
	defer t.follower.Close()
	if deadLetters := s.Rejected.To.topic; deadLetters != "" {
		topics = append(topics, deadLetters)
		s.Said(fmt.Sprintf("records of rows without a prediction go to topic %q", deadLetters))
	}
	for i, topic := range topics { // before Lead, whose error would say less
		_, err := client.Partitions(ctx, topic)
		if errors.Is(err, broker.ErrNoTopic) {
			err = fmt.Errorf("%w (hint: is the name right? score makes no topic: kafka-topics.sh --create --topic %s --partitions N does%s)", err, topic, words.If(i > 0, ", with as many as the source has"))
		}
		if err != nil {
			return err
		}
	}
	group := broker.Group{Name: k.Group, Topic: k.Topic, Shared: s.Shared(), Session: s.Session()}
	return t.rows.Hint(s.lead(ctx, client, group, func(ctx context.Context, m *broker.Membership) error {
		if t.Shared() {
			t.rows.Partitions = m.Partitions()
		}
		return m.Work(ctx, t.predictAs)
	}), output)
}

// predictAs predicts as a member of one generation, from the positions of group and output.
func (t *topicScoring) predictAs(ctx context.Context, as broker.Member) (err error) {
	if t.ToTopic() {
		err = t.toTopicAs(ctx, as)
	} else {
		err = sinklake.Full("predictions", t.Output.Folder, t.toFilesAs(ctx, as))
	}
	if broker.Fenced(err) && context.Cause(ctx) == nil {
		t.Warned(err.Error())
	}
	return err
}

func (t *topicScoring) toTopicAs(ctx context.Context, as broker.Member) (err error) {
	cfg := sinklog.PredictionsConfig{Client: t.client, Group: t.rows.Group, Source: t.rows.Topic, Topic: t.Output.Kafka, Passthrough: t.Passthrough, DeadLetters: t.Rejected.To.topic, As: as, Log: t.rows}
	if t.Shared() {
		if cfg.Share = t.rows.Partitions; t.ended != as.Generation {
			if err := cfg.EndOthers(ctx); err != nil {
				return err
			}
			t.ended = as.Generation
		}
	}
	out, err := sinklog.NewPredictions(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Abort(ctx)) }()
	// After NewPredictions, which has waited for the end of an earlier transaction.
	if err := t.rows.Same(ctx); err != nil {
		return err
	}
	if err := out.Continues(ctx); err != nil {
		return err
	}
	if err := t.predict(ctx, out, sinklog.TopicDue, nil); err != nil {
		return err
	}
	return out.Seen(ctx)
}

func (t *topicScoring) toFilesAs(ctx context.Context, as broker.Member) (err error) {
	waits := t.Events.Failed // the former leader of the group may not know yet that it is replaced
	if t.Once {
		waits = nil
	}
	folder, err := sinklake.Await(ctx, t.Output.Folder, t.FS, waits)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	if err := t.rows.Same(ctx); err != nil {
		return err
	}
	var deadLetters sinklake.DeadLetters
	if to := t.Rejected.To.topic; to != "" {
		sent, err := sinklog.OpenDeadLetters(ctx, sinklog.DeadLettersConfig{Client: t.client, Topic: to, ID: "score-" + t.rows.Group, Source: t.rows.Topic})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, sent.Abort(ctx)) }()
		deadLetters = sent
	}
	out := &sinklake.Logged{
		FS: t.FS, Folder: t.Output.Folder, Topic: t.rows.Topic, ID: pipeline.TopicIdentity(t.rows.Identity), Passthrough: t.Passthrough, About: t.about, Same: t.rows.Same,
		Done: func(ctx context.Context, ends map[int]int64, subject string) error {
			return t.rows.Commit(ctx, as, ends, subject)
		},
		DeadLetters: deadLetters,
	}
	defer out.Close()
	ends, err := out.Positions(func(was pipeline.TopicIdentity, path string) error {
		return t.rows.Identity.Same(broker.Identity(was), t.rows.Topic, "the one that "+path+" names")
	})
	if err != nil {
		return err
	}
	return t.predict(ctx, out, sinklake.LoggedDue(t.Every()), ends)
}

// predict predicts to a writer, from the offsets of the group and those in its files on.
func (t *topicScoring) predict(ctx context.Context, out score.Writer[score.Records], due score.Due, files map[int]int64) error {
	group, subject, err := t.rows.Positions(ctx)
	if err != nil {
		return err
	}
	t.follower.Continue(subject)
	begin := maps.Clone(group)
	for partition, end := range files {
		begin[partition] = max(group[partition], end)
	}
	t.rows.From(begin)
	l := score.Loop[score.Records]{Follower: t.follower, Reader: t.rows, Writer: out, Events: t.Events, AtOnce: t.rows.Workers, Due: due, Once: t.Once, After: time.After}
	_, err = l.Run(ctx)
	return err
}
