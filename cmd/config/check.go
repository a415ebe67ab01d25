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
func Check(ctx context.Context, path string, env Environment) ([]yamlfile.Fault, error) {
	_, t, err := readConfiguration[struct{}](path, env.Lookup)
	if err != nil {
		return nil, err
	}
	var faults []yamlfile.Fault
	tasks := make([]Task, 1)
	switch kindIn(t) {
	case KindSchedule:
		_, tasks, faults, err = checkSchedule(ctx, path, env)
	case KindScore:
		_, faults, err = checkScore(ctx, path, env)
	case KindWatch:
		_, faults, err = checkWatch(ctx, path, env)
	default:
		tasks[0], faults, err = checkJob(ctx, path, env, Overrides{})
	}
	for _, p := range tasks {
		if _, files := p.Source.(Lake); files && err == nil && len(faults) == 0 && !env.Offline {
			faults = p.sourceFaults(ctx)
		}
	}
	return faults, err
}

// sourceFaults opens the source of a task without faults.
func (p Task) sourceFaults(ctx context.Context) []yamlfile.Fault {
	_, err := dataset.Open(ctx, p.Job, p.Source, nil, p.Resources, nil)
	if err == nil {
		return nil
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
func readConfiguration[T any](path string, lookup func(string) (string, bool)) (T, *yamlfile.File, error) {
	raw, err := durable.ReadSmall(path, "a job", yamlfile.MaxBytes)
	if err != nil {
		return *new(T), nil, fmt.Errorf("%w: %w", job.ErrConfig, err)
	}
	kind := kindOf(reflect.TypeFor[T]())
	c, t := yamlfile.Parse[T](kind, path, raw, lookup)
	if reflect.TypeFor[T]() != reflect.TypeFor[struct{}]() {
		if is := kindIn(t); is != "" && is != kind.Name {
			return c, t, fmt.Errorf("%w: %s: it is a %s file, and a %s file is wanted", job.ErrConfig, path, is, kind.Name)
		}
	}
	return c, t, nil
}

// defaultPoll is the time between two looks of a scheduler.
const defaultPoll = 30 * time.Second
