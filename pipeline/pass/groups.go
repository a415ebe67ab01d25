package pass

import (
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// inputs are all columns of the job's rows but the target.
func inputs(j job.Job, meta ModelMeta) []string {
	if j.Groups.NotAFeature(j) {
		return append(meta.FeatureNames(), j.Groups.Column)
	}
	return meta.Inputs()
}
