package objects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"sync"
	"time"

	"github.com/pacsgp/pacsgp/internal/durable"
)

// leaseName is the name of the file whose lock is a lease.
const leaseName = ".lock"

const (
	// leaseBeat is the time between two signs of life of a holder.
	leaseBeat = 2 * time.Second
	// leaseExpires is how long a lease without a sign of life is watched before it is taken. It is
	// measured by one clock alone.
	leaseExpires = 20 * time.Second
)

// free is the content of a lease that nobody holds.
const free = "free\n"

// ErrUnconditional says that a store cannot be an output.
var ErrUnconditional = errors.New("the store writes without regard to If-None-Match or If-Match, so that two runs could take one number; name a store with conditional writes, or a directory of the machine")

// A lease says in an object who may write. It is written again at each beat. Its loss is noticed at
// the next write; what was seen before is then still safe, for writes are conditional.
type lease struct {
	of   *Files
	name string
	stop context.CancelFunc
	work sync.WaitGroup

	mu     sync.Mutex
	tag    string    // of its last write
	begun  time.Time // of that write
	tagged bool      // its ETag was made of its content
	number int
	unsure bool // its last write may have been done
}

// Lock takes the lease if the file is .lock, and waits up to leaseExpires for one whose holder gives
// no sign of life. The lock of any other file only begins to note the versions of objects.
func (f *Files) Lock(name string) (io.Closer, error) {
	var l *lease
	if path.Base(name) == leaseName {
		var err error
		if l, err = f.acquire(name); err != nil {
			return nil, err
		}
	}
	f.locks++
	if l != nil {
		f.lease = l
	}
	return &lock{f, l}, nil
}

type lock struct {
	of    *Files
	lease *lease // nil: it is none
}

// Close gives a lock back. A lease that cannot be given back expires.
func (l *lock) Close() error {
	if l.lease != nil {
		l.lease.stop()
		l.lease.work.Wait()
		_ = l.lease.write(context.Background(), free)
	}
	if l.of.locks--; l.of.locks == 0 {
		l.of.seen = map[string]string{}
	}
	if l.lease != nil {
		l.of.lease = nil
	}
	return nil
}

func (f *Files) acquire(name string) (*lease, error) {
	ctx := context.Background() // it ends in time
	at, text, err := f.client.open(ctx, name, false)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if at != nil && string(text) != free {
		if f.Told != nil {
			var holder string
			_, _ = fmt.Sscanf(string(text), "held by %40s ", &holder)
			f.Told(fmt.Sprintf("%s is held by %s, a run that wrote it last at %s by the clock of the store: waiting until %s for a sign of its life, then it is taken",
				name, cmp.Or(holder, "another"), at.modified.Format(time.TimeOnly), time.Now().Add(f.expires).Format(time.TimeOnly)))
		}
		if err := f.watch(ctx, name, at.tag); err != nil {
			return nil, err
		}
	}
	within, cancel := context.WithCancel(ctx)
	l := &lease{of: f, name: name, stop: cancel, tag: at.version()}
	if err = l.renew(ctx); err == nil {
		if err = l.probe(ctx); err != nil {
			_ = l.write(ctx, free) // else it expires
		}
	}
	if err != nil {
		cancel()
		return nil, err
	}
	f.md5 = l.tagged
	l.work.Go(func() { l.live(within) })
	return l, nil
}

// watch returns [durable.ErrLocked] if the holder of a lease gives a sign of life.
func (f *Files) watch(ctx context.Context, name, tag string) error {
	for began := time.Now(); time.Since(began) < f.expires; time.Sleep(f.beat / 2) {
		at, err := f.client.head(ctx, name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if at.version() != tag {
			return fmt.Errorf("%s: %w", name, durable.ErrLocked)
		}
	}
	return nil
}

// write replaces the lease. One that somebody else has written is lost, and stays so.
func (l *lease) write(ctx context.Context, text string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	begun := time.Now()
	l.number++
	tag, err := l.of.client.put(ctx, l.name, l.tag, payloadOf([]byte(text)), l.of.writer, l.number, l.unsure)
	if errors.Is(err, ErrChanged) {
		return errMeanwhile(l.name)
	}
	if err == nil {
		l.tag, l.begun, l.tagged = tag, begun, tag == contentTag([]byte(text))
	}
	l.unsure = err != nil
	return err
}

// renew writes a sign of life, which is unlike all others.
func (l *lease) renew(ctx context.Context) error {
	return l.write(ctx, fmt.Sprintf("held by %s until it has not been written for %v: sign of life at %d\n", l.of.writer, l.of.expires, time.Now().UnixNano()))
}

// live gives signs of life. A failure is noticed at the next write.
func (l *lease) live(ctx context.Context) {
	tick := time.NewTicker(l.of.beat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			within, cancel := context.WithTimeout(ctx, l.of.expires/4)
			_ = l.renew(within)
			cancel()
		}
	}
}

// held returns an error if the lease was lost. One without a recent sign of life is renewed first.
func (f *Files) held(ctx context.Context) error {
	l := f.lease
	if l == nil {
		return nil
	}
	l.mu.Lock()
	recent := time.Since(l.begun) < f.expires/2
	l.mu.Unlock()
	if recent {
		return nil
	}
	return l.renew(ctx)
}

// probe writes the lease, which exists, as a new object and as one of another version. Both must be
// refused.
func (l *lease) probe(ctx context.Context) error {
	for n, was := range []string{"", `"0123456789abcdef0123456789abcdef"`} {
		body := payloadOf([]byte(free))
		_, err := l.of.client.put(ctx, l.name, was, body, "probe."+l.of.writer, n, false)
		if err == nil {
			return fmt.Errorf("%s: %w", l.name, ErrUnconditional)
		}
		if !errors.Is(err, ErrChanged) {
			return err
		}
	}
	return nil
}
