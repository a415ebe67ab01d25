package watch

import (
	"fmt"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline"
)

// A Report is the result of a test.
type Report struct {
	Statement string  // in words
	Bound     float64 // on the expected loss, on average over the rows or units so far; 1 without any
	Alarm     string  // why the alarm was raised; "" if it was not
}

// Report returns the result so far of the test of the certificate c.
func (t *Test) Report(c certify.Certificate) (r Report, err error) {
	example, over := t.about()
	loss, _ := Promise(c, t.Unit)
	r.Bound = 1
	n := t.Losses.Count()
	switch {
	case n == 0 && t.Unit != nil:
		r.Statement = "no unit has ended yet (one ends with the first file that begins another unit and has no row of it)"
	case n == 0:
		r.Statement = "no new row with a target has come yet"
	default:
		if r.Bound, err = certify.NextBound(t.Losses, c.Delta.Declared); err != nil {
			return r, err
		}
		of := words.Count(n, "new "+example)
		if t.Unit != nil {
			of = "the rows of a unit, on average over " + of + words.If(loss.Kind.Counts(), ",")
		}
		found, mean := "%s of %s were missed%s; the expected share", words.PercentNear(t.Losses.Upper())
		if !loss.Kind.Counts() {
			found, mean = "the mean loss is %s for %s%s; the expected loss", words.Bound(loss.Shares(), t.Losses.Upper())
		}
		r.Statement = fmt.Sprintf(found+" is at most %s (%s confidence)", mean, of, pipeline.OffBy(loss), words.Bound(loss.Shares(), r.Bound), words.Confidence(c.Delta.Declared))
		if r.Bound < t.Alarm.Bound {
			r.Statement += ", below the certified " + words.Bound(loss.Shares(), t.Alarm.Bound)
		} else if t.Alarm.Bound < 1 {
			r.Statement += "; certified: at most " + words.Bound(loss.Shares(), t.Alarm.Bound)
		}
	}
	for _, n := range []struct {
		rows  int64
		which string
	}{
		{t.Unlabelled, "without a target"},
		{t.Bad, "that break the row rules"},
		{t.Known, "of training, of files older than the model, counted before, or in a file that was written again"},
		{t.Open, "of units that have not ended"},
		{t.Late, "of no unit: theirs had ended before, or has rows of two models"},
	} {
		if n.rows > 0 {
			r.Statement += fmt.Sprintf("; not counted: %s %s", words.Count(n.rows, "row"), n.which)
		}
	}
	if r.Alarm = t.Raised(c); r.Alarm != "" {
		r.Statement += ". ALARM: the certified bound does not hold" + over
		return r, nil
	}
	if !speaksOf(c, t.Unit) {
		r.Statement += fmt.Sprintf("; what is certified is about units of %s, so that there is no bound on %s to raise an alarm above (hint: unit: {column: [%s]} in a watch file counts them)",
			strings.Join(c.Counts.Units.Columns, ", "), counts(t.Unit), strings.Join(c.Counts.Units.Columns, ", "))
	} else if t.Alarm.Bound == 1 {
		r.Statement += "; nothing is certified about these predictions, so that there is no bound to raise an alarm above"
	}
	return r, nil
}

// Raised returns why and where the alarm of the certificate c was raised, or "" if it was not or t is nil.
func (t *Test) Raised(c certify.Certificate) string {
	if t == nil || t.Alarm.Raised == 0 {
		return ""
	}
	example, over := t.about()
	loss, _ := Promise(c, t.Unit)
	a, in := t.Alarm, map[bool]string{true: "in", false: "the last of which ended with"}[t.Unit == nil]
	return fmt.Sprintf("the certified bound of %s%s does not hold%s: clear after %s, %s %s. If it held, such an alarm would have a probability of at most %s",
		words.Bound(loss.Shares(), a.Bound), pipeline.OffBy(loss), over, words.Count(a.Raised, "new "+example), in, t.Where, words.PercentDeclared(a.Delta))
}

// about returns the word for what a test counts, and what the tested bound is about.
func (t *Test) about() (example, over string) {
	if t.Unit != nil {
		return "unit", " on average over units of " + strings.Join(t.Unit, ", ")
	}
	return "row", " for these rows"
}

// Ends says what ends an alarm.
const Ends = "The alarm ends when another model becomes current: by training on the newest rows, or by pacsgp promote ID DIR, which is needed where promote: {within: …} holds back a larger bound. " +
	"If a delivery was at fault and is mended, stop the watch, remove watch.json from the folder state, and start it again."
