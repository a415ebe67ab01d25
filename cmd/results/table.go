package main

import (
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/measured"
)

// A measurement is one run of the command on one split.
type measurement struct {
	Seed         int
	N            int64
	Inducing     int
	Steps        int
	Status       certify.Status // of the guarantee for a draw of Q
	Bound        float64        // of a draw of Q
	Mean         float64        // of the mean of Q: the least that needs no word of the maker's
	Holdout      float64        // of the mean of Q, by the hold-out rows
	Baseline     float64
	Fresh        float64 // risk of a draw of Q on the 20 %
	FreshMean    float64 // of the mean of Q
	FreshSquared float64 // mean squared error there, in squared reference standard deviations
	Seconds      float64 // of the processors, for the whole process
	PeakMiB      int64
	Instructions string
}

type refused struct{ Set, Message string }

// A table is all measurements, by set.
type table struct {
	Groups   []group
	Refusals []refused
}

type group struct {
	Set  string
	Runs []measurement
}

func (t *table) add(set string, m measurement) {
	for i := range t.Groups {
		if t.Groups[i].Set == set {
			t.Groups[i].Runs = append(t.Groups[i].Runs, m)
			return
		}
	}
	t.Groups = append(t.Groups, group{set, []measurement{m}})
}

// Mean is the mean bound over the splits.
func (g group) Mean() string {
	sum := 0.0
	for _, m := range g.Runs {
		sum += m.Bound
	}
	return fmt.Sprintf("%.4f", sum/float64(len(g.Runs)))
}

// Worst is the largest bound over the splits.
func (g group) Worst() string {
	worst := 0.0
	for _, m := range g.Runs {
		worst = max(worst, m.Bound)
	}
	return fmt.Sprintf("%.4f", worst)
}

// Machine says where and when the runs were made.
func (t *table) Machine() string {
	set := "unknown"
	if len(t.Groups) > 0 {
		set = t.Groups[0].Runs[0].Instructions
	}
	return measured.Machine(set)
}

const sectionText = `
Made by ` + "`make results`" + ` ({{.Machine}}).

| set | bound of a draw, mean of the splits | the worst |
|---|---|---|
{{range .Groups}}| {{.Set}} | {{.Mean}} | {{.Worst}} |
{{end}}
| set | split | N | M | steps | status | bound of a draw | its risk on the 20 % | bound of the mean | by the hold-out rows | its risk on the 20 % | mean squared error | best constant's bound | processor s | peak MiB |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
{{range .Groups}}{{$set := .Set}}{{range .Runs}}| {{$set}} | {{.Seed}} | {{.N}} | {{.Inducing}} | {{.Steps}} | {{.Status}} | {{printf "%.4f" .Bound}} | {{printf "%.4f" .Fresh}} | {{printf "%.4f" .Mean}} | {{printf "%.4f" .Holdout}} | {{printf "%.4f" .FreshMean}} | {{printf "%.4f" .FreshSquared}} | {{printf "%.4f" .Baseline}} | {{printf "%.1f" .Seconds}} | {{.PeakMiB}} |
{{end}}{{end}}
A bound by the hold-out rows holds if training has not seen them, which ` + "`verify --retrain`" + ` shows.
The mean squared error is in squared standard deviations of the target over the reference rows. Processor
seconds are of the whole process on all processors, reading, last pass and publishing included.
{{range .Refusals}}
{{.Set}} is refused, for it has nulls and the default is to stop:

` + "```" + `
{{.Message}}
` + "```" + `
{{end}}`
