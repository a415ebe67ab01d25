package config

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// looksLog is the log of looks at hold-out rows: beside the log of attempts that a job names, else
// in the user's folder of states, so that another output begins no new one.
func looksLog(attempts string, lookup func(string) (string, bool)) func(durable.FS) pipeline.Looks {
	path, why := "", ""
	state, _ := lookup("XDG_STATE_HOME")
	home, _ := lookup("HOME")
	switch {
	case attempts != "":
		path = attempts + ".looks"
	case filepath.IsAbs(state):
		path = filepath.Join(state, "pacsgp", "looks.jsonl")
	case !filepath.IsAbs(home):
		why = "neither HOME nor XDG_STATE_HOME says where to keep their log"
	case contained(lookup):
		why = "this is a container, whose files go with it"
	default:
		path = filepath.Join(home, ".local", "state", "pacsgp", "looks.jsonl")
	}
	return func(fsys durable.FS) pipeline.Looks {
		if why != "" {
			return unlogged(why)
		}
		return sinklake.NewLookLog(path, fsys)
	}
}

// unlogged counts no looks, and says why.
type unlogged string

// Look returns the reason.
func (why unlogged) Look(context.Context, pipeline.Look) ([]pipeline.Look, error) {
	return nil, fmt.Errorf("%w: %s (hint: name a file that lasts by the job's key attempts)", pipeline.ErrUncounted, string(why))
}

// Noted knows of none.
func (unlogged) Noted(context.Context) ([]pipeline.Look, error) { return nil, nil }

// contained reports whether the process runs in a container.
func contained(lookup func(string) (string, bool)) bool {
	for _, name := range []string{"container", "KUBERNETES_SERVICE_HOST"} {
		if _, ok := lookup(name); ok {
			return true
		}
	}
	for _, path := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(path); err == nil {
			return true
		}
	}
	return false
}
