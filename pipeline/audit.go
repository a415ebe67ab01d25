package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sort"

	"github.com/pacsgp/pacsgp/certify"
)

// An Audit is what the job of a certificate comes to under a key of the auditor's own.
type Audit struct {
	Key    string
	Result *Result // the auditor's certificate, and how it came about
	Maker  Misses  // among the hold-out rows of the certificate
	Own    Misses  // among those of the auditor

	// Chance is the probability that two splits of equal risk differ so much, to the maker's
	// advantage; Explained is the largest share of the auditor's rows for which it is at
	// least [AuditLevel].
	Chance, Explained float64
}

// Misses are the losses on n hold-out rows, rounded up to whole rows. Where the bound is all that
// a certificate shows of them, they are as many misses as have no greater bound.
type Misses struct {
	Lost, Rows int64
	Bound      float64 // that follows from them, with the auditor's share of delta and look
	Alike      bool    // the bound is all that is known, with its own
}

// String says how many they are.
func (m Misses) String() string {
	words := "%d of %d hold-out rows missed"
	if m.Alike {
		words = "as good as %d of %d hold-out rows missed"
	}
	return fmt.Sprintf(words, m.Lost, m.Rows)
}

// Share is the share of the rows.
func (m Misses) Share() float64 { return float64(m.Lost) / float64(m.Rows) }

// AuditLevel is how rare a difference has to be for an audit to contradict a certificate.
const AuditLevel = 0.05

// Audit trains the job of the certificate again on the same rows, whose roles follow from
// key, and certifies the result. Nobody's word about training or the split is in it, if the
// auditor has drawn the key after the job and the order of the rows were fixed. Sink and Software of env have to be set.
// It comes after a [Verify] that found the rows to be the sample.
func (v *Verification) Audit(ctx context.Context, open OpenData, key string, env Environment) (*Audit, error) {
	c := v.certificate
	_, ok := c.HeldOut()
	switch {
	case !v.Evidence:
		return nil, errors.New("pipeline: an audit takes the rows")
	case !ok:
		return nil, NotCertified("the certificate has no hold-out rows: there is nothing in it that an audit would add to")
	case c.Declared.Training.Ancestor != nil:
		return nil, NotCertified("a job with a warm start cannot be audited: training began with the model of certificate %s, and nobody can repeat under another key what that model has seen", c.Declared.Training.Ancestor.Certificate)
	case c.Mean != nil:
		return nil, NotCertified("the prior's mean is the column %q: it was fitted without the hold-out rows of its maker's key, and nobody knows without which of yours: fit it again under your key (pacsgp split), and certify that", c.Mean.Column)
	case c.Roles.Last:
		return nil, NotCertified("the hold-out rows are the last ones, which follow from no key: there is nothing for an auditor to draw. Rows that came after the model was published test it")
	case key == c.Roles.Key:
		return nil, fmt.Errorf("%w: %q is the key of the certificate: an audit needs one that its maker did not choose", ErrConfig, key)
	}
	job, err := v.auditedJob(key)
	if err != nil {
		return nil, err
	}
	env.Open = func(ctx context.Context, features []string) (Source, error) {
		if features != nil {
			return open(ctx, features, nil, job.Target, job.BadRows.Some())
		}
		return open(ctx, job.Features, job.Exclude, job.Target, job.BadRows.Some())
	}
	env.Attempts, env.Checkpoints, env.hurried = uncounted{}, noCheckpoints{}, &c.Declared.Training.Hurried
	r, err := Run(ctx, job, env)
	if err != nil {
		return nil, err
	}
	if got := r.Certificate.Sample; got.Targets != c.Sample.Targets || got.Rows != c.Sample.Rows {
		return nil, fmt.Errorf("%w: the targets have the digest %s now, not %s", ErrChanged, got.Targets, c.Sample.Targets)
	}
	own, ok := r.Certificate.HeldOut()
	if !ok {
		return nil, errors.New("pipeline: the audited job has made no hold-out")
	}
	held, err := underDelta(c, r.Certificate.Delta)
	if err != nil {
		return nil, err
	}
	a := &Audit{Key: key, Result: r, Maker: misses(held, c.Delta), Own: misses(own, r.Certificate.Delta)}
	a.Chance = asLucky(a.Maker, a.Own)
	a.Explained = explained(a.Maker, a.Own)
	return a, nil
}

