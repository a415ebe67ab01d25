package lake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/pipeline"
)

// CurrentFile is the name of the pointer to the current certified model of an output. The pointer
// is replaced atomically, after the files that it names are published.
const CurrentFile = "current.json"

const (
	pointerFormat = "pacsgp-current/1"
	maxPointer    = 1 << 20
)

type pointer struct {
	Format      string            `json:"format"`
	ID          string            `json:"id"` // of the certificate
	Certificate string            `json:"certificate"`
	Model       string            `json:"model"`
	Predictor   certify.Predictor `json:"predictor"` // that the bound is about
	Bound       float64           `json:"bound"`
	Status      certify.Status    `json:"status,omitempty"` // of the claim with the bound
	Since       time.Time         `json:"since"`
}

// Current reads the pointer to the current model. It returns nil if there is none.
func (o *Output) Current() (*pipeline.Current, error) {
	path := o.Path(CurrentFile)
	var p pointer
	data, err := readAtMost(o.fs, path, maxPointer)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = certify.Unmarshal(data, &p)
	}
	again, _ := json.MarshalIndent(p, "", "  ")
	switch {
	case err != nil:
	case p.Format != pointerFormat:
		err = fmt.Errorf("its format is %q, want %q", p.Format, pointerFormat)
	case string(data) != string(again)+"\n" || p.Predictor != certify.PredictorMean && p.Predictor != certify.PredictorDraw || time.Until(p.Since) > time.Hour:
		err = errors.New("it was edited")
	}
	digest := strings.TrimSuffix(strings.TrimPrefix(p.Model, "model-"), ".parquet")
	if err == nil && (p.Model != ModelName(digest) || p.Model != filepath.Base(p.Model) || p.Certificate != CertificateName(p.ID)) {
		err = fmt.Errorf("%q and %q are not the names of a certificate and a model next to it", p.Certificate, p.Model)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: it is no pointer: %w (hint: restore it, or make a certificate current: pacsgp promote ID DIR)", path, err)
	}
	return &pipeline.Current{ArtifactRef: pipeline.ArtifactRef{ID: p.ID, Model: digest}, Verdict: pipeline.Verdict{Status: p.Status, Bound: p.Bound}, Predictor: p.Predictor, Since: p.Since}, nil
}

// ErrNoOutput means that a folder is missing or has no files of a job.
var ErrNoOutput = errors.New("no output directory of a job")

// CurrentIn reads the pointer of a folder. It is an error if there is none; the error says why.
func CurrentIn(folder string) (pipeline.Current, error) {
	o := NewOutput(folder, nil)
	p, err := o.Current()
	if err == nil && p == nil {
		all, unread := o.Certificates()
		names, _ := o.fs.List(o.path)
		switch {
		case slices.Contains(names, TrainingStateFile):
			err = fmt.Errorf("%s: trained, and nothing is certified yet (hint: go on with pacsgp pass for each part, then pacsgp certify)", folder)
		case len(all) == 0 && unread == nil && slices.Contains(names, LogFile):
			err = fmt.Errorf("%s: no run has ended (hint: start the job again, and it goes on)", folder)
		case len(all) == 0 && unread == nil:
			err = fmt.Errorf("%s is %w (hint: name the output directory of train, before any data)", folder, ErrNoOutput)
		default:
			err = fmt.Errorf("%s: nothing is current (hint: a run that ends with 3 makes nothing current; name its model and certificate, or train again)", o.Path(CurrentFile))
		}
	}
	if err != nil {
		return pipeline.Current{}, err
	}
	return *p, nil
}

// CurrentPaths returns the paths of the current model and certificate in a folder, which its pointer
// may name, too. ok is false if path is neither, which is an error if path ends with a slash.
func CurrentPaths(ctx context.Context, path string) (model, certificate string, ok bool, err error) {
	if filepath.Base(path) == CurrentFile {
		path = objects.Dir(path)
	}
	if ok, err = objects.IsFolder(ctx, path); err != nil || !ok {
		if err == nil && strings.HasSuffix(path, "/") {
			err = fmt.Errorf("%s: there is no such directory", path)
		}
		return "", "", false, err
	}
	p, err := CurrentIn(path)
	return objects.Join(path, ModelName(p.Model)), objects.Join(path, CertificateName(p.ID)), true, err
}

// Point replaces the pointer to the current model.
func (o *Output) Point(to pipeline.Current) error {
	return o.putJSON(CurrentFile, pointer{pointerFormat, to.ID, CertificateName(to.ID), ModelName(to.Model), to.Predictor, to.Bound, to.Status, to.Since})
}

// Damaged returns an error if the current model of an output cannot be used. It reads the whole
// model file. It returns nil if nothing is current, and does not check outputs in an object store.
func Damaged(folder string) error {
	if objects.IsAddress(folder) {
		return nil
	}
	p, err := NewOutput(folder, nil).Current()
	if err != nil || p == nil {
		return err
	}
	path := filepath.Join(folder, ModelName(p.Model))
	f, _, err := durable.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the current model cannot be used: %s is missing", path)
	}
	sum := ""
	if err == nil {
		sum, err = digestOf(f)
	}
	if err == nil && sum != p.Model {
		err = fmt.Errorf("%s is damaged: its content is not what its name says", path)
	}
	if err != nil {
		return fmt.Errorf("the current model cannot be used: %w", err)
	}
	return nil
}
