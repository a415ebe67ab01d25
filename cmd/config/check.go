package config

import (
	"context"

	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// Check returns all faults of a file, whose kind follows from its keys. If there are none, it opens
// the sources of jobs on files, unless env.Offline is set.
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
		if p.file != nil && err == nil && !env.Offline {
			err = p.checkFiles(ctx, env.Warning)
		}
	}
	return err
}

// checkFiles opens the files that a task names: rows, and the key to sign with. It calls warning
// with the warnings of the source.
func (p Task) checkFiles(ctx context.Context, warning func(string)) error {
	var faults yamlfile.Faults
	_, err := p.Sign.Read()
	faults.Within("sign", err)
	if _, files := p.Source.(Lake); !files {
		return p.file.Merge(faults)
	}
	src, err := dataset.Open(ctx, p.Job, p.Source, nil, p.Resources, nil)
	if err == nil {
		for _, text := range src.Warnings() {
			warning(text)
		}
	}
	for _, other := range p.locate(err, p.Job, &faults) {
		faults.Within("source", other)
	}
	return p.file.Merge(faults)
}
