package pass

import (
	"slices"

	"github.com/pacsgp/pacsgp/pipeline/job"
)

// columnsOf are the columns of the job's rows, in order: those of the model, those of units, the target.
func columnsOf(j job.Job, meta ModelMeta) []string {
	return slices.Concat(inputs(j, meta), j.Unit.Columns, []string{meta.Target.Name})
}

// inputs are all columns of the job's rows but the target.
func inputs(j job.Job, meta ModelMeta) []string {
	if j.Groups.NotAFeature(j) {
		return append(meta.FeatureNames(), j.Groups.Column)
	}
	return meta.Inputs()
}
