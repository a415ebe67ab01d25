package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// besideFeatures says of a fault of a column that is read next to the features which key names it, and what
// helps.
func besideFeatures(of ingest.ChoiceError, j job.Job) ingest.ChoiceError {
	switch {
	case of.Key == "features" && j.Features == nil && j.NotAFeature() == nil: // default features have no faults
		of.Key, of.Index = "encode", -1
		if !slices.ContainsFunc(j.Encode, func(e job.Encoding) bool { return !e.Scaled }) {
			of.Key = "fill"
		}
	case of.Key == "unit" && j.Groups.Texts != nil:
		of.Key, of.Index = "groups", -1
	case of.Key != "features" || j.NotAFeature() == nil || j.Features != nil && of.Index < len(j.Features):
	case j.Mean.Column != "":
		of.Key, of.Index = "mean", -1
	default:
		of.Key, of.Index = "groups", -1
		of.Text = strings.TrimSuffix(of.Text, ", or leave it out of the features") + ", or, if it is text, list its texts, as in groups: {" + j.Groups.Column + ": [a, b]}"
	}
	return of
}

// Located adds the positions in the job file to the faults of a choice of columns.
func (p Task) Located(err error, j job.Job) error {
	if _, ok := errors.AsType[*ingest.ChoiceError](err); !ok || p.file == nil {
		return err
	}
	all := yamlfile.Separate(err)
	for i, fault := range all {
		found, ok := errors.AsType[*ingest.ChoiceError](fault)
		if !ok {
			continue
		}
		choice := besideFeatures(*found, j)
		key := choice.Key
		if choice.Index >= 0 {
			key = fmt.Sprintf("%s[%d]", key, choice.Index)
		}
		at := cmp.Or(p.file.Position(key), p.file.Position(choice.Key))
		all[i] = fmt.Errorf("%w: %s%s: %s", job.ErrConfig, at, choice.Key, choice.Text)
	}
	return errors.Join(all...)
}
