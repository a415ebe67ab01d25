package pipeline_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// permuted returns the rows in another order.
func permuted(columns [][]float64) [][]float64 {
	order := rand.New(rand.NewPCG(3, 4)).Perm(len(columns[0]))
	all := make([][]float64, len(columns))
	for c, column := range columns {
		for _, i := range order {
			all[c] = append(all[c], column[i])
		}
	}
	return all
}

// A copy under another label is a copy.
func TestLabelsHideNothing(t *testing.T) {
	columns, log := days(600, 220, 9), &pipelinetest.Store{}
	again := reuser(t, log, dayLake(permuted(columns), 250, 350), byDay, 0)
	if again.Warned(certify.WarnLargeUnit) || assumption(again, certify.AssumeIndependentUnits).Checked != certify.CheckNone {
		t.Errorf("warnings %v, assumptions %v", again.Warnings, again.Assumptions)
	}

	for c, column := range columns {
		columns[c] = slices.Concat(column, column)
	}
	for i := range columns[2] {
		columns[2][i] = float64(i)
	}
	_, err := pipeline.Run(t.Context(), testJob(t, func(j *job.Job) {
		byDay(j)
		j.Duplicates = job.DuplicatesDecl{Policy: job.DuplicatesLimited, Limit: 0.01}
	}), dayLake(columns, 500, 700).environment(&pipelinetest.Store{}))
	if err == nil || !strings.Contains(err.Error(), "equal an earlier row") {
		t.Errorf("duplicates under other labels: %v", err)
	}
}
