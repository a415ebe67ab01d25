package report

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
)

// A Page is a certificate in words, in reading order. Names of columns and the maker's words are
// not escaped.
type Page struct {
	ID        string // SHA-256 of the document
	Headlines []Headline
	Doubts    []string // reasons not to believe the headlines
	Remarks   []string // on the headlines
	Sections  []Section
}

// A Headline is a guarantee in one line, for a decision.
type Headline struct {
	Status certify.Status
	Words  string
}

// A Section of a page has paragraphs, a table of numbers, assumptions, a list or fields.
type Section struct {
	Title       string
	Words       []string
	Rows        []Row
	Assumptions []certify.Assumption
	List        []string
	Fields      []Field
}

// A Row is a number with its name and a remark. A row without a name continues the one above.
type Row struct{ Name, Number, Remark string }

// A Field is a name and its meaning.
type Field struct{ Name, Words string }

// makersWord is the title of declarations.
const makersWord = "What its maker says, and model and rows do not show"

// A Reader is the reader of a certificate.
type Reader int

// The readers.
const (
	Anybody Reader = iota // has checked the certificate against the rows
	Maker                 // the run that made it
	Unread                // has not read the rows
)

// Claimed replaces a status that promises something for a reader who has not read the rows.
const Claimed certify.Status = "claimed"

// PageOf puts a certificate into words: its statements, the terms of the bound, the assumptions,
// and its limits.
func PageOf(c certify.Certificate, who Reader) (Page, error) {
	document, err := certify.Marshal(c)
	if err != nil {
		return Page{}, fmt.Errorf("report: %w", err)
	}
	id := sha256.Sum256(document)
	p := Page{ID: hex.EncodeToString(id[:]), Headlines: headlines(c, who), Doubts: c.Doubts(), Remarks: remarks(c, who)}
	add := func(s Section) { p.Sections = append(p.Sections, s) }
	for _, g := range c.Guarantees {
		add(Section{Title: fmt.Sprintf("%s: %s", g.ID, g.Predictor), Words: []string{g.Statement}})
	}
	add(Section{Title: "A constant, for comparison", Words: []string{c.Baseline.Statement}})
	if g, ok := c.Guarantee(certify.GuaranteeDraw); ok {
		add(Section{Title: "What the bound is made of", Rows: sum(g, c)})
	}
	for _, g := range c.Guarantees {
		if g.Role == certify.RoleHoldout {
			add(Section{Title: "What the hold-out rows showed", Rows: heldOut(g, c.Ledger.Example())})
		}
	}
	add(Section{Title: "What it rests on", Assumptions: c.Assumptions})
	add(Section{Title: "What it does not say", List: limits(c.GroupValues() != nil, c.Ledger.Example())})
	add(Section{Title: "What it is about", Fields: record(c)})
	word := Section{Title: makersWord, Fields: declared(c)}
	if len(c.Sample.Segments) > 0 { // only a replay of the log shows them: pacsgp verify --source
		word.Fields = append(word.Fields, Field{"segments", segments(c.Sample.Segments)})
	}
	add(word)
	return p, nil
}

// headlines returns the headline of one guarantee about each predictor, the mean first, and those of
// all conditional guarantees. The guarantee is [certify.Certificate.About], or Best for its maker
// unless he chose the split.
func headlines(c certify.Certificate, who Reader) []Headline {
	about := c.About
	if who == Maker && !c.SplitChosen() {
		about = c.Best
	}
	var shown []certify.Guarantee
	for _, g := range c.Guarantees {
		if best := about(g.Predictor); !slices.Contains(shown, best) {
			shown = append(shown, best)
		}
	}
	for _, g := range c.Conditional() {
		if !slices.Contains(shown, g) {
			shown = append(shown, g)
		}
	}
	var all []Headline
	for _, g := range shown {
		status := g.Status
		if who == Unread && status.Promises() {
			status = Claimed
		}
		all = append(all, Headline{status, g.Headline})
	}
	return all
}

// remarks returns sentences on the conditions of the headlines.
func remarks(c certify.Certificate, who Reader) []string {
	var words []string
	if who != Maker {
		words = append(words, "on the assumptions below; see what it does not say")
	}
	if split := c.Split(); split != "" {
		words = append(words, split)
	}
	if m := c.Mean; m != nil && len(c.Conditional()) > 0 {
		words = append(words, fmt.Sprintf("The process corrects the column %q. That it was fixed without the rows that certify is its maker's word, and no command shows it.", m.Column))
	}
	switch {
	case c.Ledger.Holdout == 0 || len(c.Conditional()) == 0:
	case who == Maker && c.SplitChosen():
		words = append(words, "A key of your own may have been chosen for its easy rows: the number of the hold-out rows counts for nothing here. Leave roles.key out.")
	case who != Maker:
		words = append(words, "What is CONDITIONAL rests on its maker's word: pacsgp verify --retrain checks what training saw; only rows that come later test the job.")
	}
	return words
}

