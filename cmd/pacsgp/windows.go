package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
	sinklog "github.com/pacsgp/pacsgp/sink/kafkalog"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// Names in the output of a service. A window at work has a folder by a number of this
// disk, in which its spool is; one whose artifact is published has one by the number of
// its certificate.
const (
	workingPrefix = "_window-"
	donePrefix    = "window-"
	spoolFolder   = "spool"
	numberFile    = "number.json"
)

// manyWindows is how many spooled windows may wait: more than a quota leaves room for.
const manyWindows = 1 << 16

// A frozenWindow is one that is spooled.
type frozenWindow struct {
	serial int64
	folder string
	window *kafkalog.Window
	closed time.Time // when it had all its rows, for this process
	number int64     // of its certificate; 0: it is taken when its turn comes
}

// windows spools and certifies windows, from where the group stands, until it fails or ctx
// is done.
func (s *service) windows(ctx context.Context, t tenure) error {
	both, ctx := errgroup.WithContext(ctx)
	frozen := make(chan frozenWindow, manyWindows)
	s.ahead = ahead{rows: make(chan openWindow, 1)}
	both.Go(func() error { return s.spool(ctx, t, frozen) })
	both.Go(func() error { return s.work(ctx, t, frozen) })
	return both.Wait()
}

// spool fills one window after the other. Those that an earlier process has left on this
// disk are gone on with, if nobody else has certified their rows meanwhile.
func (s *service) spool(ctx context.Context, t tenure, frozen chan<- frozenWindow) error {
	cfg := s.from.Config
	if t.share != nil {
		cfg.Partitions = t.share.Partitions
	}
	cfg.Client, cfg.Quota, cfg.Group = s.client, s.quota, s.from.Group
	left, err := serials(s.Output, workingPrefix)
	if err != nil {
		return err
	}
	serial := int64(1)
	if len(left) > 0 {
		serial = left[0]
	}
	var ends map[int]int64 // of the window before
	for ; ; serial++ {
		if cfg.From, err = cfg.Following(ctx, ends); err != nil {
			return err
		}
		folder := s.working(serial)
		cfg.Folder = filepath.Join(folder, spoolFolder)
		there, ours, err := cfg.Holds()
		if err != nil {
			return err
		}
		if !ours {
			for _, n := range left {
				if n >= serial {
					if err := s.discard(s.working(n)); err != nil {
						return err
					}
				}
			}
			left, there = nil, 0
		}
		cfg.Progress = s.metrics.filling(there)
		if s.Job.Train.Mode == pipeline.TrainArrival {
			cfg.Round, cfg.Stored = max(1, cfg.Rows/rounds), func(w *kafkalog.Window) { s.ahead.offer(openWindow{serial, folder, w}) }
		}
		window, err := kafkalog.Spool(ctx, cfg)
		if err != nil {
			return err
		}
		cfg.Progress(window.Rows()) // of a window that closes by time the last ones were not told
		var number int64
		if t.share != nil && s.Job.Train.Mode == pipeline.TrainArrival && window.Rows() > 0 {
			// Now, and not when steps on it are done: their time depends on its values, and
			// which of two members takes a number first would too.
			if number, err = s.number(ctx, folder, window); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case frozen <- frozenWindow{serial, folder, window, time.Now(), number}:
			ends = window.Ends
			s.metrics.fill.Set(0)
		}
	}
}

// certify makes the artifact of a window and publishes it.
func (s *service) certify(ctx context.Context, t tenure, f frozenWindow) error {
	if err := s.ahead.end(f.serial); err != nil {
		return err
	}
	p := s.prepared
	p.Output = f.folder
	if p.Attempts == "" {
		p.Attempts = filepath.Join(s.Output, "attempts.jsonl")
	}
	p.Source = s.from.OfMember(f.window, filepath.Join(f.folder, spoolFolder))
	p.Shelf = p.Shelf.OfMember(t.Membership, t.share, s.metrics.errors.Inc)
	if f.window.Rows() == 0 { // tombstones that were skipped
		if err := p.Shelf.Publish(ctx, config.Publication{Source: p.Source}); err != nil {
			return err
		}
		s.quota.Release(filepath.Join(f.folder, spoolFolder))
		return os.RemoveAll(f.folder)
	}
	k, err := f.number, error(nil)
	if k == 0 {
		k, err = s.number(ctx, f.folder, f.window)
	}
	if err != nil {
		return err
	}
	from, warm, err := s.ancestor(ctx, t, f.folder, f.window)
	if err == nil {
		err = s.keepNumber(f.folder, k, f.window)
	}
	if err != nil {
		return err
	}
	if warm {
		p.ancestor = &from
	}
	p.Job = p.Job.Numbered(s.name, k)
	s.show.event(fmt.Sprintf("window of %s: certificate number %d", certify.Count(f.window.Rows(), "row"), k))
	o, err := train(ctx, p, s.w)
	if err != nil {
		return fmt.Errorf("window of certificate number %d: %w", k, err)
	}
	outcome := "it is current"
	if verdict := o.verdict(p); verdict != nil {
		outcome = "it is not current: " + verdict.Error()
	}
	if bad := o.Result.Certificate.Ledger.Bad; bad > 0 {
		s.show.notice(fmt.Sprintf("%s of the window are left out", certify.Count(bad, "bad row")))
	}
	s.show.event(fmt.Sprintf("published certificate number %d, %s: %s; %s", k, o.Record.ID, o.Record.Mean.Headline, outcome))
	s.metrics.certified(o.Result.Certificate, o.Record.Status, f.closed)
	return s.done(f.folder, k)
}

