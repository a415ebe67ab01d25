package pipeline

import (
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
)

// evidence hands plain numbers and words over to certify: what the last pass
// found and what the job declared.
func (r *Result) evidence(job Job, found *examination, jitter certify.JitterCheck, configuration []byte) (certify.Evidence, error) {
	meta := r.Model.Meta
	kl, err := certify.GaussianKL(r.Model.Posterior.Mean, r.Model.Posterior.Factor, r.Model.Posterior.Inducing())
	if err != nil {
		return certify.Evidence{}, err
	}
	ev := certify.Evidence{
		Loss: certify.Loss{
			Kind: meta.Loss.Kind, Epsilon: meta.Loss.Epsilon, Below: meta.Loss.Below, Above: meta.Loss.Above,
			Target: meta.Target.Name, Unit: job.Loss.Unit,
		},
		Delta:    job.Spends(),
		Risk:     found.Risk,
		KL:       kl,
		Kernel:   certify.Kernel{Family: meta.Kernel, ARD: meta.ARD},
		Theta:    meta.Theta,
		Constant: certify.Constant{Value: meta.Target.Centre, Origin: certify.OriginDeclared, Risk: found.Baseline},
		Ledger: certify.Ledger{
			Unit: "row", Rows: found.Rows, Reference: found.Rows - found.Train, Train: found.Train,
		},
		Sample: certify.Sample{
			Digest: found.Digest.String(), Targets: found.Targets.String(), Shards: int64(found.Shards), Rows: found.Rows,
			Columns: append(meta.featureNames(), meta.Target.Name),
		},
		RowRules:      meta.RowRules,
		ModelDigest:   r.ModelDigest,
		Configuration: configuration,
		RolesKey:      job.Roles.Key,
		OptimiserSeed: job.Train.Seed,
		Jitter:        jitter,
		Assumptions:   assumptions(job, found.Neighbour),
	}
	if len(found.Reference) > 0 {
		ev.Constant.Value, ev.Constant.Origin = found.Constant, certify.OriginReference
	}
	return ev, nil
}

// assumptions states what the run enforced, what it had to assume, and what it
// broke. Numbers in a diagnostic are rounded to what does not depend on the
// machine.
func assumptions(job Job, n Neighbours) []certify.Assumption {
	rows := certify.Assumption{ID: certify.AssumeIndependentRows, Status: certify.AssumptionAssumed}
	rows.Diagnostic = fmt.Sprintf("Correlation of the targets of neighbouring rows: %.3f over %d pairs.", n.Correlation, n.Pairs)
	switch {
	case n.Suspicious():
		rows.Diagnostic += " Independent rows in order of arrival would hardly show this: unless the rows were sorted, they depend on each other, and the bound may be too low."
	case n.Pairs > 1000:
		rows.Diagnostic += " This does not speak against independence."
	default:
		rows.Diagnostic += " So few pairs show little."
	}
	prior := certify.Assumption{ID: certify.AssumePriorFirst, Status: certify.AssumptionEnforced}
	loss := certify.Assumption{ID: certify.AssumeLossFirst, Status: certify.AssumptionEnforced}
	if job.Scaling.Mode == ScalingAllRows {
		prior.Status = certify.AssumptionBroken
		prior.Diagnostic = "scaling.mode is all-rows: features and target were scaled with the mean and deviation of all rows, the certified ones included."
		if job.Loss.EpsilonStd != 0 {
			loss.Status = certify.AssumptionBroken
			loss.Diagnostic = "The tolerance was given in standard deviations of the target over all rows, the certified ones included."
		}
	}
	if job.Scaling.Mode == ScalingDeclared {
		prior.Status = certify.AssumptionAssumed
		prior.Diagnostic = "The scaling constants were declared. That they were not computed from the certified rows cannot be seen."
	}
	accuracy := certify.Assumption{ID: certify.AssumeLossAccuracy, Status: certify.AssumptionAssumed}
	accuracy.Diagnostic = fmt.Sprintf("Up to %d train rows picked by the key, and up to %d of smallest variance, were computed again in 106-bit arithmetic: each loss agreed within a tenth of the slack.", auditKeyed, auditSharp)
	enforced := func(id string) certify.Assumption {
		return certify.Assumption{ID: id, Status: certify.AssumptionEnforced}
	}
	return []certify.Assumption{
		rows, prior, loss,
		enforced(certify.AssumeRolesByKey), enforced(certify.AssumeSeparatePass), accuracy,
	}
}
