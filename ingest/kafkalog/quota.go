package kafkalog

import (
	"context"
	"sync"
	"time"

	"github.com/pacsgp/pacsgp/internal/broker"
)

// pollEvery is the pause if no partition has new records.
const pollEvery = 300 * time.Millisecond

// A Quota bounds the disk space of the spools of several windows. A window waits while the other
// windows leave no room, so that a stage that trains more slowly than rows arrive stops consuming.
// Rows in memory are not counted: a few segments can exceed the limit. A nil Quota has no limit.
type Quota struct {
	Limit int64 // largest size of all spools together, in bytes

	mu   sync.Mutex
	used map[string]int64 // bytes, by folder
}

// Used returns the size of all spools, in bytes.
func (q *Quota) Used() int64 { return q.but("") }

// but returns the size of all spools except that in a folder, in bytes.
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

// set sets the size of the spool in a folder, in bytes; 0 removes it from the quota.
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

// wait waits for room. It does not wait if only the spool's own bytes exceed the limit.
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
