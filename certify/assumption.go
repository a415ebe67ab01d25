package certify

// An AssumptionID names an assumption.
type AssumptionID string

// Identifiers of assumptions.
const (
	AssumeIndependentRows  AssumptionID = "independent-rows"  // training, held-out and new rows are independent draws of one source
	AssumeIndependentUnits AssumptionID = "independent-units" // the same of units, where examples are units
	AssumeSplitFixed       AssumptionID = "split-fixed"       // the split, which says which rows certify, was fixed before their values were known
	AssumeJobFixed         AssumptionID = "job-fixed"         // the job was not tuned on the rows that certify
	AssumeNumberReserved   AssumptionID = "number-reserved"   // the run's number in its sequence was fixed before its bound was known, and has only this certificate
	AssumeHoldoutUnseen    AssumptionID = "holdout-unseen"    // training did not use the held-out rows
	AssumeMeanFixed        AssumptionID = "mean-fixed"        // the column of the mean is a function of the features that was fixed without the rows that certify
	AssumeDuplicates       AssumptionID = "duplicates"        // equal rows are duplicates of one draw
	AssumeLog              AssumptionID = "log"               // the log has exactly these rows in the named segments
	AssumePrior            AssumptionID = "prior"             // prior, loss and split follow from the job and the prior rows
	AssumeRisk             AssumptionID = "risk"              // the loss sums are those of the stored model on these rows, with a proven bound on each loss
	AssumeJitter           AssumptionID = "jitter"            // the stored factor is accurate enough for its KL to be that of the theorem
)

// A Check says how an assumption is checked.
type Check string

// The checks.
const (
	CheckVerify     Check = "verify"     // by pacsgp verify with the rows
	CheckRetraining Check = "retraining" // by pacsgp verify --retrain
	CheckReplay     Check = "replay"     // by pacsgp verify --source, which reads the log again
	CheckNone       Check = "none"       // cannot be checked from these files
)

// An Assumption is one condition of the claims.
type Assumption struct {
	ID      AssumptionID `json:"id"`
	Checked Check        `json:"checked"`
	Fails   bool         `json:"fails,omitempty"` // the assumption is known to fail, and claims that rest on it are void
}

// assumptions lists what the claims rest on. What cannot be checked comes first.
func (ev Evidence) assumptions() []Assumption {
	var all []Assumption
	add := func(applies bool, id AssumptionID, checked Check, fails bool) {
		if applies {
			all = append(all, Assumption{id, checked, fails})
		}
	}
	held := ev.Delta.Uses(SubsetHoldout)
	add(ev.Counts.Units == nil, AssumeIndependentRows, CheckNone, false)
	add(ev.Counts.Units != nil, AssumeIndependentUnits, CheckNone, false)
	add(true, AssumeSplitFixed, CheckNone, false)
	add(true, AssumeJobFixed, CheckNone, ev.Delta.Reuse.ended())
	add(ev.Delta.Sequence != nil, AssumeNumberReserved, CheckNone, false)
	add(ev.Mean != nil, AssumeMeanFixed, CheckNone, ev.inside() && !held)
	add(ev.Duplicates.Policy == DuplicatesDropped && (ev.Duplicates.Rows > 0 || ev.Publisher.Training.Parent != nil && held), AssumeDuplicates, CheckNone, false)
	add(len(ev.Sample.Segments) > 0, AssumeLog, CheckReplay, false)
	add(held, AssumeHoldoutUnseen, CheckRetraining, false)
	add(true, AssumePrior, CheckVerify, false)
	add(true, AssumeRisk, CheckVerify, false)
	add(true, AssumeJitter, CheckVerify, !ev.Model.Jitter.Holds)
	return all
}
