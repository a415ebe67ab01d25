package kafkalog

import (
	"context"
	"sync"
	"time"

	"github.com/pacsgp/pacsgp/internal/broker"
)

// pollEvery is the pause when no partition has a new record.
const pollEvery = 300 * time.Millisecond

// A Quota bounds the disk space of the spools of several windows. A window waits while the others
// leave no room: so a stage that trains more slowly than rows arrive stops consuming. The rows in
// memory are not counted, so that a few segments can exceed the limit. A nil Quota has no limit.
type Quota struct {
	Limit int64 // the most bytes of all spools together

	mu   sync.Mutex
	used map[string]int64 // bytes, by folder
}

// Used returns the bytes of all spools.
func (q *Quota) Used() int64 { return q.but("") }

// but returns the bytes of all spools but that in a folder.
func (q *Quota) but(folder string) (bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for name, of := range q.used {
		if name != folder {
			bytes += of
		}
	}
	return bytes
}

// Release removes the spool in a folder from the quota.
func (q *Quota) Release(folder string) { q.set(folder, 0) }

// set sets the bytes of the spool in a folder; 0 forgets it.
func (q *Quota) set(folder string, bytes int64) {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.used == nil {
		q.used = map[string]int64{}
	}
	if q.used[folder] = bytes; bytes == 0 {
		delete(q.used, folder)
	}
}

// wait waits for room. It does not wait for the spool's own bytes.
func (q *Quota) wait(ctx context.Context, folder string) error {
	for q != nil {
		if q.but(folder) == 0 || q.Used() < q.Limit {
			return nil
		}
		if err := broker.Pause(ctx, pollEvery); err != nil {
			return err
		}
	}
	return nil
}
