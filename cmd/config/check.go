package config

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// Check finds the faults of a file, whose keys tell its kind.
func Check(ctx context.Context, path string, env Environment) ([]yamlfile.Fault, error) {
	_, t, err := readConfiguration[struct{}](path, env.Lookup)
	if err != nil {
		return nil, err
	}
	var faults []yamlfile.Fault
	switch kindIn(t) {
	case KindSchedule:
		_, _, faults, err = checkSchedule(ctx, path, env)
	case KindScore:
		_, faults, err = checkScore(ctx, path, env)
	case KindWatch:
		_, faults, err = checkWatch(ctx, path, env)
	default:
		_, faults, err = checkJob(ctx, path, env, Overrides{})
	}
	return faults, err
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
