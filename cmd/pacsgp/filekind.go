package main

import (
	"context"
	"reflect"

	"github.com/goccy/go-yaml/ast"
)

// A fileKind is a kind of YAML file that commands read.
type fileKind struct {
	name string
	page string // that explains its keys
	bad  string // of a file with faults
	of   reflect.Type
}

// Kinds of files.
const (
	kindJob      = "job"
	kindSchedule = "schedule"
	kindScore    = "score"
)

// kindOfFile is the kind that is decoded into a type.
func kindOfFile[T any]() fileKind {
	k := fileKind{name: kindJob, page: "docs/job.md", bad: "bad job", of: reflect.TypeFor[T]()}
	switch k.of {
	case reflect.TypeFor[scheduleConfig]():
		k.name, k.page, k.bad = kindSchedule, "docs/schedule.md", "bad schedule"
	case reflect.TypeFor[scoreConfig]():
		k.name, k.page, k.bad = kindScore, "docs/score.md", "bad score file"
	}
	return k
}

// checkFile finds all that can be known to be wrong with a file of any kind, which its keys
// tell.
func checkFile(ctx context.Context, path string, w system) ([]jobFault, error) {
	_, t, err := readConfiguration[struct{}](ctx, path, w.lookup)
	if err != nil {
		return nil, err
	}
	has := func(key string) bool {
		for _, entry := range entries(t.root) {
			if name, ok := entry.Key.(*ast.StringNode); ok && name.Value == key {
				return true
			}
		}
		return false
	}
	var faults []jobFault
	switch {
	case has("jobs") || has("record"):
		_, _, faults, err = checkSchedule(ctx, path, w)
	case has("model") && !has("target"):
		_, faults, err = checkScore(ctx, path, w)
	default:
		_, faults, err = checkJob(ctx, path, w, overrides{}, func(string) bool { return false })
	}
	return faults, err
}
