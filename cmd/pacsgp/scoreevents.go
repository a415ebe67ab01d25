package main

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline/score"
)

// scoreEvents reports what score does, in the log and in metrics.
type scoreEvents struct {
	show    *display
	metrics *scoreMetrics
	records bool                    // rows come from a topic: their number is logged now and then
	retry   time.Duration           // between two tries
	where   func(score.File) string // the location of the predictions of a file

	mu    sync.Mutex // of what follows
	sum   score.Counts
	files int64
	last  score.Counts // of sum, in the log
	since time.Time
	by    string // the certificate of the last predictions
}

func newScoreEvents(c config.ScoreFile, show *display) *scoreEvents {
	return &scoreEvents{show: show, metrics: newScoreMetrics(c.OnTopics()), records: c.OnTopics(), retry: c.Every(), where: c.Where, since: time.Now()}
}

// Adopted logs another model.
func (e *scoreEvents) Adopted(by *score.Predictor) {
	e.metrics.models.Inc()
	e.show.event("predictions come from the model of certificate " + by.ID)
}

// Waits logs the reason for a wait.
func (e *scoreEvents) Waits(err error) {
	if errors.Is(err, config.ErrFull) {
		err = fmt.Errorf("%w (hint: free space; it is tried again every %v)", err, e.retry)
	}
	e.show.warnOnce(err.Error())
	e.metrics.why.set(err)
}

// Failed logs the reason why a file has no predictions.
func (e *scoreEvents) Failed(err error) {
	e.show.warnOnce(err.Error())
	e.metrics.fault.set(err)
}

// Predicted counts committed predictions.
func (e *scoreEvents) Predicted(what score.Done) {
	e.metrics.predicted(what.Counts)
	e.mu.Lock()
	e.sum, e.by = e.sum.Plus(what.Counts), what.By
	e.files += int64(len(what.Files))
	e.mu.Unlock()
	for _, f := range what.Files {
		e.show.event(fmt.Sprintf("%s: predictions of %s%s, in %s", f.Path, words.Count(f.Rows, "row"), config.Without(f.Refused, "column"), e.where(f.File)))
		e.others(f.Path+": ", f.Counts)
	}
	e.logCounts(false)
}

// sumEvery is the time between two log lines about predicted records.
const sumEvery = 10 * time.Second

// logCounts logs the number of records predicted since the last such line, if that is long ago or
// now is set.
func (e *scoreEvents) logCounts(now bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := e.sum.Rows - e.last.Rows
	if !e.records || n == 0 || !now && time.Since(e.since) < sumEvery {
		return
	}
	e.show.event(fmt.Sprintf("predicted %s in %s%s, by the model of certificate %.12s…",
		words.Count(n, "row"), words.Count(e.sum.Units-e.last.Units, "batch", "batches"), config.Without(e.sum.Refused-e.last.Refused, "its"), e.by))
	e.others("", score.Counts{Rows: n, Other: e.sum.Other - e.last.Other})
	e.since, e.last = time.Now(), e.sum
}

// others says how many rows have a level that the model does not know.
func (e *scoreEvents) others(where string, n score.Counts) {
	if n.Other > 0 {
		e.show.warning(fmt.Sprintf("%s%d of %s with a value of an encoded feature that is in no prior row: it counts as other", where, n.Other, words.Count(n.Rows, "row")))
	}
}