// sum returns the terms of the bound, in all and per example, rounded up.
func sum(g certify.Guarantee, c certify.Certificate) []Row {
	n, of := float64(max(g.N, 1)), c.Ledger.Example()
	nats := func(name string, x float64) Row {
		return Row{name, certify.RoundUp(x, 2) + " nats", certify.RoundUp(x/n, 5) + " a " + of}
	}
	return []Row{
		{of + "s N", strconv.FormatInt(g.N, 10), ""},
		{"empirical risk", certify.RoundUp(g.EmpiricalRisk.Upper, 5), "of a draw of Q, at most"},
		nats("KL of Q from P", g.KL),
		nats("ln 1/weight of theta", g.LnInverseWeight),
		nats("ln xi(N)", g.LnXi),
		nats("ln 1/delta", g.LnInverseDelta),
		{"bound B", certify.RoundUp(g.Bound, 5), "Pinsker's form: " + certify.RoundUp(g.BoundPinsker, 5)},
		{"yardstick", certify.RoundUp(c.Baseline.Bound, 5), "of the constant " + strconv.FormatFloat(c.Baseline.Constant, 'g', 6, 64)},
	}
}

// heldOut returns the numbers of a guarantee from hold-out rows or units.
func heldOut(g certify.Guarantee, of string) []Row {
	rows := []Row{{of + "s", strconv.FormatInt(g.N, 10), ""}}
	if missed, ok := Missed(g); ok {
		rows = append(rows, Row{"missed", strconv.FormatInt(missed, 10), "by predictions of the " + string(g.Predictor)})
	}
	if g.EmpiricalRisk != (certify.Risk{}) {
		rows = append(rows, Row{"empirical risk", certify.RoundUp(g.EmpiricalRisk.Upper, 5), ""})
	}
	rows = append(rows, Row{"bound", certify.RoundUp(g.Bound, 5), ""})
	if g.Groups != nil {
		for i, of := range g.Groups.Each {
			rows = append(rows, Row{g.Groups.Name(i), certify.RoundUp(of.Bound, 5), fmt.Sprintf("at most; %d of %s missed", of.Misses, certify.Count(of.N, "row"))})
		}
	}
	if g.Curve == nil {
		return rows
	}
	rows = append(rows, Row{"steps of the curve", strconv.Itoa(len(g.Curve.Steps)), "all at once"})
	for _, percent := range []int{50, 90, 95, 99} {
		if t, ok := g.Curve.Within(float64(percent) / 100); ok {
			rows = append(rows, Row{fmt.Sprintf("%d %% lie within", percent), strconv.FormatFloat(t, 'g', -1, 64), "at least, of fresh rows"})
		}
	}
	return rows
}

// Missed returns the number of hold-out examples that a guarantee's predictor missed; false for others
// and where no count is shown.
func Missed(g certify.Guarantee) (examples int64, ok bool) {
	shown := g.Loss.Kind.Counts() && g.Role == certify.RoleHoldout && g.EmpiricalRisk != (certify.Risk{})
	return int64(math.Round(g.EmpiricalRisk.Upper * float64(g.N))), shown
}

// roles describes how rows got their roles.
func roles(c certify.Certificate) string {
	if c.Roles.Last {
		return "the last ones"
	}
	return "by the key \"" + c.Roles.Key + "\""
}

// limits returns sentences against common misreadings of a bound.
func limits(groups bool, example string) []string {
	parts := "such as one month or one station"
	if groups {
		parts += ", but for the groups that it names"
	}
	return []string{
		"It promises nothing about any single row, and nothing about a part of the rows, " + parts + ": it is an average over fresh " + example + "s of the same source.",
		"It does not hold for rows from another source, or from the same source after it has changed. Rows that depend on each other, such as a series in time, are not independent draws.",
		"The number for a draw of Q is about a function drawn at random, not about the mean that is usually deployed. The mean has its own number.",
		"The confidence is over the draw of the certified rows: among many jobs like this one, each on rows of its own, at most a share of delta may state a bound that is too low. It is not the probability that this very bound is right.",
	}
}

// unproven returns the number of rows, in all roles, whose loss is not proven and counts as 1.
func unproven(c certify.Certificate) int64 {
	byRole := map[certify.Role]int64{}
	for _, g := range c.Guarantees {
		byRole[g.Role] = g.Unproven
	}
	var n int64
	for _, rows := range byRole {
		n += rows
	}
	return n
}

