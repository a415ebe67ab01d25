package report

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pacsgp/pacsgp/certify"
)

// WriteCertificate prints a certificate for people: what it says, what the
// bound is made of, what it rests on, and what it does not say. It does not
// verify it.
func WriteCertificate(w io.Writer, c certify.Certificate, style Style) error {
	document, err := certify.Marshal(c)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	id := sha256.Sum256(document)
	p := &printer{w: bufio.NewWriter(w), style: style}
	p.headline(c, hex.EncodeToString(id[:]))
	for _, g := range c.Guarantees {
		p.section(fmt.Sprintf("%s: %s", g.ID, g.Predictor))
		p.paragraph("", g.Statement)
	}
	p.section("The best constant, for comparison")
	p.paragraph("", c.Baseline.Statement)
	if g, ok := c.Guarantee(certify.GuaranteeDraw); ok {
		p.section("What the bound is made of")
		p.sum(g, c.Baseline)
	}
	p.section("What it rests on")
	for _, a := range c.Assumptions {
		p.assumption(a)
	}
	p.section("What it does not say")
	for _, s := range limits(c) {
		p.paragraph("- ", s)
	}
	p.section("What it is about")
	p.record(c)
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

func (p *printer) line(words string) {
	_, _ = p.w.WriteString(words + "\n") // Flush returns the error
}

// paragraph prints wrapped words inside the margin.
func (p *printer) paragraph(head, words string) {
	p.line(wrap(margin+head, printable(words), p.style.width()))
}

func (p *printer) section(title string) {
	p.line("")
	p.line(p.style.paint(bold, printable(title)))
}

// headline says first what a reader looks for: status and number of each
// guarantee.
func (p *printer) headline(c certify.Certificate, id string) {
	p.line(p.style.paint(dim, wrap("Certificate ", id, p.style.width())))
	for _, g := range c.Guarantees {
		colour, words := red, "the formula gives "+ceil(g.Bound, 4)+", which bounds nothing"
		switch g.Status {
		case certify.StatusCertified:
			colour, words = leaf, fmt.Sprintf("risk at most %s, confidence at least %s %%", ceil(g.Bound, 4), confidence(g.Delta))
		case certify.StatusVacuous:
			colour, words = yellow, "the bound, "+ceil(g.Bound, 4)+", says nothing useful"
		}
		status := p.style.paint(colour, fmt.Sprintf("%-10s", strings.ToUpper(printable(g.Status))))
		p.line(fmt.Sprintf("%s  %-10s %s", status, printable(g.Predictor)+":", words))
	}
	p.line("            on the assumptions below; see what it does not say")
}

// sum prints the terms of the bound, each rounded up and per row, so that one
// sees where the bound is lost.
func (p *printer) sum(g certify.Guarantee, b certify.Baseline) {
	n := float64(max(g.N, 1))
	nats := func(name string, x float64) {
		p.row(name, ceil(x, 2)+" nats", ceil(x/n, 5)+" a row")
	}
	p.row("rows N", strconv.FormatInt(g.N, 10), "")
	p.row("empirical risk", ceil(g.EmpiricalRisk.Upper, 5), "of a draw of Q, exact sum")
	nats("KL of Q from P", g.KL)
	nats("ln 1/weight of theta", g.LnInverseWeight)
	nats("ln xi(N)", g.LnXi)
	nats("ln 1/delta", g.LnInverseDelta)
	p.row("slack", ceil(g.Slack, 7), "on risk and bound")
	p.row("bound B", ceil(g.Bound, 5), "Pinsker's form: "+ceil(g.BoundPinsker, 5))
	p.row("lower bound", floor(g.LowerBound, 5), "on the same event")
	p.row("best constant", ceil(b.Bound, 5), "bound of "+strconv.FormatFloat(b.Constant, 'g', 6, 64))
}

// row prints a name, a number and a remark in columns.
func (p *printer) row(name, number, remark string) {
	p.line(strings.TrimRight(fmt.Sprintf("%s%-21s %14s  %s", margin, name, number, remark), " "))
}

func (p *printer) assumption(a certify.Assumption) {
	mark, colour := "?", yellow
	switch a.Status {
	case certify.AssumptionEnforced:
		mark, colour = "+", leaf
	case certify.AssumptionBroken:
		mark, colour = "!", red
	}
	words := wrap(margin+mark+" ", printable(a.ID+" ("+a.Status+"): "+a.Text+" "+a.Diagnostic), p.style.width())
	p.line(strings.Replace(words, mark, p.style.paint(colour, mark), 1))
}

// limits says what readers of a bound like to read into it.
func limits(c certify.Certificate) []string {
	said := []string{
		"It promises nothing about any single row, and nothing about a part of the rows, such as one month or one station: it is an average over fresh rows of the same source.",
		"It does not hold for rows from another source, or from the same source after it has changed. Rows that depend on each other, such as a series in time, are not independent draws.",
		"The number for a draw of Q is about a function drawn at random, not about the mean that is usually deployed. The mean has its own number.",
		"The confidence is over the draw of the certified rows: among many jobs like this one, each on rows of its own, at most a share of delta may state a bound that is too low. It is not the probability that this very bound is right.",
	}
	if k := c.Attempt.InThisDirectory; k > 1 {
		said = append(said, fmt.Sprintf("It is job %d of this directory. Its confidence is that of one job; for the best of %d the confidence is 1 - %d delta. Jobs that came later are not counted.", k, k, k))
	}
	return said
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
	for _, f := range [][2]string{
		{"rows", fmt.Sprintf("%d in %d shards: %d reference, %d train, %d holdout, %d bad", l.Rows, c.Sample.Shards, l.Reference, l.Train, l.Holdout, l.Bad)},
		{"row rules", strings.Join(c.RowRules, "; ")},
		{"columns", fmt.Sprintf("%d features, target %q", max(features, 0), target)},
		{"kernel", c.Kernel.Family + ", " + kind},
		{"roles key", strconv.Quote(c.Roles.Key)},
		{"attempt", fmt.Sprintf("%d on this sample, %d in this directory", c.Attempt.OnThisSample, c.Attempt.InThisDirectory)},
		{"sample", c.Sample.Digest},
		{"model", c.Model.Digest},
		{"configuration", c.Configuration.Digest},
		{"software", c.Software},
	} {
		p.paragraph(f[0]+strings.Repeat(" ", max(1, 14-utf8.RuneCountInString(f[0]))), f[1])
	}
}
