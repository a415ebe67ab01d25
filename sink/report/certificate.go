package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pacsgp/pacsgp/certify"
)

// WriteCertificate prints a certificate for people: see [PageOf]. It does not verify it.
func WriteCertificate(w io.Writer, c certify.Certificate, style Style, who Reader) error {
	page, err := PageOf(c, who)
	if err != nil {
		return err
	}
	p := &printer{w: bufio.NewWriter(w), style: style}
	WriteSummary(p.w, c, style, who)
	p.line(p.style.paint(dim, wrap("Certificate ", page.ID, p.style.width())))
	for _, s := range page.Sections {
		p.section(s)
	}
	if err := p.w.Flush(); err != nil {
		return fmt.Errorf("report: print certificate: %w", err)
	}
	return nil
}

// WriteSummary prints headlines, doubts and remarks. It ignores errors of w: the caller notices them.
func WriteSummary(w io.Writer, c certify.Certificate, style Style, who Reader) {
	WriteHeadlines(w, c, style, who)
	for _, words := range remarks(c, who) {
		_, _ = io.WriteString(w, wrap(strings.Repeat(" ", statusWidth), words, style.width())+"\n")
	}
}

// A printer writes lines. w keeps the first error for Flush.
type printer struct {
	w     *bufio.Writer
	style Style
}

const margin = "  "

// statusWidth is the width of the longest status, and two blanks.
const statusWidth = len("CONDITIONAL  ")

func (p *printer) line(words string) {
	_, _ = p.w.WriteString(words + "\n")
}

// paragraph prints wrapped words inside the margin.
func (p *printer) paragraph(head, words string) {
	p.line(wrap(margin+head, Escape(words), p.style.width()))
}

func (p *printer) section(s Section) {
	p.line("")
	p.line(p.style.paint(bold, Escape(s.Title)))
	for _, words := range s.Words {
		p.paragraph("", words)
	}
	for _, r := range s.Rows {
		p.row(r.Name, r.Number, r.Remark)
	}
	for _, a := range s.Assumptions {
		p.assumption(a)
	}
	for _, words := range s.List {
		p.paragraph("- ", words)
	}
	p.fields(s.Fields)
}

// WriteHeadlines prints the headlines of [PageOf] with their status, and the doubts
// ([certify.Certificate.Doubts]). It ignores errors of w: the caller notices them.
func WriteHeadlines(w io.Writer, c certify.Certificate, style Style, who Reader) {
	for _, h := range headlines(c, who) {
		colour := red
		switch h.Status {
		case certify.StatusCertified:
			colour = leaf
		case certify.StatusVacuous, certify.StatusConditional, Claimed:
			colour = yellow
		case certify.StatusIndicative:
		}
		status := strings.ToUpper(Escape(string(h.Status)))
		words := wrap(fmt.Sprintf("%-*s", statusWidth, status), Escape(h.Words), style.width())
		_, _ = io.WriteString(w, strings.Replace(words, status, style.paint(colour, status), 1)+"\n")
	}
	for _, text := range c.Doubts() {
		_, _ = io.WriteString(w, style.paint(yellow, wrap(strings.Repeat(" ", statusWidth), text, style.width()))+"\n")
	}
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

// WriteDeclared prints the maker's declarations, without the machine of training if the reader has
// retrained.
func WriteDeclared(w io.Writer, c certify.Certificate, style Style, retrained bool) error {
	p := &printer{w: bufio.NewWriter(w), style: style}
	p.section(Section{Title: makersWord, Fields: slices.DeleteFunc(declared(c), func(f Field) bool { return retrained && f.Name == trainedOn })})
	return p.w.Flush()
}

// fields prints names and meanings in two columns.
func (p *printer) fields(fields []Field) {
	for _, f := range fields {
		p.paragraph(f.Name+strings.Repeat(" ", max(1, 14-utf8.RuneCountInString(f.Name))), f.Words)
	}
}