// outside returns the number of outside rows in words; "" for none.
func outside(l certify.Ledger) string {
	if l.Outside == 0 {
		return ""
	}
	return fmt.Sprintf(", %d outside", l.Outside)
}

// record describes the rows, the model and the settings of the certificate.
func record(c certify.Certificate) []Field {
	l := c.Ledger
	target := ""
	if n := len(c.Sample.Columns); n > 0 {
		target = c.Sample.Columns[n-1]
	}
	kind := "one lengthscale for all features"
	if c.Kernel.ARD {
		kind = "one lengthscale a feature"
	}
	family := c.Kernel.Family
	if n := len(c.Kernel.Families); n > 1 {
		family += fmt.Sprintf(" (one of %d declared: %s)", n, strings.Join(c.Kernel.Families, ", "))
	}
	rules := make([]string, len(c.RowRules))
	for i, id := range c.RowRules {
		rules[i] = certify.RowRuleText(id)
	}
	fields := []Field{
		{"rows", fmt.Sprintf("%d in %s: %d reference, %d train, %d holdout, %d copies left out, %d bad", l.Rows, certify.Count(c.Sample.Shards, "shard"), l.Reference, l.Train, l.Holdout, l.Copies, l.Bad) + outside(l)},
		{"row rules", strings.Join(rules, "; ")},
		{"copies", copies(c.Copies)},
		{"dependence", fmt.Sprintf("correlation %.3f of the targets of %s of consecutive rows", c.Dependence.Correlation, certify.Count(c.Dependence.Pairs, "pair"))},
		{"columns", fmt.Sprintf("%s, target \"%s\"", certify.Count(len(c.Features()), "feature"), target)},
		{"kernel", family + ", " + kind},
		{"roles", roles(c)},
		{"accuracy", fmt.Sprintf("predictions within %g of the exact mean; %s not proven and counted as a loss of 1", c.Accuracy.Tau, certify.Count(unproven(c), "row"))},
		{"sample", c.Sample.Digest},
		{"targets", c.Sample.Targets},
		{"model", c.Model.Digest},
		{"configuration", c.Configuration.Digest},
	}
	return fields
}

// segments describes the offsets of a sample in a log, by partition.
func segments(all []certify.Segment) string {
	type partition struct {
		topic  string
		number int64
	}
	var order []partition
	spans := map[partition][2]int64{}
	for _, s := range all {
		at := partition{s.Topic, s.Partition}
		span, ok := spans[at]
		if !ok {
			order = append(order, at)
			span[0] = s.First
		}
		span[1] = s.End
		spans[at] = span
	}
	const shown = 8
	var words []string
	for _, at := range order[:min(len(order), shown)] {
		words = append(words, fmt.Sprintf("%s/%d from %d to %d", at.topic, at.number, spans[at][0], spans[at][1]-1))
	}
	if more := len(order) - shown; more > 0 {
		words = append(words, fmt.Sprintf("and %s more", certify.Count(more, "partition")))
	}
	return fmt.Sprintf("%s; topic/partition and offsets: %s", certify.Count(len(all), "segment"), strings.Join(words, ", "))
}

// copies describes rows that equal an earlier one.
func copies(c certify.Copies) string {
	return fmt.Sprintf("%d rows equal an earlier one; %d are distinct (policy: %s)", c.Rows, c.Distinct, c.Policy)
}

const trainedOn = "trained on" // see WriteDeclared

// declared returns the maker's declarations.
func declared(c certify.Certificate) []Field {
	d := c.Declared
	fields := []Field{
		{"software", "\"" + d.Software + "\""},
		{"attempt", fmt.Sprintf("%d on these rows, %d in all, by its log of attempts", d.Attempt.OnTheseRows, d.Attempt.InThisLog)},
		{trainedOn, "\"" + d.Training.Machine + "\""},
	}
	if n := d.Training.Hurried; n > 0 {
		fields = append(fields, Field{"time limit", "reached after " + certify.Count(n, "step")})
	}
	if a := d.Training.Ancestor; a != nil {
		fields = append(fields, Field{"began with", "the model of certificate " + a.Certificate})
	}
	if d.Unit != "" {
		fields = append(fields, Field{"unit", "\"" + d.Unit + "\""})
	}
	if s := c.Delta.Sequence; s != nil {
		fields = append(fields, Field{"sequence", fmt.Sprintf("number %d of \"%s\", on which the bounds depend", s.Number, s.Name)})
	}
	return fields
}
