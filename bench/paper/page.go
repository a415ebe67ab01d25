package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/pacsgp/pacsgp/bench/measured"
	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model"
)

// writeFigure writes the numbers of a figure, the figure, and its section of the page. The section has the
// table shown; if that is nil, the numbers are also written next to the page.
func writeFigure(name string, records, shown [][]string, panels [][]*plot.Plot, width, height float64, o options) error {
	text, csv := fmt.Sprintf("`%s`; %s", o.command, measured.Machine(model.InstructionSet())), o.paths(name+".csv")
	if shown != nil {
		text, csv = measured.Table(shown).String()+"\n"+text, csv[:1]
	}
	return errors.Join(writeCSV(csv, records), savePanels(o.paths(name+".png"), panels, vg.Points(width), vg.Points(height)), o.onPage(name, text))
}

// writeCurves writes a figure of panels that curves has drawn. cells returns the cells that name a row, and more
// is added to the names of the quantities.
func writeCurves(name string, head []string, more string, digits int, rows []row, cells func(row) []string, panels [][]*plot.Plot, o options) error {
	records := [][]string{append(head, "repetitions")}
	for _, q := range quantities {
		records[0] = append(records[0], q.name+more)
	}
	for _, r := range rows {
		line := append(cells(r), strconv.Itoa(r.reps))
		for _, q := range quantities {
			line = append(line, r.ours[q.name].text(digits))
		}
		records = append(records, line)
	}
	return writeFigure(name, records, nil, panels, 1150, 250*float64(len(panels)), o)
}

// onPage writes a section of the page if -write is set.
func (o options) onPage(name, text string) error {
	if !o.write {
		return nil
	}
	if err := measured.ReplaceSection(o.page, "paper "+name, text); err != nil {
		return err
	}
	table, err := o.conclusions()
	if err != nil {
		return err
	}
	return measured.ReplaceSection(o.page, "paper conclusions", strings.TrimSuffix(table, "\n"))
}

// section returns a table of the page, made from the stored results and the paper's numbers. It has one line
// for each of the paper's rows and of ours, except those with pre-training.
func (o options) section(name string) (rows []row, text string, err error) {
	all, err := o.results(name)
	if err != nil {
		return nil, "", err
	}
	rows = slices.DeleteFunc(thorough(all), func(r row) bool { return r.Start == pretrained })
	if len(rows) == 0 {
		return nil, "No result of the present code is stored.", nil
	}
	lines := measured.Table{{"row", "splits", "B", "in the paper", "verdict on B", "R_test", "in the paper", "M", "gradients"}}
	for _, r := range rows {
		test := ""
		if !r.extra() {
			test = r.paper["R_test"].text(3)
		}
		lines.Add(
			r.label(), strconv.Itoa(r.reps), r.ours["B"].text(4), r.paper["B"].text(3), r.verdict(), r.ours["R_test"].text(4), test,
			fmt.Sprintf("%.0f", r.ours["M"].mean), fmt.Sprintf("%.0f", r.ours["gradients"].mean),
		)
	}
	return rows, lines.String(), nil
}

// thorough returns the rows without those for which there is a row of more splits, or of as many splits and
// more gradients.
func thorough(rows []row) []row {
	return slices.DeleteFunc(slices.Clone(rows), func(r row) bool {
		return slices.ContainsFunc(rows, func(s row) bool {
			like := s.unit
			like.Most = r.Most
			return like == r.unit && (s.reps > r.reps || s.reps == r.reps && s.Most > r.Most)
		})
	})
}

// conclusions compares the paper's bounds with held-out bounds of its most accurate baseline: a fifth of the
// training rows is held out, and the risk after training on the others is taken to be 15 % higher.
func (o options) conclusions() (string, error) {
	const higher = 1.15
	lines := measured.Table{{"set", "kl-PAC in the paper", "ours", "by mini-batches", "the paper's baseline", "its test risk there", "held-out rows", "held-out bound"}}
	for _, s := range []struct {
		table, dataset, baseline string
		epsilon                  float64
		ard                      bool
		rows                     float64 // number of training rows
	}{{"boston", "boston", "full-GP", 0.6, false, 404}, {"sparse", "pol", "VFE", 0.6, true, 12000}, {"sparse", "kin40k", "VFE", 0.6, true, 32000}} {
		theirs, err := publishedRows(s.table)
		if err != nil {
			return "", err
		}
		stored, err := o.results(s.table)
		if err != nil {
			return "", err
		}
		stored = thorough(stored)
		is := func(method, start string) func(r row) bool {
			return func(r row) bool {
				return r.Dataset == s.dataset && r.Epsilon == s.epsilon && r.ARD == s.ard && strings.HasPrefix(r.Method, method) && r.Start == start
			}
		}
		ours := func(start string) string {
			if i := slices.IndexFunc(stored, is("kl-", start)); i >= 0 {
				return stored[i].ours["B"].text(4)
			}
			return ""
		}
		best, base := theirs[slices.IndexFunc(theirs, is("kl-", ""))], theirs[slices.IndexFunc(theirs, is(s.baseline, ""))]
		risk, n := base.paper["R_test"].mean, math.Floor(s.rows/5)
		lines.Add(
			fmt.Sprintf("%s, ε = %g", s.dataset, s.epsilon), best.paper["B"].text(3), ours(published), ours(minibatch), fmt.Sprintf("%s %.3f", s.baseline, base.paper["B"].mean),
			fmt.Sprintf("%.3f", risk), fmt.Sprintf("%.0f", n), fmt.Sprintf("%.3f", certify.KLInverse(higher*risk, -math.Log(delta)/n)),
		)
	}
	return lines.String(), nil
}
