package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sort"

	"github.com/pacsgp/pacsgp/certify"
)

// An Audit is the result of a certificate's job under the auditor's own key.
type Audit struct {
	Key    string
	Result *Result // with the auditor's certificate
	Maker  Misses  // among the maker's hold-out rows
	Own    Misses  // among the auditor's

	// Chance is the probability that two splits of equal risk differ so much, to the maker's
	// advantage; Explained is the largest share of the auditor's rows for which it is at
	// least [AuditLevel].
	Chance, Explained float64
}

// Misses are the losses on hold-out rows, or units, rounded up to whole ones. If a certificate discloses
// nothing but the bound, they are the largest number of misses with no greater bound.
type Misses struct {
	Lost, Rows int64
	Of         string  // row or unit
	Bound      float64 // with the auditor's share of delta, and as his look
	Alike      bool    // Lost follows from the bound, which keeps its own share
}

// String counts the misses in words.
func (m Misses) String() string {
	words := "%d of %d hold-out %ss missed"
	if m.Alike {
		words = "as good as " + words
	}
	return fmt.Sprintf(words, m.Lost, m.Rows, m.Of)
}

// Share is the share of the rows.
func (m Misses) Share() float64 { return float64(m.Lost) / float64(m.Rows) }

// AuditLevel is the probability of a difference below which an audit contradicts a certificate.
const AuditLevel = 0.05

// Audit trains the job of the certificate again on the same rows, with roles by the auditor's key,
// and certifies the result. It rests on nobody's word about training or the split, if the key was
// drawn after the job and the order of the rows were fixed. It needs Sink and Software of env, and
// a [Verify] that has read the rows.
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
	open = job.openData(open)
	env.Open = func(ctx context.Context, features []string) (Source, error) {
		return open(ctx, job.choice(features, env.Resources))
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
	a := &Audit{Key: key, Result: r, Maker: misses(held, c), Own: misses(own, r.Certificate)}
	a.Chance = asLucky(a.Maker, a.Own)
	a.Explained = explained(a.Maker, a.Own)
	return a, nil
}

// underDelta is the hold-out guarantee of a certificate with another share of delta, or as another look
// at its rows, so that it compares with another certificate. A bound without its risk stays as it is:
// only the rows could give another one.
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

// auditedJob is the certificate's job under another key: an alternative without its sweep, a
// certificate without its sequence.
func (v *Verification) auditedJob(key string) (Job, error) {
	job, err := statedJob(v.certificate.Configuration)
	if err != nil {
		return job, err
	}
	job = job.withoutSweep()
	job.DeltaPolicy, job.Horizon, job.Roles.Key = "", 0, key
	return job.WithDefaults()
}

// Words compares both numbers.
func (a *Audit) Words() string {
	text := fmt.Sprintf("If both splits are of equal risk, chance explains up to %.2f %% of your %ss (in all but 1 of %.0f audits). ", 100*a.Explained, a.Own.Of, 1/AuditLevel)
	if a.Chance >= AuditLevel {
		return text + "Your number does not contradict the maker's."
	}
	return text + fmt.Sprintf("Your number is worse: so large a difference has a chance of %.2g. The maker's split was easier than a random one.", a.Chance)
}

// NotChecked is what an audit does not show.
func (*Audit) NotChecked() string {
	return "that the job owes nothing to the values of these rows. Who tries many jobs on all of them finds one that fits them, under any key: only rows that come later show that. Of several audits the first counts"
}

// Verdict is nil if chance explains the maker's advantage and the auditor's certificate promises
// something; else it is [ErrNotCertified] with the reason.
func (a *Audit) Verdict() error {
	if !(a.Chance >= AuditLevel) {
		return NotCertified("the audit contradicts the certificate: yours is %s, the maker's %s", a.Own, a.Maker)
	}
	if g, _ := a.Result.Certificate.HeldOut(); g.Status != certify.StatusConditional {
		return NotCertified("your certificate promises nothing about the %s: its guarantee is %s", g.Predictor, g.Status)
	}
	return nil
}

// misses are those of a hold-out guarantee, with the share of delta of a certificate.
func misses(g certify.Guarantee, c certify.Certificate) Misses {
	m := Misses{Rows: g.N, Of: c.Ledger.Example(), Bound: g.Bound}
	if g.EmpiricalRisk == (certify.Risk{}) {
		more := sort.Search(int(g.N), func(k int) bool {
			limit, err := certify.BinomialUpper(int64(k), g.N, g.Delta, c.Delta.Share(certify.MethodHoldout))
			return err != nil || limit > g.Bound
		})
		m.Lost, m.Alike = int64(max(0, more-1)), true
		return m
	}
	sum := g.EmpiricalRisk.Upper * float64(g.N)
	m.Lost = min(g.N, int64(math.Ceil(sum*(1-0x1p-40))))
	return m
}

// asLucky is the probability that the maker's rows have so few losses or fewer, if chance
// distributes the losses of both hold-outs over all their rows (Fisher's exact test).
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
