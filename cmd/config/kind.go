package config

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
	KindJob      = "job"
	KindSchedule = "schedule"
	KindScore    = "score"
)

// kindOfFile is the kind that is decoded into a type.
func kindOfFile[T any]() fileKind {
	k := fileKind{name: KindJob, page: "docs/job.md", bad: "bad job", of: reflect.TypeFor[T]()}
	switch k.of {
	case reflect.TypeFor[ScheduleFile]():
		k.name, k.page, k.bad = KindSchedule, "docs/schedule.md", "bad schedule"
	case reflect.TypeFor[ScoreFile]():
		k.name, k.page, k.bad = KindScore, "docs/score.md", "bad score file"
	}
	return k
}
