package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink"
	sinklog "github.com/pacsgp/pacsgp/sink/kafkalog"
)

// A stand is where it is said which model is current, and where that is.
type stand interface {
	// current returns what is current; nil: nothing is.
	current(ctx context.Context) (*pointer, error)
	// artifact returns what a pointer names, whose hashes are what the names say.
	artifact(ctx context.Context, p *pointer) (c certify.Certificate, id string, m pipeline.Model, digest string, err error)
}

// A folderStand is the output directory of a job.
type folderStand string

func (f folderStand) current(context.Context) (*pointer, error) {
	p, err := readPointer(string(f))
	if err == nil && p == nil {
		err = fmt.Errorf("%s: nothing is current", filepath.Join(string(f), currentFile))
	}
	return p, err
}

func (f folderStand) artifact(ctx context.Context, p *pointer) (c certify.Certificate, id string, m pipeline.Model, digest string, err error) {
	if c, id, err = readCertificate(ctx, filepath.Join(string(f), p.Certificate)); err == nil {
		m, digest, err = readModel(ctx, filepath.Join(string(f), p.Model))
	}
	return c, id, m, digest, err
}

// A topicStand is topics that artifacts are published to. It looks once in a while.
type topicStand struct {
	client *broker.Client
	topics sinklog.Topics
	name   string

	looked time.Time
	last   *pointer
}

const lookEvery = time.Second

func (t *topicStand) current(ctx context.Context) (*pointer, error) {
	if t.last != nil && time.Since(t.looked) < lookEvery {
		return t.last, nil
	}
	p, err := sinklog.Current(ctx, t.client, t.topics, t.name)
	if err != nil {
		return nil, err
	}
	t.looked, t.last = time.Now(), &pointer{ID: p.Certificate, Certificate: "certificate " + p.Certificate, Predictor: config.JudgeMean}
	return t.last, nil
}

func (t *topicStand) artifact(ctx context.Context, p *pointer) (c certify.Certificate, id string, m pipeline.Model, digest string, err error) {
	a, err := sinklog.Pull(ctx, t.client, t.topics, p.ID)
	if err != nil {
		return c, "", m, "", err
	}
	if c, err = certify.Parse(a.Document); err != nil {
		return c, "", m, "", err
	}
	m, err = sink.DecodeModel(a.Model)
	return c, p.ID, m, hexOf(a.Model), err
}

// hexOf is the SHA-256 of some bytes, in hexadecimal.
func hexOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// A follower has the model that is current.
type follower struct {
	from    stand
	res     pipeline.Resources
	say     func(string)
	id      string                 // of the certificate; "": there is no model yet
	refused string                 // that was not taken, which is said once
	fault   string                 // for which it could not be seen what is current, which is said once
	told    map[string]bool        // ids of which it was said what to know of them
	first   *certify.Certificate   // what predictions are about: of another thing no model is taken
	about   atomic.Pointer[string] // where that is kept; nil: nowhere yet
	means   string                 // the same as a word, see subject; "": any
	fresh   string                 // what to choose for predictions about something else; "": another group and another topic
	current certify.Certificate
	model   pipeline.Model
	ready   *pipeline.Ready
	keeping sync.Mutex     // of the certificate that says what predictions are about
	users   sync.WaitGroup // who predicts with it at the moment
}

// follow takes the model that is current, if it is another one than before and fits. One
// that does not fit is refused, and the model before stays. reads tells whether the rows
// that come next have the features of a model.
func (f *follower) follow(ctx context.Context, reads func(pipeline.Model) error) error {
	p, err := f.from.current(ctx)
	switch {
	case err == nil && (p.ID == f.id || p.ID == f.refused):
		return nil
	case err == nil:
		err = f.take(ctx, p, reads)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		return nil
	}
	if f.id == "" {
		return fmt.Errorf("%w: %w", errNoModel, err)
	}
	switch text := err.Error(); {
	case p != nil && !errors.Is(err, errOddRows) && !errors.Is(err, fs.ErrNotExist) && !broker.Temporary(err): // which may come to be
		f.refused = p.ID
	case f.fault == text:
		return nil
	default:
		f.fault = text
	}
	f.say(fmt.Sprintf("the model that is current now is refused, and that of certificate %.12s… stays: %v", f.id, err))
	return nil
}

// subject is a word for what predictions of a model are about: it is the same for models
// that can take each other's place.
func subject(c certify.Certificate) (string, error) {
	text, err := json.Marshal([]any{judge(config.JudgeMean, c).Loss, c.RowRules})
	if err != nil {
		return "", err
	}
	return hexOf(text)[:16], nil
}

// errNoModel says that there is no model to predict with. One may come.
var errNoModel = errors.New("no prediction without a model")

// errOddRows says that the rows that come next do not have the features of a model. Later
// ones may.
var errOddRows = fmt.Errorf("%w for these rows", pipeline.ErrRefused)

// take makes the model of a pointer ready. It has to be what its certificate says, and to
// speak of what the predictions are about that are there.
func (f *follower) take(ctx context.Context, p *pointer, reads func(pipeline.Model) error) error {
	c, id, m, digest, err := f.from.artifact(ctx, p)
	if err != nil {
		return err
	}
	if id != p.ID {
		return fmt.Errorf("%w: %s has the id %s, and the pointer names %s", pipeline.ErrRefused, p.Certificate, id, p.ID)
	}
	if _, err := pipeline.Verify(ctx, c, m, digest, nil, f.res); err != nil {
		return err
	}
	if f.first != nil {
		if why := incomparable(*f.first, c, p.Predictor); why != "" {
			err := fmt.Errorf("%w: %s", pipeline.ErrRefused, why)
			if about := f.about.Load(); about != nil {
				err = fmt.Errorf("%w, says %s ("+anew+")", err, *about, *about)
			}
			return err
		}
	}
	means, err := subject(c)
	if err != nil {
		return err
	}
	if f.first == nil && f.means != "" && f.means != means {
		return fmt.Errorf("%w: it speaks of another target, loss, tolerance or row rules than the predictions that were made before (hint: to begin anew, choose %s)", pipeline.ErrRefused, cmp.Or(f.fresh, "another group and another topic"))
	}
	if f.id != "" {
		if err := reads(m); err != nil && reads(f.model) == nil {
			return fmt.Errorf("%w: %w", errOddRows, err)
		}
	}
	ready, err := pipeline.NewReady(m, f.res.Workers)
	if err != nil {
		return err
	}
	if f.first == nil {
		f.first, f.means = &c, means
	}
	if f.ready != nil {
		f.users.Wait()
		f.ready.Close()
	}
	f.id, f.current, f.model, f.ready, f.refused = id, c, m, ready, ""
	f.tell()
	return nil
}

// tell says, once a model, what to know of its certificate.
func (f *follower) tell() {
	if f.told[f.id] {
		return
	}
	if f.told == nil {
		f.told = map[string]bool{}
	}
	f.told[f.id] = true
	for _, text := range cautions(f.current) {
		f.say(fmt.Sprintf("certificate %.12s…: %s", f.id, text))
	}
}