// underDelta is the hold-out guarantee that the evidence of a certificate gives with another share of
// delta, or as another look at its rows: bounds of two certificates compare at the same ones. A bound that
// stands alone stays: only its rows tell another.
func underDelta(c certify.Certificate, d certify.Delta) (certify.Guarantee, error) {
	if g, _ := c.HeldOut(); g.EmpiricalRisk == (certify.Risk{}) {
		return g, nil
	}
	ev, err := c.Evidence()
	if err != nil {
		return certify.Guarantee{}, err
	}
	ev.Delta = d
	again, err := certify.Certify(ev)
	g, _ := again.HeldOut()
	return g, err
}

// auditedJob is the certificate's job under another key: of a sweep the alternative by
// itself, and of a sequence one certificate that is none of it.
func (v *Verification) auditedJob(key string) (Job, error) {
	job, err := statedJob(v.certificate.Configuration)
	if err != nil {
		return job, err
	}
	job = job.withoutSweep()
	job.DeltaPolicy, job.Horizon, job.Roles.Key = "", 0, key
	return job.WithDefaults()
}

// Words say how far both numbers are from each other.
func (a *Audit) Words() string {
	text := fmt.Sprintf("If both splits are of equal risk, chance explains up to %.2f %% of your rows (in all but 1 of %.0f audits). ", 100*a.Explained, 1/AuditLevel)
	if a.Chance >= AuditLevel {
		return text + "Your number does not contradict the maker's."
	}
	return text + fmt.Sprintf("Your number is worse: so large a difference has a chance of %.2g. The maker's split was easier than a random one.", a.Chance)
}

// NotChecked is what an audit does not show.
func (*Audit) NotChecked() string {
	return "that the job owes nothing to the values of these rows. Who tries many jobs on all of them finds one that fits them, under any key: only rows that come later show that. Of several audits the first counts"
}

// Verdict is nil unless chance does not explain how much better the maker's number is, or
// the auditor's promises nothing; then it is [ErrNotCertified].
func (a *Audit) Verdict() error {
	if !(a.Chance >= AuditLevel) {
		return NotCertified("the audit contradicts the certificate: yours is %s, the maker's %s", a.Own, a.Maker)
	}
	if g, _ := a.Result.Certificate.HeldOut(); g.Status != certify.StatusConditional {
		return NotCertified("your certificate promises nothing about the %s: its guarantee is %s", g.Predictor, g.Status)
	}
	return nil
}

func misses(g certify.Guarantee, spends certify.Delta) Misses {
	if g.EmpiricalRisk == (certify.Risk{}) {
		more := sort.Search(int(g.N), func(k int) bool {
			limit, err := certify.BinomialUpper(int64(k), g.N, g.Delta, spends.Share(certify.MethodHoldout))
			return err != nil || limit > g.Bound
		})
		return Misses{Lost: int64(max(0, more-1)), Rows: g.N, Bound: g.Bound, Alike: true}
	}
	sum := g.EmpiricalRisk.Upper * float64(g.N)
	return Misses{Lost: min(g.N, int64(math.Ceil(sum*(1-0x1p-40)))), Rows: g.N, Bound: g.Bound}
}

// asLucky is the probability that the maker's rows have at most the losses that they have,
// if those of both hold-outs together had fallen on them by chance (Fisher's exact test).
func asLucky(maker, own Misses) float64 {
	lost, rows := maker.Lost+own.Lost, maker.Rows+own.Rows
	var p float64
	for k := max(0, lost-own.Rows); k <= maker.Lost; k++ {
		p += math.Exp(lnChoose(maker.Rows, k) + lnChoose(own.Rows, lost-k) - lnChoose(rows, lost))
	}
	return min(p, 1)
}

// explained is the largest share of the auditor's rows that chance explains.
func explained(maker, own Misses) float64 {
	lost := sort.Search(int(own.Rows), func(k int) bool {
		return asLucky(maker, Misses{Lost: int64(k) + 1, Rows: own.Rows}) < AuditLevel
	})
	return float64(lost) / float64(own.Rows)
}

// lnChoose is the logarithm of n over k.
func lnChoose(n, k int64) float64 {
	ln := func(x int64) float64 {
		y, _ := math.Lgamma(float64(x) + 1)
		return y
	}
	return ln(n) - ln(k) - ln(n-k)
}

// uncounted counts nothing.
type uncounted struct{}

func (uncounted) Record(context.Context, Attempt) (onRows, inLog int, err error) { return 1, 1, nil }
