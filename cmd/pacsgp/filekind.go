package main

import (
	"reflect"
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
