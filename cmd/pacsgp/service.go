package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline"
	sinklog "github.com/pacsgp/pacsgp/sink/kafkalog"
)

// servicePatience is how long brokers that are away are waited for, unless a file says it.
const servicePatience = 24 * time.Hour

func streamCommand(w system) *cobra.Command {
	var path string
	var o config.Overrides
	cmd := &cobra.Command{
		Use:   "stream -c job.yaml",
		Short: "Train and certify window after window of a topic, for ever",
		Long: "Consume a topic in windows of so many rows, fit a model to each, certify it, publish both to\n" +
			"topics with the offsets that were read, and go on with the next. While one window trains the\n" +
			"next is spooled. Of several processes of one group one works and the others stand by. Ended\n" +
			"by SIGTERM, it goes on from its spool when it is started again; docs/job.md says more.",
		Args: exactly(0, "none, for the job file is given by -c"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := loadJob(cmd.Context(), path, w, o, cmd.Flags().Changed)
			select {
			case <-cmd.Context().Done():
				return nil // a service that is stopped has done what it was asked to
			default:
			}
			if err != nil {
				return err
			}
			s, err := newService(p, w)
			if err != nil {
				return err
			}
			return s.run(cmd.Context())
		},
	}
	overrideFlags(cmd, &path, &o)
	cmd.Flags().StringVarP(&o.Output, "output", "o", "", "output directory")
	return cmd
}

// A service trains window after window.
type service struct {
	prepared

	w       system
	show    *display
	from    *config.Topic
	client  *broker.Client
	quota   *kafkalog.Quota
	name    string // of the sequence of certificates
	metrics *metrics
	keep    int // windows whose artifacts stay in the output

	ahead ahead // of training

	session time.Duration // how long a member that is not heard of keeps the partitions
}

// newService prepares a job that can go on for ever.
func newService(p prepared, w system) (*service, error) {
	if err := p.DemandStream(); err != nil {
		return nil, err
	}
	if p.Job.DeltaPolicy == "" {
		p.Job.DeltaPolicy = certify.DeltaSequence
	}
	p.Job.Train.WarmStart = p.Stream.Warm() && p.Job.Train.Method == pipeline.MethodFreeForm
	s := &service{prepared: p, w: w, show: newDisplay(w), keep: p.Stream.Kept(), session: p.Stream.Session()}
	from, _ := p.Source.(*config.Topic)
	s.from, s.name = from, from.Topic+"/"+from.Group
	if from.For > 0 {
		from.Config.Least = p.Stream.Least()
	}
	if from.Patience == 0 {
		from.Patience = yamlfile.Duration(servicePatience)
	}
	if p.Shelf.Cluster.Patience == 0 {
		p.Shelf.Cluster.Patience = yamlfile.Duration(servicePatience)
	}
	s.quota = kafkalog.NewQuota(int64(from.Spool.Limit))
	s.metrics = newMetrics(s.quota, int64(from.Spool.Limit))
	s.metrics.window = from.Rows
	s.watch = s.metrics.progress
	return s, nil
}

// run works until ctx is done, which is no error, or something fails for good.
func (s *service) run(ctx context.Context) (err error) {
	if t := s.Stream.ShutdownTimeout; t != nil && s.w.patience != nil {
		s.w.patience(time.Duration(*t))
	}
	if err := s.from.Schemas(); err != nil {
		return err
	}
	if s.client, err = s.from.Cluster().Client(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.client.Close()) }()
	files := realFiles()
	if err := files.MkdirAll(s.Output); err != nil {
		return err
	}
	lock, err := files.Lock(filepath.Join(s.Output, ".stream.lock"))
	if err != nil {
		return fmt.Errorf("output: %w (hint: each member of a group needs an output of its own)", err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	unserve, err := serve(ctx, s.Serve, asked{s.metrics.registry, s.metrics.ready, []string{s.Output}, s.metrics.live.live}, s.show.event)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unserve()) }()
	if err := s.checkTopics(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // it was asked to end
		}
		return err
	}
	var measuring sync.WaitGroup
	defer measuring.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	measuring.Go(func() { s.measureLag(ctx) })
	s.show.event(fmt.Sprintf("member of group %q: waiting for its partitions", s.from.Group))
	err = s.client.Lead(ctx, broker.Group{
		Name: s.from.Group, Topic: s.from.Topic, Shared: s.Stream.Shared(), Session: s.session, Told: s.metrics.membership,
	}, s.lead)
	if ctx.Err() != nil {
		s.show.event("stopped: started again, it goes on from its spool")
		return nil
	}
	return err
}

// lagEvery is how often the lag of the group is asked for.
const lagEvery = 5 * time.Second

// measureLag asks for the lag until ctx is done. That brokers do not answer is told by
// others.
func (s *service) measureLag(ctx context.Context) {
	for {
		if partitions, err := s.client.Partitions(ctx, s.from.Topic); err == nil {
			if lag, err := s.client.Lag(ctx, s.from.Group, s.from.Topic, partitions); err == nil {
				s.metrics.lag.Set(float64(lag))
				s.metrics.live.fact("offsets behind the end of the topic", strconv.FormatInt(lag, 10))
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(lagEvery):
		}
	}
}

// checkTopics demands topics that can be published to, before hours of training.
func (s *service) checkTopics(ctx context.Context) (err error) {
	if s.from.Letters != "" {
		if _, err := s.client.Partitions(ctx, s.from.Letters); err != nil {
			return fmt.Errorf("bad_rows.to: %w (hint: pacsgp topics -c job.yaml makes it)", err)
		}
	}
	client, err := s.Shelf.Cluster.Client()
	if err != nil {
		return err
	}
	return errors.Join(sinklog.Check(ctx, client, s.Shelf.Topics), client.Close())
}

// A tenure is the time in which this member has the same partitions.
type tenure struct {
	*broker.Membership

	share *config.Share // nil: they are all of the topic
}

// lead works while this member has the partitions.
func (s *service) lead(ctx context.Context, m *broker.Membership) error {
	t := tenure{Membership: m}
	what := "the partitions"
	if s.Stream.Shared() {
		t.share = &config.Share{Partitions: m.Partitions()}
		what = fmt.Sprintf("the partitions %v", t.share.Partitions)
	}
	s.show.event("this member has " + what)
	for {
		err := s.windows(ctx, t)
		if errors.Is(context.Cause(ctx), broker.ErrLost) {
			s.show.notice("the group has divided the partitions anew: this member leaves its windows, and stands by until it has some")
			return err
		}
		if !errors.Is(err, sinklog.ErrOvertaken) {
			return err
		}
		s.show.notice(fmt.Sprintf("%v: what was spooled is left, and consumed anew from there", err))
	}
}
