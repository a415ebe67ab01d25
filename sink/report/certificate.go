package report

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pacsgp/pacsgp/certify"
)

// WriteCertificate prints a certificate for people: what it says, what the
// bound is made of, what it rests on, and what it does not say. It does not
// verify it. known are the assumptions that the run that made it knows to be true:
// see [certify.Certificate.About].
func WriteCertificate(w io.Writer, c certify.Certificate, style Style, known ...certify.AssumptionID) error {
	document, err := certify.Marshal(c)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	id := sha256.Sum256(document)
	p := &printer{w: bufio.NewWriter(w), style: style}
	p.headline(c, hex.EncodeToString(id[:]), known)
	for _, g := range c.Guarantees {
		p.section(fmt.Sprintf("%s: %s", g.ID, g.Predictor))
		p.paragraph("", g.Statement)
	}
	p.section("A constant, for comparison")
	p.paragraph("", c.Baseline.Statement)
	if g, ok := c.Guarantee(certify.GuaranteeDraw); ok {
		p.section("What the bound is made of")
		p.sum(g, c)
	}
	for _, g := range c.Guarantees {
		if g.Role == certify.RoleHoldout {
			p.section("What the hold-out rows showed")
			p.heldOut(g)
		}
	}
	p.section("What it rests on")
	for _, a := range c.Assumptions {
		p.assumption(a)
	}
	p.section("What it does not say")
	for _, s := range limits() {
		p.paragraph("- ", s)
	}
	p.section("What it is about")
	p.record(c)
	p.section(makersWord)
	p.declared(c.Declared)
	if len(c.Sample.Segments) > 0 { // a replay of the log shows it: pacsgp verify --source
		p.fields([][2]string{{"segments", segments(c.Sample.Segments)}})
	}
	if err := p.w.Flush(); err != nil {
		return fmt.Errorf("report: print certificate: %w", err)
	}
	return nil
}

// A printer writes lines; the first error stays in w.
type printer struct {
	w     *bufio.Writer
	style Style
}

const margin = "  "

const makersWord = "What its maker says, and model and rows do not show"

// statusWidth is that of the longest status, and two blanks.
const statusWidth = len("CONDITIONAL  ")

func (p *printer) line(words string) {
	_, _ = p.w.WriteString(words + "\n") // Flush returns the error
}

// paragraph prints wrapped words inside the margin.
func (p *printer) paragraph(head, words string) {
	p.line(wrap(margin+head, Escape(words), p.style.width()))
}

func (p *printer) section(title string) {
	p.line("")
	p.line(p.style.paint(bold, Escape(title)))
}

// headline says first what a reader looks for: status and first line of each
// guarantee, the one about the mean first.
func (p *printer) headline(c certify.Certificate, id string, known []certify.AssumptionID) {
	WriteHeadlines(p.w, c, p.style, known...)
	indent := strings.Repeat(" ", statusWidth)
	p.line(indent + "on the assumptions below; see what it does not say")
	if len(c.Conditional()) > len(c.Conditional(known...)) {
		p.line(wrap(indent, "This run kept the hold-out rows from training, and knows it. The certificate calls their number conditional: others have your word for it, or train again (pacsgp verify --retrain).", p.style.width()))
	}
	if len(c.Conditional(known...)) > 0 {
		p.line(wrap(indent, "The run that trained knew that it had kept the hold-out rows apart, and printed CERTIFIED for what is CONDITIONAL here. For others it is that run's word, until training is repeated (pacsgp verify --retrain).", p.style.width()))
	}
	p.line(p.style.paint(dim, wrap("Certificate ", id, p.style.width())))
}

// WriteHeadlines prints the status and the first line of the best guarantee about each
// predictor, then those that hold on a condition that is not known to be true, and what
// speaks against believing them: other jobs on the same rows, equal rows that were declared
// to be separate draws, neighbours that are alike. An error of w is the caller's to find.
func WriteHeadlines(w io.Writer, c certify.Certificate, style Style, known ...certify.AssumptionID) {
	var shown []certify.Guarantee
	for _, g := range c.Guarantees {
		if best := c.About(g.Predictor, known...); !slices.Contains(shown, best) {
			shown = append(shown, best)
		}
	}
	for _, g := range c.Conditional(known...) {
		if !slices.Contains(shown, g) {
			shown = append(shown, g)
		}
	}
	for _, g := range shown {
		colour := red
		switch g.Status {
		case certify.StatusCertified:
			colour = leaf
		case certify.StatusVacuous, certify.StatusConditional:
			colour = yellow
		case certify.StatusIndicative:
		}
		status := strings.ToUpper(Escape(string(g.Status)))
		words := wrap(fmt.Sprintf("%-*s", statusWidth, status), Escape(g.Headline), style.width())
		_, _ = io.WriteString(w, strings.Replace(words, status, style.paint(colour, status), 1)+"\n")
	}
	writeDoubts(w, strings.Repeat(" ", statusWidth), c, style)
}

