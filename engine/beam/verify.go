package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/cmd/program"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink"
	"github.com/pacsgp/pacsgp/sink/report"
)

// A Checking names a check, whose pass over all rows workers make. They read all of it themselves.
type Checking struct {
	Model, Certificate string   // references
	Data               []string // arguments
	Folder             string   // of handover and parts
	Handover           string   // SHA-256 of the handover, which has that of the model
}

const (
	checkPrefix   = "_check-" // of the folder of its parts, which readers of lakes pass over
	checkHandover = "handover.json"
	mostHandover  = 64 << 20
)

// prepare reads certificate, handover and model. Other ones are refused.
func (k Checking) prepare(ctx context.Context) (*pipeline.Prepared, error) {
	path := filepath.Join(k.Folder, checkHandover)
	data, err := durable.ReadSmall(path, "a handover", mostHandover)
	if err != nil {
		return nil, err
	}
	if found := sink.DigestOf(data); found != k.Handover {
		return nil, fmt.Errorf("%s: its SHA-256 is %s, not %s", path, found, k.Handover)
	}
	h, err := pipeline.ParseHandover(data)
	if err != nil {
		return nil, err
	}
	m, digest, err := config.ReadModel(ctx, k.Model)
	if err == nil && !h.First() && digest != h.Model {
		err = fmt.Errorf("%s: its SHA-256 is %s, not %s", k.Model, digest, h.Model)
	}
	if err != nil {
		return nil, err
	}
	c, id, err := config.ReadCertificate(ctx, k.Certificate)
	if err != nil {
		return nil, err
	}
	from, err := config.OriginOf(k.Data)
	if err == nil {
		from, _, _, err = config.Sampled(ctx, from, "", k.Certificate, c, id)
	}
	if err != nil {
		return nil, err
	}
	open := config.OpenData(from, resources())
	return h.PrepareCheck(ctx, m, func(ctx context.Context, want pipeline.Choice) (pipeline.Source, error) { return open(ctx, want) }, resources())
}

// A checkPart makes parts of the pass over all rows of a check.
type checkPart struct {
	Checking Checking
	Of       int // parts
}

// ProcessElement makes one part.
func (f *checkPart) ProcessElement(ctx context.Context, number int, emit func(int, []byte)) error {
	part := pipeline.Part{Number: number, Of: f.Of}
	data, err := partOf(ctx, f.Checking.Handover, part, f.Checking.prepare)
	if err != nil {
		return fmt.Errorf("part %s of the check: %w", part, err)
	}
	emit(number, data)
	return nil
}

// parts has the engine make the pass over all rows, in a folder of its own.
func (k Checking) parts(ctx context.Context, h *pipeline.Handover, shards []pipeline.Shard, use func(*pipeline.Pass) error) (err error) {
	if k.Folder, err = os.MkdirTemp(k.Folder, checkPrefix); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(k.Folder)) }()
	data, err := json.Marshal(h) //nolint:gosec // G117: workers need the secret; it is of this check
	if err == nil {
		err = durable.WriteFile(durable.OS{}, filepath.Join(k.Folder, checkHandover), data)
	}
	if err != nil {
		return err
	}
	k.Handover = sink.DigestOf(data)
	defer forget(k.Handover) // if this process has worked, too
	n := partsFor(shards)
	numbers, files := partNumbers(k.Folder, n)
	if err := execute(ctx, keptParts(&checkPart{Checking: k, Of: n}, k.Folder, numbers, n)); err != nil {
		return err
	}
	all, release, err := config.MergePasses(files)
	if err != nil {
		return err
	}
	return errors.Join(use(all), release())
}

// verify is the command.
func verify(ctx context.Context, args []string, c console) (err error) {
	k := Checking{Folder: *outputFlag}
	if k.Model, k.Certificate, k.Data, err = artifacts(ctx, args); err != nil {
		return err
	}
	if k.Folder != "" {
		if err := errors.Join(config.Local(k.Folder), absolute(&k.Folder)); err != nil {
			return err
		}
	}
	from, err := config.OriginOf(k.Data)
	if err != nil {
		return err
	}
	check := program.Check{
		Model: k.Model, Certificate: k.Certificate, From: from, Trusted: string(*trustedFlag), Judge: pipeline.Judge(*judgeFlag),
		Resources: resources(), Parts: k.parts, Afford: program.AffordCheck(here, resources(), false, program.LessHere),
	}
	found, err := check.Run(ctx, nil)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := found.Print(&text, &text, report.Style{}, true); err != nil {
		return err
	}
	out := report.NewEscaper(c.stdout)
	_, _ = out.Write(text.Bytes())
	return errors.Join(out.Flush(), found.Uncertified())
}
