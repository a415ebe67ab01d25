package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/cmd/program"
	"github.com/pacsgp/pacsgp/ingest/synth"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/report"
)

// said is what verify prints and its error, by an engine or in one process.
func said(t *testing.T, engine bool, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	if engine {
		err := verify(t.Context(), args, console{&out, t.Output()})
		return out.String(), err
	}
	k := program.Check{Resources: resources()}
	var data []string
	var err error
	k.Model, k.Certificate, data, err = artifacts(t.Context(), args)
	fatal.If(t, err)
	k.From = config.Lake(data)
	found, err := k.Run(t.Context(), nil)
	if err != nil {
		return "", err
	}
	fatal.If(t, found.Print(&out, &out, report.Style{}, true))
	return out.String(), found.Uncertified()
}

// demandSameVerdict fails the test unless an engine says what one process says, and returns it.
func demandSameVerdict(t *testing.T, args ...string) (string, error) {
	t.Helper()
	want, failure := said(t, false, args...)
	got, err := said(t, true, args...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verify %q: other words than by pacsgp verify (-want +got):\n%s", args, diff)
	}
	if (err == nil) != (failure == nil) || err != nil && (err.Error() != failure.Error() || status(err) != status(failure)) {
		t.Errorf("verify %q: %v, want %v", args, err, failure)
	}
	return got, err
}

// By an engine a certificate is checked with the words, and the status, of one process.
func TestVerifiesAsOneProcess(t *testing.T) {
	for name, lines := range map[string][]string{
		"copies counted":     nil,
		"copies dropped":     {"copies: drop"},
		"bad rows tolerated": {"bad_rows: {tolerance: 5 %}"},
		"by content":         {"roles: {by: content}"},
	} {
		t.Run(name, func(t *testing.T) {
			path := job(t, lines...)
			out, lake := outputOf(t, path), filepath.Join(filepath.Dir(path), "lake")
			temporary := t.TempDir()
			t.Setenv("TMPDIR", temporary)
			text, _ := demandSameVerdict(t, out, lake)
			if !strings.Contains(text, "the certificate follows from the model and these rows") {
				t.Errorf("it says:\n%s", text)
			}
			if left, err := filepath.Glob(filepath.Join(temporary, checkPrefix+"*")); len(left) > 0 || err != nil {
				t.Errorf("%v, %v is left over", left, err)
			}
		})
	}
}

// Workers of their own find the same; and the parts lie where the flag says.
func TestVerifiesByWorkersOfTheirOwn(t *testing.T) {
	path := job(t)
	out, lake := outputOf(t, path), filepath.Join(filepath.Dir(path), "lake")
	workers{}.use(t)
	before := *outputFlag
	defer func() { *outputFlag = before }()
	*outputFlag = filepath.Join(t.TempDir(), "none")
	if _, err := said(t, true, out, lake); err == nil || !strings.Contains(err.Error(), *outputFlag) {
		t.Errorf("without a folder for parts: %v", err)
	}
	*outputFlag = filepath.Dir(*outputFlag)
	_, err := demandSameVerdict(t, out, lake)
	finished(t, err)
	if left, err := filepath.Glob(filepath.Join(*outputFlag, "*")); len(left) > 0 || err != nil {
		t.Errorf("%v, %v is left over", left, err)
	}
}

// Forged certificates are refused as in one process.
func TestForgeriesAreRefused(t *testing.T) {
	path := job(t)
	dir := filepath.Dir(path)
	lake := filepath.Join(dir, "lake")
	model, certificate, _, err := program.ArtifactPaths(t.Context(), []string{outputOf(t, path)})
	fatal.If(t, err)
	refused := func(what string, args ...string) {
		t.Helper()
		if _, err := demandSameVerdict(t, args...); !errors.Is(err, pipeline.ErrRefused) || status(err) != 1 {
			t.Errorf("%s: %v", what, err)
		}
	}

	g, err := synth.New(synth.Config{Seed: 23, Noise: 0.1, Features: 2})
	fatal.If(t, err)
	other := filepath.Join(dir, "other") // as many rows, in as many files
	fatal.If(t, g.WriteLake(t.Context(), other, 3, 0, 180))
	refused("other rows", model, certificate, other)
	files, err := filepath.Glob(filepath.Join(lake, "*"))
	fatal.If(t, err)
	refused("fewer rows", model, certificate, files[0], files[1])

	out := outputOf(t, write(t, dir, "source: {paths: [other]}", "loss: {epsilon: 0.7}", "judge: draw"))
	foreign, _, _, err := program.ArtifactPaths(t.Context(), []string{out})
	fatal.If(t, err)
	refused("another model", foreign, certificate, lake)

	data, err := os.ReadFile(certificate)
	fatal.If(t, err)
	for _, key := range []string{`"bound":`, `"kl":`, `"train":`} {
		at := bytes.Index(data, []byte(key))
		if at < 0 {
			t.Fatalf("no %s in the certificate", key)
		}
		forged := bytes.Clone(data)
		digit := at + len(key) + bytes.IndexAny(forged[at+len(key):], "123456789")
		forged[digit] = '1' + (forged[digit]-'0')%9
		forgery := filepath.Join(dir, "forged.json")
		fatal.If(t, os.WriteFile(forgery, forged, 0o600))
		if _, err := demandSameVerdict(t, model, forgery, lake); status(err) != 1 {
			t.Errorf("%s changed: %v", key, err)
		}
	}
}

// A bad row is an error with its file, as in one process.
func TestBadRowFailsTheCheck(t *testing.T) {
	path := job(t)
	out := outputOf(t, path)
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "lake", "*"))
	fatal.If(t, err)
	spoil(t, files[1], 60)
	_, want := said(t, false, out, filepath.Dir(files[0]))
	_, err = said(t, true, out, filepath.Dir(files[0]))
	if err == nil || want == nil || !strings.HasSuffix(err.Error(), want.Error()) || status(err) != status(want) {
		t.Errorf("by an engine: %v; by one process: %v", err, want)
	}
}

// On Flink predictions and verdicts are those of one process, too.
func TestFlinkPredictsAndVerifies(t *testing.T) {
	onFlink(t)
	out, lake := certifiedJob(t)
	want, _ := oneProcess(t, out, lake)
	dir := filepath.Dir(out)
	_, err := predictInto(t, filepath.Join(dir, "predictions"), out, lake)
	fatal.If(t, err)
	demandPredictions(t, filepath.Join(dir, "predictions"), want)
	_, err = demandSameVerdict(t, out, filepath.Join(dir, "lake"))
	finished(t, err)
}
