package pipeline

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// An Outcome is the result of a finished run, with its record.
type Outcome struct {
	Result *Result
	Record RunRecord
}

// A RunRecord holds facts about one run that do not change its certificate or model.
type RunRecord struct {
	Format      string            `json:"format"` // pacsgp-run/2
	Run         string            `json:"run"`    // name of the run in its log
	Exit        int               `json:"exit_status"`
	Fault       string            `json:"fault,omitempty"` // why the exit status is not 0
	Warnings    []certify.Warning `json:"warnings"`        // of the certificate
	Mean        Verdict           `json:"mean"`            // of the claim about predictions
	Draw        Verdict           `json:"draw"`            // of the claim about a random draw
	Required    certify.Predictor `json:"require"`         // which of the two claims Status and Bound are from
	Status      certify.Status    `json:"status"`
	Bound       float64           `json:"bound"`
	Limit       float64           `json:"limit,omitempty"`
	Certificate string            `json:"certificate"` // file names in the output directory
	Row         string            `json:"certificate_row"`
	Model       string            `json:"model"`
	ID          string            `json:"id"` // of the certificate
	Attempt     certify.Attempt   `json:"attempt"`
	Began       time.Time         `json:"began"`
	Seconds     float64           `json:"seconds"`
	Software    string            `json:"software"`
	Go          string            `json:"go"`
	Platform    string            `json:"platform"`
	Workers     int               `json:"workers"`
	Memory      int64             `json:"memory"`
	Diagnostics diagnostics       `json:"diagnostics"`
	Training    pass.Training     `json:"training"`
}

// A Verdict is the short form of a claim.
type Verdict struct {
	Status certify.Status `json:"status"`
	Bound  float64        `json:"bound"`
}

// outcome returns the outcome of a result, after it has stored the report.
func (how RunConfig) outcome(r *Result, began time.Time) (*Outcome, error) {
	mean, draw := r.Certificate.About(certify.PredictorMean), r.Certificate.About(certify.PredictorDraw)
	o := &Outcome{Result: r, Record: RunRecord{
		Format: "pacsgp-run/2", Run: how.Run, Warnings: r.Certificate.Warnings,
		Mean: Verdict{mean.Status, mean.Bound}, Draw: Verdict{draw.Status, draw.Bound},
		Certificate: CertificateName(r.ID), Row: RowName(r.ID), Model: ModelName(r.ArtifactRef.Model), ID: r.ID,
		Attempt: r.Certificate.Publisher.Attempt, Began: began.UTC().Truncate(time.Second), Seconds: time.Since(began).Seconds(),
		Software: how.Software, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Workers: how.Resources.Workers, Memory: how.Resources.Memory, Diagnostics: r.diagnostics, Training: r.Training,
	}}
	o.concluded(how)
	if how.Report == nil {
		return o, nil
	}
	return o, how.Report(o)
}

// ModelName returns the name of the model file with this SHA-256.
func ModelName(digest string) string { return "model-" + digest + ".parquet" }

// CertificateName returns the name of the JSON document of the certificate with this id.
func CertificateName(id string) string { return "certificate-" + id + ".json" }

// RowName returns the name of the Parquet file with the certificate as one row.
func RowName(id string) string { return "certificate-" + id + ".parquet" }

// ErrNotCertified means that a run has finished without the required certificate: the claim is vacuous or void, or its
// bound is above what the job requires.
var ErrNotCertified = errors.New("not certified")

// A notCertified is [ErrNotCertified] with the reason as its text.
type notCertified string

// Error returns the reason.
func (e notCertified) Error() string { return string(e) }

// Is reports whether the target is [ErrNotCertified].
func (notCertified) Is(target error) bool { return target == ErrNotCertified }

// NotCertified returns an [ErrNotCertified] with a reason.
func NotCertified(format string, args ...any) error {
	return notCertified(fmt.Sprintf(format, args...))
}

// Verdict returns nil if the claim about the required predictor is certified and its bound is within the limit. Otherwise
// it returns [ErrNotCertified] with the reason.
func (how RunConfig) Verdict(c certify.Certificate) error {
	g := c.About(how.Required)
	switch {
	case g.Status != certify.StatusCertified:
		return NotCertified("finished, but nothing useful is certified about the %s: the claim is %s (hint: %s)", g.Predictor, g.Status, Useless(c, g))
	case how.Limit > 0 && !(g.Bound <= how.Limit):
		return NotCertified("finished, but the bound for the %s, %s%s, is above what the job requires, %s",
			g.Predictor, words.Bound(c.Loss.Shares(), g.Bound), OffBy(c.Loss), words.PercentDeclared(how.Limit))
	default:
		return nil
	}
}

// Useless returns a hint about a claim that is not certified.
func Useless(c certify.Certificate, g certify.Claim) string {
	switch used := c.Delta.Reuse; {
	case g.Subset == certify.SubsetHoldout && used != nil && used.Ended:
		return "earlier jobs in this output have used these held-out rows up: train on new rows (what was certified with these still holds)"
	case g.Status == certify.StatusVoid:
		return "an assumption fails, see FAILS among those of the certificate"
	}
	return "use more rows, or better features, which you try on other rows (docs/howto/choose-features.md)"
}

// Exit statuses of a run.
const (
	ExitFailure      = 1
	ExitNotCertified = 3
	ExitConfig       = 78
)

// ExitStatus returns the exit status for an error: 0 for nil, [ExitNotCertified], [ExitConfig] for a fault of the job, and
// [ExitFailure] for others.
func ExitStatus(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ErrNotCertified):
		return ExitNotCertified
	case errors.Is(err, job.ErrConfig) && !errors.Is(err, job.ErrRefused): // a fault of a certificate's job is no fault of a job file
		return ExitConfig
	default:
		return ExitFailure
	}
}

// concluded sets, in the record, what is required, the claim about it, and the exit status with its reason.
func (o *Outcome) concluded(how RunConfig) {
	r, required := &o.Record, o.Result.Certificate.About(how.Required)
	r.Required, r.Limit, r.Status, r.Bound = how.Required, how.Limit, required.Status, required.Bound
	r.Exit, r.Fault = 0, ""
	if verdict := how.Verdict(o.Result.Certificate); verdict != nil {
		r.Exit, r.Fault = ExitStatus(verdict), verdict.Error()
	}
}
