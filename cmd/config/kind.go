package config

import (
	"reflect"

	"github.com/pacsgp/pacsgp/docs"
	"github.com/pacsgp/pacsgp/ingest"
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

// kindIn is the kind of a file by its keys, or "".
func kindIn(t *yamlfile.File) string {
	switch {
	case t.Has("jobs"):
		return KindSchedule
	case t.Has("target"):
		return KindJob
	case t.Has("state"):
		return KindWatch
	case t.Has("model"):
		return KindScore
	default:
		return ""
	}
}

// renamed has the keys of earlier builds, in any file.
var renamed = map[string][]string{
	"roles": {"split"}, "bad_rows": {"rejected"}, "copies": {"duplicates"}, "judge": {"require"},
	"keep": {"retain", "passthrough"}, "tolerance": {"limit"},
}

// kindOf is the kind of file that decodes into a type.
func kindOf(t reflect.Type) yamlfile.Kind {
	k := yamlfile.Kind{Err: job.ErrConfig, Renamed: renamed, Nearest: ingest.Nearest}
	switch t {
	case reflect.TypeFor[ScheduleFile]():
		k.Name, k.Page, k.Bad = KindSchedule, "docs/reference/schedule.md", "bad schedule"
	case reflect.TypeFor[ScoreFile]():
		k.Name, k.Page, k.Bad = KindScore, "docs/reference/score.md", "bad score file"
	case reflect.TypeFor[WatchFile]():
		k.Name, k.Page, k.Bad = KindWatch, "docs/reference/watch.md", "bad watch file"
	default:
		k.Name, k.Page, k.Bad, k.Examples = KindJob, "docs/reference/job.md", "bad job", docs.Examples
	}
	return k
}