// WriteDoubts prints what speaks against believing a certificate, without its first
// lines. An error of w is the caller's to find.
func WriteDoubts(w io.Writer, c certify.Certificate, style Style) { writeDoubts(w, "", c, style) }

func writeDoubts(w io.Writer, margin string, c certify.Certificate, style Style) {
	for _, text := range Doubts(c) {
		_, _ = io.WriteString(w, style.paint(yellow, wrap(margin, text, style.width()))+"\n")
	}
}

// fewCopies is the share of rows that may equal an earlier one without a word beside
// the first lines: what a job that says nothing of copies allows.
const fewCopies = 0.01

// Doubts are what the one who decides must know beside the first lines.
func Doubts(c certify.Certificate) []string {
	var said []string
	if c.Declared.Attempt.OnTheseRows > 1 {
		said = append(said, OtherJobs(c)+" tried on these rows before this one, says its maker. If this job was changed after results were seen, its confidence is not what it says.")
	}
	if n := c.Copies.Rows; n > 0 && (c.Copies.Policy != certify.CopiesLimited || float64(n) > fewCopies*float64(c.Sample.Rows)) {
		of := fmt.Sprintf("%d of %d rows equal an earlier row", n, c.Sample.Rows)
		if c.Copies.Policy == certify.CopiesDropped {
			said = append(said, of+" and were left out. That they are copies is its maker's word; if they are separate draws, the bounds may be too low.")
		} else {
			said = append(said, of+". That they are separate draws is its maker's word; if they are copies, the bounds are too low.")
		}
	}
	if n := c.Ledger.Bad; n > 0 {
		said = append(said, fmt.Sprintf("%d of %d rows (%s %%) break a row rule and were left out. Nothing is promised about such rows; where what breaks them has to do with how hard they are to predict, or the target is what breaks, the promise is worth less.",
			n, c.Sample.Rows, certify.RoundUp(100*float64(n)/float64(c.Sample.Rows), 2)))
	}
	if c.Dependence.Suspicious {
		said = append(said, fmt.Sprintf("Neighbouring rows are alike (correlation of their targets %.3f). Unless the rows were sorted, they depend on each other, and the bounds may be too low.", c.Dependence.Correlation))
	}
	return said
}

// OtherJobs says how many other jobs the maker counted on the same rows.
func OtherJobs(c certify.Certificate) string {
	if k := c.Declared.Attempt.OnTheseRows; k != 2 {
		return fmt.Sprintf("%d other jobs were", k-1)
	}
	return "1 other job was"
}

// sum prints the terms of the bound, each rounded up and per row, so that one
// sees where the bound is lost.
func (p *printer) sum(g certify.Guarantee, c certify.Certificate) {
	n := float64(max(g.N, 1))
	nats := func(name string, x float64) {
		p.row(name, certify.RoundUp(x, 2)+" nats", certify.RoundUp(x/n, 5)+" a row")
	}
	p.row("rows N", strconv.FormatInt(g.N, 10), "")
	p.row("empirical risk", certify.RoundUp(g.EmpiricalRisk.Upper, 5), "of a draw of Q, at most")
	p.row("", certify.RoundDown(g.LowerRisk.Lower, 5), "and at least")
	nats("KL of Q from P", g.KL)
	nats("ln 1/weight of theta", g.LnInverseWeight)
	nats("ln xi(N)", g.LnXi)
	nats("ln alternatives/delta", g.LnInverseDelta)
	p.row("bound B", certify.RoundUp(g.Bound, 5), "Pinsker's form: "+certify.RoundUp(g.BoundPinsker, 5))
	p.row("lower bound", certify.RoundDown(g.LowerBound, 5), "on the same event")
	p.row("yardstick", certify.RoundUp(c.Baseline.Bound, 5), "of the constant "+strconv.FormatFloat(c.Baseline.Constant, 'g', 6, 64))
}

// heldOut prints what a bound from hold-out rows is made of.
func (p *printer) heldOut(g certify.Guarantee) {
	p.row("rows", strconv.FormatInt(g.N, 10), "")
	if missed, ok := Missed(g); ok {
		p.row("missed", strconv.FormatInt(missed, 10), "by predictions of the "+string(g.Predictor))
	}
	p.row("empirical risk", certify.RoundUp(g.EmpiricalRisk.Upper, 5), "")
	p.row("bound", certify.RoundUp(g.Bound, 5), "")
}

// Missed is how many hold-out rows a guarantee's predictor missed, if its loss counts
// misses.
func Missed(g certify.Guarantee) (rows int64, ok bool) {
	counts := g.Loss.Kind == certify.LossZeroOne || g.Loss.Kind == certify.LossBand
	return int64(math.Round(g.EmpiricalRisk.Upper * float64(g.N))), counts && g.Role == certify.RoleHoldout
}

// roles says how rows got their roles.
func roles(c certify.Certificate) string {
	var stated struct {
		Roles struct {
			By string `json:"by"`
		} `json:"roles"`
	}
	key := "by the key \"" + c.Roles.Key + "\""
	if json.Unmarshal(c.Configuration.Values, &stated) == nil && stated.Roles.By != "" {
		return "reference rows by position (" + stated.Roles.By + "), hold-out rows " + key
	}
	return key
}

