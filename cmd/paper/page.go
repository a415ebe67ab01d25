package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/measured"
	"github.com/pacsgp/pacsgp/model"
)

// writeFigure writes the numbers of a figure, the figure, and its section of the page.
func writeFigure(name string, records, shown [][]string, panels [][]*plot.Plot, width, height float64, o options) error {
	return errors.Join(
		writeCSV(filepath.Join(o.out, name+".csv"), records),
		saveBoth(filepath.Join(o.out, name), panels, vg.Points(width), vg.Points(height)),
		o.onPage(name, markdownTable(shown), nil),
	)
}

// onPage writes a section of the page and its figure, with -write.
func (o options) onPage(name, text string, rows []row) error {
	if !o.write {
		return nil
	}
	set := model.InstructionSet()
	for _, r := range rows {
		set = r.instructions
	}
	text += fmt.Sprintf("\n`%s`; %s\n", o.command(name), measured.Machine(set))
	figure, err := os.ReadFile(filepath.Join(o.out, name+".png")) //nolint:gosec // below the folder that the user named
	if err != nil {
		return err
	}
	if err := durable.WriteFile(durable.OS{}, filepath.Join(filepath.Dir(o.page), "paper-"+name+".png"), figure); err != nil {
		return err
	}
	return measured.ReplaceSection(o.page, "paper "+name, strings.TrimSuffix(text, "\n"))
}

// command is the command that makes a section.
func (o options) command(name string) string {
	words := []string{"go run ./cmd/paper", name}
	if name == "exp" {
		words[1] = "exp-loss"
	}
	if name != "snelson" {
		words = append(words, fmt.Sprintf("-reps %d", o.reps))
	}
	if o.evaluations != defaultEvaluations {
		words = append(words, fmt.Sprintf("-evaluations %d", o.evaluations))
	}
	if o.only != "" {
		words = append(words, fmt.Sprintf("-only '%s'", o.only))
	}
	return strings.Join(words, " ")
}

// markdown is the comparison for readers.
func markdown(rows []row) string {
	names := map[string]string{"B_pin": "B by Pinsker", "R_train": "R train", "R_test": "R test", "mse": "MSE", "kl_per_n": "KL/N", "sigma2": "σ_n²"}
	head := []string{"row", "splits", "verdict on B"}
	for _, c := range columns {
		if names[c.name] == "" {
			names[c.name] = c.name
		}
		head = append(head, names[c.name])
	}
	head = append(head, "s")
	lines := [][]string{head}
	for _, r := range rows {
		difference, _, words := r.verdict("B")
		switch {
		case r.Method == freeForm:
			words = fmt.Sprintf("%+.4f from kl-PAC", difference)
		case words == "lower" || words == "higher":
			words = fmt.Sprintf("%s by %.4f", words, math.Abs(difference))
		}
		line := []string{r.label(), fmt.Sprint(r.reps), words}
		for _, c := range columns {
			line = append(line, r.cell(c.name))
		}
		lines = append(lines, append(line, fmt.Sprintf("%.0f", r.seconds)))
	}
	return markdownTable(lines)
}

// cell is one of ours, the paper's, and the difference in standard errors.
func (r row) cell(name string) string {
	ours := r.ours[name]
	if math.IsNaN(ours.mean) {
		return ""
	}
	text := fmt.Sprintf("%.4f", ours.mean)
	if !math.IsNaN(ours.se) {
		text += fmt.Sprintf(" ± %.4f", ours.se)
	}
	if r.Method == freeForm || math.IsNaN(r.paper[name].mean) {
		return text
	}
	difference, off, _ := r.verdict(name)
	return text + fmt.Sprintf(" · %.3f · %+.1f", r.paper[name].mean, signed(off, difference))
}

// signed is a size, rounded as it is shown, with the sign of a difference; 0 has no sign.
func signed(size, difference float64) float64 {
	if size = math.Round(10*size) / 10; difference < 0 && size > 0 {
		return -size
	}
	return size
}

// markdownTable is a table of Markdown, its head first.
func markdownTable(lines [][]string) string {
	var out strings.Builder
	for i, line := range lines {
		fmt.Fprintf(&out, "| %s |\n", strings.Join(line, " | "))
		if i == 0 {
			fmt.Fprintf(&out, "|%s\n", strings.Repeat("--|", len(line)))
		}
	}
	return out.String()
}