// number is that of the certificate of a window: the one that was noted for it, or else a new
// one, which is durable on the topic. A number that was noted for something else may be that
// of a certificate whose bound is known.
func (s *service) number(ctx context.Context, folder string, window *kafkalog.Window) (k int64, err error) {
	var noted notedNumber
	text, err := durable.ReadSmall(filepath.Join(folder, numberFile), "a number", 1<<10)
	if err == nil {
		if err = json.Unmarshal(text, &noted); err != nil || noted.Number < 1 {
			return 0, fmt.Errorf("%s: it holds no number (hint: remove it, and the window takes a new one)", filepath.Join(folder, numberFile))
		}
		of, err := s.numbered(folder, window)
		if err != nil || noted.Of == of {
			return noted.Number, err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	client, err := s.Shelf.Cluster.Client()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	for {
		if noted.Number, err = sinklog.TakeNumber(ctx, client, s.Shelf.Topics, s.name); !broker.Fenced(err) {
			break
		}
		select { // another member has taken one at the same time
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(rand.N(time.Second)): //nolint:gosec // for two that end each other
		}
	}
	if err != nil {
		return 0, err
	}
	return noted.Number, nil
}

// keepNumber notes a number on the disk, so that a window that is gone on with keeps it.
func (s *service) keepNumber(folder string, k int64, window *kafkalog.Window) error {
	of, err := s.numbered(folder, window)
	if err != nil {
		return err
	}
	text, err := json.Marshal(notedNumber{k, of})
	if err != nil {
		return err
	}
	dir, err := sinklake.Open(folder, s.w.fs)
	if err != nil {
		return err
	}
	return errors.Join(dir.Put(numberFile, text), dir.Close())
}

// A notedNumber is what a number's file holds.
type notedNumber struct {
	Number int64  `json:"number"`
	Of     string `json:"of"` // digest of what it was taken for
}

// numbered is the SHA-256 of all that the certificate of a window follows from: the topic, the
// segments, the job, the program and its instruction set, and the model that training begins
// with. Two certificates that can differ have two numbers.
func (s *service) numbered(folder string, window *kafkalog.Window) (string, error) {
	job, err := s.Job.Identity()
	if err != nil {
		return "", err
	}
	ancestor, err := durable.ReadSmall(filepath.Join(folder, ancestorFile), "an ancestor", 1<<20)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	text, err := json.Marshal([]any{window.Identity, window.Segments, job.String(), versionLine(), hexOf(ancestor)})
	return hexOf(text), err
}

// done removes the spool of a window that is published, and the artifacts of the oldest.
func (s *service) done(folder string, k int64) error {
	spool := filepath.Join(folder, spoolFolder)
	if !s.from.Spool.Keep {
		if err := kafkalog.Remove(spool); err != nil {
			return err
		}
	}
	s.quota.Release(spool)
	if err := os.Rename(folder, filepath.Join(s.Output, donePrefix+form(k))); err != nil {
		return err
	}
	kept, err := serials(s.Output, donePrefix)
	if err != nil {
		return err
	}
	for len(kept) > s.keep {
		if err := os.RemoveAll(filepath.Join(s.Output, donePrefix+form(kept[0]))); err != nil {
			return err
		}
		kept = kept[1:]
	}
	return nil
}

// discard removes a window that is not gone on with.
func (s *service) discard(folder string) error {
	s.quota.Release(filepath.Join(folder, spoolFolder))
	return os.RemoveAll(folder)
}

func (s *service) working(serial int64) string {
	return filepath.Join(s.Output, workingPrefix+form(serial))
}

// form is a number in names, whose bytewise order is that of the numbers.
func form(n int64) string { return fmt.Sprintf("%012d", n) }

var formed = regexp.MustCompile(`^[0-9]{12,}$`)

// serials are the numbers of the folders of a name, ascending.
func serials(output, prefix string) ([]int64, error) {
	entries, err := os.ReadDir(output)
	if err != nil {
		return nil, err
	}
	var all []int64
	for _, e := range entries {
		text, ok := strings.CutPrefix(e.Name(), prefix)
		if !ok || !e.IsDir() || !formed.MatchString(text) {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	slices.Sort(all)
	return all, nil
}