// row prints a name, a number and a remark in columns.
func (p *printer) row(name, number, remark string) {
	p.line(strings.TrimRight(fmt.Sprintf("%s%-21s %14s  %s", margin, name, number, remark), " "))
}

func (p *printer) assumption(a certify.Assumption) {
	mark, colour := "?", yellow
	switch a.Status {
	case certify.AssumptionAssumed:
	case certify.AssumptionEnforced:
		mark, colour = "+", leaf
	case certify.AssumptionBroken:
		mark, colour = "!", red
	}
	words := wrap(margin+mark+" ", Escape(string(a.ID)+" ("+string(a.Status)+"): "+a.Text+" "+a.Diagnostic), p.style.width())
	p.line(strings.Replace(words, mark, p.style.paint(colour, mark), 1))
}

// limits says what readers of a bound like to read into it.
func limits() []string {
	return []string{
		"It promises nothing about any single row, and nothing about a part of the rows, such as one month or one station: it is an average over fresh rows of the same source.",
		"It does not hold for rows from another source, or from the same source after it has changed. Rows that depend on each other, such as a series in time, are not independent draws.",
		"The number for a draw of Q is about a function drawn at random, not about the mean that is usually deployed. The mean has its own number.",
		"The confidence is over the draw of the certified rows: among many jobs like this one, each on rows of its own, at most a share of delta may state a bound that is too low. It is not the probability that this very bound is right.",
	}
}

// unproven is the number of rows that count as a loss of 1, in any role.
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

// record prints which rows and files the certificate is about.
func (p *printer) record(c certify.Certificate) {
	l := c.Ledger
	features := len(c.Sample.Columns) - 1
	target := ""
	if features >= 0 {
		target = c.Sample.Columns[features]
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
	fields := [][2]string{
		{"rows", fmt.Sprintf("%d in %s: %d reference, %d train, %d holdout, %d copies left out, %d bad", l.Rows, certify.Count(c.Sample.Shards, "shard"), l.Reference, l.Train, l.Holdout, l.Copies, l.Bad)},
		{"row rules", strings.Join(rules, "; ")},
		{"copies", copies(c.Copies)},
		{"dependence", fmt.Sprintf("correlation %.3f of the targets of %s of consecutive rows", c.Dependence.Correlation, certify.Count(c.Dependence.Pairs, "pair"))},
		{"columns", fmt.Sprintf("%s, target \"%s\"", certify.Count(max(features, 0), "feature"), target)},
		{"kernel", family + ", " + kind},
		{"roles", roles(c)},
		{"accuracy", fmt.Sprintf("predictions within %g of the exact mean; %d rows not proven and counted as a loss of 1", c.Accuracy.Tau, unproven(c))},
		{"alternatives", fmt.Sprintf("number %d of %d that share delta", c.Delta.Alternative, c.Delta.Alternatives)},
		{"sample", c.Sample.Digest},
		{"targets", c.Sample.Targets},
		{"model", c.Model.Digest},
		{"configuration", c.Configuration.Digest},
	}
	p.fields(fields)
}

// segments says where the rows of a sample stand in a log: the offsets of each partition.
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

// copies says what was found of rows that equal an earlier one.
func copies(c certify.Copies) string {
	return fmt.Sprintf("%d rows equal an earlier one, %d in their features; %d are distinct (policy: %s)", c.Rows, c.Features, c.Distinct, c.Policy)
}

// WriteDeclared prints the part of a certificate that does not follow from model and
// rows.
func WriteDeclared(w io.Writer, c certify.Certificate, style Style) error {
	p := &printer{w: bufio.NewWriter(w), style: style}
	p.section(makersWord)
	p.declared(c.Declared)
	return p.w.Flush()
}

// declared prints the maker's word.
func (p *printer) declared(d certify.Declared) {
	fields := [][2]string{
		{"software", "\"" + d.Software + "\""},
		{"attempt", fmt.Sprintf("%d on these rows, %d in this log", d.Attempt.OnTheseRows, d.Attempt.InThisLog)},
		{"trained on", "\"" + d.Training.Machine + "\""},
	}
	if n := d.Training.Hurried; n > 0 {
		fields = append(fields, [2]string{"time limit", "reached after " + certify.Count(n, "step")})
	}
	if d.Unit != "" {
		fields = append(fields, [2]string{"unit", "\"" + d.Unit + "\""})
	}
	if len(d.Scaling) > 0 {
		fields = append(fields, [2]string{"scaling", fmt.Sprintf("constants of %s were declared, not computed from rows", certify.Count(len(d.Scaling), "column"))})
	}
	p.fields(fields)
}

// fields prints names and what they stand for in two columns.
func (p *printer) fields(fields [][2]string) {
	for _, f := range fields {
		p.paragraph(f[0]+strings.Repeat(" ", max(1, 14-utf8.RuneCountInString(f[0]))), f[1])
	}
}
