package config

import (
	"context"
	"errors"
	"strings"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
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
