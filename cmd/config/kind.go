package config

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// Kinds of files.
const (
	KindJob      = "job"
	KindSchedule = "schedule"
	KindScore    = "score"
	KindWatch    = "watch"
)

// A kind is a kind of file.
type kind struct {
	yamlfile.Kind
	of       reflect.Type
	key      string   // a key that no earlier kind has, which identifies the kind
	required []string // keys that have no flags
}

var kinds = []kind{
	kindOf[ScheduleFile](KindSchedule, "bad schedule", "jobs"),
	kindOf[JobFile](KindJob, "bad job", "target", "source"),
	kindOf[WatchFile](KindWatch, "bad watch file", "state", "model", "source"),
	kindOf[ScoreFile](KindScore, "bad score file", "model", "source", "output"),
}

// kindOf returns a kind of file that decodes into a T.
func kindOf[T any](name, bad, key string, required ...string) kind {
	return kind{
		Kind: yamlfile.Kind{Name: name, Page: "docs/reference/" + name + ".md", Bad: bad, Err: job.ErrConfig, Nearest: ingest.Nearest},
		of:   reflect.TypeFor[T](), key: key, required: append(required, key),
	}
}

// kindWhere returns the first kind for which is returns true, or the kind of jobs and false.
func kindWhere(is func(k kind) bool) (kind, bool) {
	for _, k := range kinds {
		if is(k) {
			return k, true
		}
	}
	return kinds[1], false
}

// readConfiguration reads a file and its faults. lookup returns variables for ${VAR}.
func readConfiguration[T any](path string, lookup func(string) (string, bool)) (c T, t *yamlfile.File, err error) {
	want, one := kindWhere(func(k kind) bool { return k.of == reflect.TypeFor[T]() })
	raw, err := durable.ReadSmall(path, "a "+want.Name+" file", yamlfile.MaxBytes)
	if err != nil {
		return c, nil, want.Whole(path, err)
	}
	c, t = yamlfile.Parse[T](want.Kind, path, raw, lookup)
	if is, known := kindWhere(func(k kind) bool { return t.Has(k.key) }); one && known && is.Name != want.Name && !slices.Contains(want.required, is.key) {
		err = want.Whole(path, fmt.Errorf("it is a %s file, and a %s file is wanted", is.Name, want.Name))
	}
	return c, t, err
}

// defaultPoll is the default time between two rounds.
const defaultPoll = 30 * time.Second
