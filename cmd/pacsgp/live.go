package main

import (
	"fmt"
	"slices"
	"sync"

	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/console"
)

// A liveRun is the present state of a service, for its page. Several goroutines may use it.
type liveRun struct {
	mu  sync.Mutex
	now console.Live
}

// does sets the present work.
func (l *liveRun) does(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now.Doing = text
}

func (l *liveRun) fact(name, value string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, f := range l.now.Facts {
		if f.Name == name {
			l.now.Facts[i].Value = value
			return
		}
	}
	l.now.Facts = append(l.now.Facts, console.Fact{Name: name, Value: value})
}

// fills sets how full the window is.
func (l *liveRun) fills(what string, have, of int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now.What, l.now.Have, l.now.Of = what, have, of
}

// mostTraced bounds the points of a trace.
const mostTraced = 400

// progress shows a step of training.
func (l *liveRun) progress(p pipeline.Progress) {
	l.mu.Lock()
	if p.Steps == 0 {
		l.now.Trace = nil
	} else {
		if len(l.now.Trace) == mostTraced { // every other one remains
			half := l.now.Trace[:0]
			for i := 1; i < mostTraced; i += 2 {
				half = append(half, l.now.Trace[i])
			}
			l.now.Trace = half
		}
		l.now.Trace = append(l.now.Trace, p.Bound)
	}
	l.mu.Unlock()
	if p.Steps > 0 {
		l.fact("training", fmt.Sprintf("M = %d, step %d of at most %d, bound about %.4f, risk about %.4f, KL %.0f", p.Inducing, p.Step, p.Steps, p.Bound, p.Risk, p.KL))
	} else {
		l.fact("training", phaseWords(p.Phase))
	}
}

// live is the state for the page.
func (l *liveRun) live() console.Live {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now
	now.Facts, now.Trace = slices.Clone(now.Facts), slices.Clone(now.Trace)
	return now
}
