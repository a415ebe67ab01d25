package pipeline

import (
	"strings"
	"testing"
)

// What is said of the fit: R² of enough rows alone, and what the column of the mean is worth by itself.
func TestResidualsInWords(t *testing.T) {
	p := PlotRows{Observed: []float64{1, 3}, Mean: []float64{1, 4}}
	if said := p.residuals(false).String(); !strings.Contains(said, "too few rows for R²") || strings.Contains(said, "column") {
		t.Errorf("of two rows: %s", said)
	}
	for range 10 {
		p.Observed, p.Mean = append(p.Observed, 2), append(p.Mean, 2)
	}
	if said := p.residuals(true).String(); !strings.Contains(said, "R² 0.5") || strings.Contains(said, "few") {
		t.Errorf("of twelve rows: %s", said)
	}
	for _, y := range p.Observed {
		p.Column = append(p.Column, y+3)
	}
	if said := p.residuals(false).String(); !strings.Contains(said, "the column of mean alone has RMSE 3") {
		t.Errorf("with a column: %s", said)
	}
}
