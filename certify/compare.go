package certify

import (
	"fmt"
	"slices"
	"strings"
)

// Incomparable returns the reasons why the numbers of two certificates cannot be compared: another
// target, another loss or tolerance, or other rows. There are none if they can be compared. No
// certificate says whether rows of files come from the same source.
func Incomparable(a, b Certificate) []string {
	if len(a.Guarantees) == 0 || len(b.Guarantees) == 0 {
		return []string{"one of them guarantees nothing"}
	}
	var reasons []string
	differ := func(what, one, other string) {
		if one != other {
			reasons = append(reasons, fmt.Sprintf("%s: %s and %s", what, one, other))
		}
	}
	one, other := a.Guarantees[0].Loss, b.Guarantees[0].Loss
	differ("the target", quoted(one.Target), quoted(other.Target))
	differ("the loss", string(one.Kind), string(other.Kind))
	if one.Kind == other.Kind {
		differ("the tolerance", one.Loss.tolerance(), other.Loss.tolerance())
	}
	differ("the unit of the target", unitOr(a.Declared.Unit), unitOr(b.Declared.Unit))
	differ("what counts as one example", a.Ledger.Unit, b.Ledger.Unit)
	differ("the row rules that fresh rows satisfy", strings.Join(a.RowRules, ", "), strings.Join(b.RowRules, ", "))
	if s, t := topics(a), topics(b); s != "" && t != "" {
		differ("the topic of the rows", s, t)
	}
	return reasons
}

// Under certifies the evidence of the certificate anew at the δ of another certificate of the same
// job, so that their bounds can be compared. A bound without its losses stays as it is, for only
// the rows could give another one.
func (c Certificate) Under(d Delta) (Certificate, error) {
	ev, err := c.Evidence()
	if err != nil {
		return Certificate{}, err
	}
	ev.Delta.Declared, ev.Delta.Sequence = d.Declared, d.Sequence
	return Certify(ev)
}

// tolerance prints the tolerances of the loss.
func (l Loss) tolerance() string {
	switch l.Kind.Tolerances() {
	case TwoSided:
		return plain(l.Below) + " below to " + plain(l.Above) + " above"
	case OneTolerance:
		return plain(l.Epsilon)
	case ShareTolerance:
		return l.Share()
	case NoTolerance:
	}
	return "none"
}

func unitOr(unit string) string {
	if unit == "" {
		return "none"
	}
	return quoted(unit)
}

func topics(c Certificate) string {
	var names []string
	for _, s := range c.Sample.Segments {
		if !slices.Contains(names, s.Topic) {
			names = append(names, s.Topic)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
