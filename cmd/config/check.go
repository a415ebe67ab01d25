package config

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// Check finds the faults of a file, whose keys tell its kind. Where the file has none, it opens the sources of
// jobs on files, unless it is to be offline.
func Check(ctx context.Context, path string, env Environment) error {
	_, t, err := readConfiguration[struct{}](path, env.Lookup)
	if err != nil {
		return err
	}
	tasks := make([]Task, 1)
	switch k, _ := kindWhere(func(k kind) bool { return t.Has(k.key) }); k.Name {
	case KindSchedule:
		_, tasks, err = checkSchedule(ctx, path, env)
	case KindScore:
		_, err = ReadScore(ctx, path, env)
	case KindWatch:
		_, err = ReadWatch(ctx, path, env)
	default:
		tasks[0], err = ReadJob(ctx, path, env, Overrides{})
	}
	for _, p := range tasks {
		if _, files := p.Source.(Lake); files && err == nil && !env.Offline {
			err = p.checkSource(ctx, env.Warning)
		}
	}
	return err
}

// checkSource opens the source of a task without faults. warning gets what it leaves out.
func (p Task) checkSource(ctx context.Context, warning func(string)) error {
	src, err := dataset.Open(ctx, p.Job, p.Source, nil, p.Resources, nil)
	if err == nil {
		for _, text := range src.Warnings() {
			warning(text)
		}
	}
	var faults yamlfile.Faults
	for _, each := range yamlfile.Separate(err) {
		if choice, ok := errors.AsType[*ingest.ChoiceError](each); ok {
			faults.Add(besideFeatures(*choice, p.Job).Key, "%s", choice.Text)
		} else {
			faults.Add("source", "%s", strings.TrimPrefix(each.Error(), "lake: "))
		}
	}
	return p.file.Merge(faults)
}

// readConfiguration reads a file with its faults. lookup finds the variables of ${VAR}.
func readConfiguration[T any](path string, lookup func(string) (string, bool)) (c T, t *yamlfile.File, err error) {
	raw, err := durable.ReadSmall(path, "a job", yamlfile.MaxBytes)
	if err != nil {
		return c, nil, fmt.Errorf("%w: %w", job.ErrConfig, err)
	}
	want, one := kindWhere(func(k kind) bool { return k.of == reflect.TypeFor[T]() })
	c, t = yamlfile.Parse[T](want.Kind, path, raw, lookup)
	if is, known := kindWhere(func(k kind) bool { return t.Has(k.key) }); one && known && is.Name != want.Name {
		err = fmt.Errorf("%w: %s: it is a %s file, and a %s file is wanted", job.ErrConfig, path, is.Name, want.Name)
	}
	return c, t, err
}

// defaultPoll is the time between two rounds of a scheduler.
const defaultPoll = 30 * time.Second
