package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/words"
)

// WriteCertificate prints a certificate as text, as [PageOf] describes it. It does not verify it.
func WriteCertificate(w io.Writer, c certify.Certificate, style Style) error {
	page, err := PageOf(c)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	WriteSummary(b, c, style)
	for _, s := range page.Sections {
		_, _ = fmt.Fprintf(b, "\n%s\n", style.paint(bold, Escape(s.Title)))
		for _, f := range s.Fields {
			_, _ = b.WriteString(wrap(fmt.Sprintf("  %-*s  ", nameWidth, f.Name), Escape(f.Words), style.width()) + "\n")
		}
	}
	_, _ = b.WriteString("\n" + style.paint(dim, wrap("certificate ", page.ID, style.width())) + "\n")
	if err := b.Flush(); err != nil {
		return fmt.Errorf("report: print certificate: %w", err)
	}
	return nil
}

// nameWidth is the width of a field's name, in columns.
const nameWidth = 21

// WriteSummary prints the claims, the assumptions and the warnings. It ignores errors of w, which
// the caller must detect.
func WriteSummary(w io.Writer, c certify.Certificate, style Style) {
	for i, g := range c.Claims {
		colour := map[certify.Status]string{certify.StatusCertified: leaf, certify.StatusVacuous: yellow, certify.StatusVoid: red}[g.Status]
		line := wrap("", Escape(Headline(c, g)), style.width())
		if i == 0 {
			line = style.paint(colour, line)
		}
		_, _ = io.WriteString(w, line+"\n")
		rest := ""
		if g.Status == certify.StatusCertified {
			rest = "best constant: " + words.Bound(c.Loss.Shares(), g.Baseline)
			if g.Curve != nil && c.Loss.Tolerance != "" {
				rest = "best constant: within " + words.Amount(c.Constant.HalfWidth, c.Loss.Unit)
			}
		}
		twoColumns(w, "  evidence   ", evidence(c, g), rest, style)
	}
	_, _ = io.WriteString(w, "\n")
	head := "assumes    "
	for _, a := range c.Assumptions {
		if a.Checked == certify.CheckVerify && !a.Fails {
			continue // the page lists them
		}
		text, how := Assumption(c, a)
		twoColumns(w, head, text, how, style)
		head = strings.Repeat(" ", len(head))
	}
	for _, text := range Warnings(c) {
		_, _ = io.WriteString(w, style.paint(yellow, wrap("warning    ", Escape(text), style.width()))+"\n")
	}
}

// twoColumns prints text, with remark at the right margin or, without room, in brackets.
func twoColumns(w io.Writer, head, text, remark string, style Style) {
	text, remark = Escape(text), Escape(remark)
	room := style.width() - utf8.RuneCountInString(head+text+remark)
	if remark != "" && room >= 2 {
		text += strings.Repeat(" ", room) + remark
		_, _ = io.WriteString(w, head+text+"\n")
		return
	}
	if remark != "" {
		text += " (" + remark + ")"
	}
	_, _ = io.WriteString(w, wrap(head, text, style.width())+"\n")
}
