package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// besideFeatures finds the key for a fault of a column that is read in addition to the features, and adds a remedy.
func besideFeatures(fault ingest.ChoiceError, j job.Job) ingest.ChoiceError {
	switch {
	case fault.Key == "features" && j.Features == nil: // default features have no faults
		fault.Key, fault.Index = "encode", -1
		if !slices.ContainsFunc(j.Encode, func(e job.Encoding) bool { return !e.Scaled }) {
			fault.Key = "fill"
		}
	case fault.Key == "unit" && j.Groups.Texts != nil:
		fault.Key, fault.Index = "groups", -1
	case fault.Key == "behind" && j.Mean.Given():
		fault.Key = "mean"
	case fault.Key == "behind":
		fault.Key = "groups"
		fault.Text = strings.TrimSuffix(fault.Text, ", or leave it out of the features") + ", or, if it is text, list its texts, as in groups: {" + j.Groups.Column + ": [a, b]}"
	}
	return fault
}

// Located adds positions in the job file to those faults in err that are about its keys.
func (p Task) Located(err error, j job.Job) error {
	if p.file == nil {
		return err
	}
	var faults yamlfile.Faults
	others := p.locate(err, j, &faults)
	return errors.Join(append([]error{p.file.Merge(faults)}, others...)...)
}

// locate adds the faults in err about keys of the job file to faults, and returns the other errors.
func (p Task) locate(err error, j job.Job, faults *yamlfile.Faults) (others []error) {
	for _, each := range yamlfile.Separate(err) {
		key, text, _ := strings.Cut(strings.TrimPrefix(each.Error(), job.ErrConfig.Error()+": "), ": ")
		found, ok := errors.AsType[*ingest.ChoiceError](each)
		if ok {
			choice := besideFeatures(*found, j)
			key, text = choice.Key, choice.Text
			if at := fmt.Sprintf("%s[%d]", key, choice.Index); p.file.Has(at) {
				key = at
			}
		}
		if ok || errors.Is(each, job.ErrConfig) && p.file.Has(key) {
			faults.Add(key, "%s", text)
		} else {
			others = append(others, each)
		}
	}
	return others
}
