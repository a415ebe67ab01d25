package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/cmd/program"
	"github.com/pacsgp/pacsgp/internal/machine"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/report"
)

func planCommand(w system) *cobra.Command {
	var path string
	var asJSON bool
	var o config.Overrides
	cmd := &cobra.Command{
		Use:   "plan job.yaml",
		Short: "Say what a job would read and what so many rows can certify, from footers alone",
		Args:  orFile(&path, "the job file"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := loadJob(cmd.Context(), path, w, o, cmd.Flags().Changed)
			if err != nil {
				return err
			}
			return plan(cmd.Context(), p, w, asJSON)
		},
	}
	jobFlags(cmd, &path, &o)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// A planned job is the output of plan.
type planned struct {
	Files   []plannedFile   `json:"files"`
	Columns []plannedColumn `json:"columns"` // features, then the target
	Notices []string        `json:"notices"`
	pipeline.Plan
	Estimate     pipeline.Estimate    `json:"estimate"` // of all alternatives together
	Delta        float64              `json:"delta"`
	Horizon      int64                `json:"horizon,omitempty"`
	Copies       string               `json:"copies"`                 // in words: plan counts none
	Alternatives []plannedAlternative `json:"alternatives,omitempty"` // of a sweep; the rest is about the first

	Disk int64 `json:"peak_disk_bytes"` // in the folder for temporary files, to count copies

	worst   string       // what a hundredth of the hold-out rows do
	faults  columnFaults // of the columns of all alternatives
	reading int64        // bytes for pages

	leastNull, mostNull int64 // rows with a null in a column that is not filled
}

// A plannedFile is a file by its footer.
type plannedFile struct {
	Path      string `json:"path"`
	Bytes     int64  `json:"bytes"`
	Rows      int64  `json:"rows"`
	RowGroups int    `json:"row_groups"`
}

// A plannedColumn is a used column by the footers.
type plannedColumn struct {
	Name      string   `json:"name"`
	Nulls     int64    `json:"nulls"`
	Uncounted int64    `json:"rows_with_uncounted_nulls"`
	Least     *float64 `json:"least"` // null if a footer does not tell
	Most      *float64 `json:"most"`
	Filled    bool     `json:"filled,omitempty"`
}

// notCounted is the line about copies.
const notCounted = "not counted: train counts them in its first pass, and stops before it trains if there are more than the job allows"

func plan(ctx context.Context, p config.Task, w system, asJSON bool) (err error) {
	config.MakeTemporary(p.Source, false)
	defer func() { err = errors.Join(err, p.Source.Release(false)) }()
	show := newDisplay(w)
	defer show.end()
	jobs := p.Job.Alternatives()
	var out planned
	var total pipeline.Estimate
	var need program.Needs
	var faults columnFaults
	for _, job := range jobs {
		each, err := planOne(ctx, p, job, show.spooled)
		if err != nil {
			if len(jobs) > 1 {
				err = fmt.Errorf("alternative %d (%s): %w", job.Number, job.Changes(), err)
			}
			return err
		}
		total.Least, total.Seconds, total.Most = total.Least+each.Estimate.Least, total.Seconds+each.Estimate.Seconds, total.Most+each.Estimate.Most
		need = program.Needs{Reading: max(need.Reading, each.reading), Memory: max(need.Memory, each.Estimate.Bytes), Disk: max(need.Disk, each.Disk)}
		if job.Number <= 1 {
			out = each
		}
		if job.Number > 0 {
			out.Alternatives = append(out.Alternatives, plannedAlternative{
				job.Number, job.Changes(), each.Features, fmt.Sprintf("1/%d", len(p.Job.Alternatives())), each.LnInverseWeight, each.Confidence,
			})
		}
		faults = faults.and(each.faults)
	}
	out.Estimate.Least, out.Estimate.Seconds, out.Estimate.Most = total.Least, total.Seconds, total.Most
	out.Estimate.Bytes, out.Disk, out.faults = need.Memory, need.Disk, faults
	if asJSON {
		err = printJSON(w.stdout, out)
	} else {
		err = out.print(w.stdout)
	}
	if err != nil {
		return err
	}
	return errors.Join(faults.error(), need.Met(w.machine, p.Resources.Memory, program.Less))
}

// planOne plans a job without a sweep, or one alternative, by footers.
func planOne(ctx context.Context, p config.Task, job pipeline.Job, spooled func(rows int64)) (planned, error) {
	if job.Horizon > 0 {
		job.DeltaPolicy = certify.DeltaSequence
		job = job.Numbered("plan", 1)
	}
	p.Job = job
	src, err := p.Open(ctx, spooled)
	if err != nil {
		return planned{}, err
	}
	out := planned{Delta: p.Job.Delta, Horizon: p.Job.Horizon, worst: "lose 1 and the others nothing", Files: []plannedFile{}, Notices: append(append([]string{}, src.Notices()...), job.Noticed()...), Copies: notCounted}
	for _, f := range src.Files() {
		out.Files = append(out.Files, plannedFile{f.Path, f.Bytes, f.Rows, f.RowGroups})
	}
	sample, err := pipeline.SampleOf(ctx, src, p.Resources.Workers)
	if err != nil {
		return planned{}, err
	}
	if err := p.Job.Suits(src.Columns(), sample.Rows); err != nil {
		return planned{}, err
	}
	sample.Features -= len(job.Beside()) + len(job.Unit.Columns)
	if wrapped, ok := src.(interface{ Unwrap() pipeline.Opened }); ok {
		src = wrapped.Unwrap()
	}
	var columns []config.Told
	if src, tells := src.(config.Source); tells {
		if columns, err = src.Told(ctx); err != nil {
			return planned{}, err
		}
	}
	for _, c := range columns {
		out.Columns = append(out.Columns, plannedColumn{c.Column, c.Nulls, c.UncountedRows, known(c.Least), known(c.Most), p.Job.Encode.Fills(c.Column)})
	}
	for _, c := range columns {
		if !p.Job.Encode.Fills(c.Column) {
			out.leastNull, out.mostNull = max(out.leastNull, c.Nulls), min(out.mostNull+c.Nulls, sample.Rows)
		}
	}
	out.faults = faultsOf(p.Job, columns, sample.Rows)
	if out.faults == nil {
		sample.Bad = out.leastNull
	}
	if p.Job.Loss.Kind.Counts() {
		out.worst = "are missed"
	}
	if sample.Units, err = p.Job.CountUnits(ctx, src, p.Resources); err != nil {
		return planned{}, err
	}
	if out.Plan, err = pipeline.NewPlan(p.Job, sample, p.Resources); err != nil {
		return planned{}, err
	}
	for _, c := range columns {
		if c.Ordered && out.Holdout > 0 && out.Units == nil && !p.Job.Roles.Last && p.Job.Roles.By != pipeline.RolesByContent {
			out.Notices = append(out.Notices, fmt.Sprintf("row groups follow each other in the order of %q: if rows came in this order, they may depend on each other or change with time, and roles.holdout: {last: 10 %%} holds out the latest, which are most like those to come", c.Column))
		}
	}
	out.Estimate, err = pipeline.NewEstimate(p.Job, sample, p.Resources)
	out.Disk, out.reading = pipeline.SpillBytes(p.Job, sample.Rows, p.Resources), sample.Reader
	return out, err
}

// known is a finite number, or nil.
func known(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// A plannedAlternative is one alternative of a sweep.
type plannedAlternative struct {
	Alternative     int     `json:"alternative"`
	Changes         string  `json:"changes"` // in words: what it changes in the job
	Features        int     `json:"features"`
	Share           string  `json:"share"`             // of delta, a fraction
	LnInverseWeight float64 `json:"ln_inverse_weight"` // nats that the grid costs: see pipeline.NewPlan
	Confidence      float64 `json:"ln_xi_over_delta"`  // ln(ξ(N)/(δ·share)), nats
}

// holdoutWords gives the number of hold-out rows.
func (p planned) holdoutWords() string {
	if p.Holdout == 0 {
		return ""
	}
	return fmt.Sprintf(", about %d hold-out", p.Holdout)
}

// fitWords say which train rows Q is fitted to.
func (p planned) fitWords() string {
	if p.Fitted > 0 {
		return fmt.Sprintf("about %d of them fitting, all ", p.Fitted)
	}
	return "fitting and "
}

// about begins a number of rows that depends on a hash, or on nulls.
func (p planned) about() string {
	if p.Holdout > 0 || p.leastNull > 0 {
		return "about "
	}
	return ""
}

// filesShown is the largest number of listed files.
const filesShown = 20

func (p planned) print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 2, 4, 2, ' ', 0)
	if len(p.Files) > 0 { // rows of a stream or a topic are in none
		_, _ = fmt.Fprintln(table, "file\trows\trow groups\tsize")
	}
	for i, f := range p.Files {
		if i == filesShown {
			_, _ = fmt.Fprintf(table, "… and %d more\t\t\t\n", len(p.Files)-i)
			break
		}
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%s\n", report.Escape(f.Path), f.Rows, f.RowGroups, machine.Bytes(f.Bytes))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	last := len(p.Columns) - 1
	var features []string
	for _, c := range p.Columns[:p.Features] {
		features = append(features, c.Name)
	}
	_, _ = fmt.Fprintf(w, "\ntarget     %s\nfeatures   %d: %s\n", p.Columns[last].Name, p.Features, strings.Join(features, ", "))
	for _, text := range p.Notices {
		_, _ = fmt.Fprintln(w, "note      ", text)
	}
	_, _ = fmt.Fprintf(w, "nulls      %s\n", p.nullsWords())
	_, _ = fmt.Fprintf(w, "rows       %d: %d reference (scaling, start values), %s%d train (%scertifying%s)%s\n",
		p.Rows, p.Reference, p.about(), p.Train, p.fitWords(), map[bool]string{true: ": the N of the bound"}[p.Units == nil], p.holdoutWords())
	p.units(w)
	kept := "kept in memory"
	if !p.Kept {
		kept = "more than the budget: read again in each pass"
	}
	_, _ = fmt.Fprintf(w, "copies     %s\n", p.Copies)
	_, _ = fmt.Fprintf(w, "memory     at most %s: %s for the rows (%s), the rest for M = %d and for reading\n",
		machine.Bytes(p.Estimate.Bytes), machine.Bytes(p.KeptBytes), kept, p.Estimate.Inducing)
	if p.Disk > 0 {
		_, _ = fmt.Fprintf(w, "disk       at most %s in %s while copies are counted (none with memory: %[1]s), beside the results\n", machine.Bytes(p.Disk), os.TempDir())
	}
	with := fmt.Sprintf(" with M = %d", p.Estimate.Inducing)
	if p.Estimate.Fewest > 0 && p.Estimate.Fewest < p.Estimate.Inducing {
		with += fmt.Sprintf(", less if the start values find fewer enough, down to M = %d", p.Estimate.Fewest)
	}
	_, _ = fmt.Fprintf(w, "time       about %s%s (%s to %s): at most %s of %s, one last pass, at %.1f GFLOP/s measured just now; %s\n",
		machine.Seconds(p.Estimate.Seconds), with, machine.Seconds(p.Estimate.Least), machine.Seconds(p.Estimate.Most), certify.Count(p.Estimate.Steps, "training step"), certify.Count(p.Estimate.Batch, "row"), p.Estimate.Rate/1e9, readingWords(p.Kept))
	_, _ = fmt.Fprintf(w, "price      %.1f nats for the grid of the hyper-parameters, %.1f nats for N and δ\n", p.LnInverseWeight, p.Confidence)
	if p.Horizon > 0 {
		dearer := int64(1)
		for dearer*(dearer+1) <= p.Horizon {
			dearer++
		}
		_, _ = fmt.Fprintf(w, "horizon    each of %d certificates spends delta/%d, as all bounds here do; without a horizon number k spends delta/(k(k+1)), which is less from number %d on\n", p.Horizon, p.Horizon, dearer)
	}
	p.prices(w)
	_, _ = fmt.Fprintln(w)
	if err := p.sweep(w); err != nil {
		return err
	}
	return p.bounds(w)
}

// example is the word for what hold-out bounds count.
func (p planned) example() string {
	if p.Units != nil {
		return "unit"
	}
	return "row"
}

// units prints the units of each role, and what so many can certify.
func (p planned) units(w io.Writer) {
	u := p.Units
	if u == nil {
		return
	}
	_, _ = fmt.Fprintf(w, "units      %s, counted in a reading of the rows: %d reference, %d train (the N of the bound), %d hold-out; fewer than %d train or hold-out units are refused. The largest has %s\n",
		u.Counted(u.Reference+u.Train+u.Holdout), u.Reference, u.Train, u.Holdout, certify.LeastUnits, certify.Count(u.Largest, "row"))
	if len(u.Bounds) > 0 {
		_, _ = fmt.Fprintln(w, "           hold-out bound if so much is missed: of the rows of each unit, or of the units with all their rows (bounds on means); or of the units, which miss or not (unit.misses)")
	}
	for _, b := range u.Bounds {
		misses := "no count"
		if b.Misses > 0 {
			misses = certify.AtMost(b.Misses)
		}
		_, _ = fmt.Fprintf(w, "           %2.0f %%: rows of each %s   whole units %s   misses %s\n", 100*b.Missed, certify.AtMost(b.Alike), certify.AtMost(b.Apart), misses)
	}
}

// prices prints what looks and a curve of the hold-out rows cost.
func (p planned) prices(w io.Writer) {
	if len(p.Looks) > 0 {
		_, _ = fmt.Fprintf(w, "looks      hold-out bound if 1 %% of these %ss %s (plan does not read the log of earlier looks)\n", p.example(), p.worst)
		for _, l := range p.Looks {
			_, _ = fmt.Fprintf(w, "           look %2d, one job after another: %s   best of %2d declared together (sweep): %s\n", l.Look, certify.AtMost(l.Paid), l.Look, certify.AtMost(l.Declared))
		}
	}
	if len(p.Groups) > 0 {
		_, _ = fmt.Fprintf(w, "groups     bound for a group of so many hold-out rows if 1 %% of them are missed, and without the others; fewer than %d say nothing, and each look shows all groups, which is why later looks cost so much\n", certify.LeastGroup)
		for _, g := range p.Groups {
			_, _ = fmt.Fprintf(w, "           %5d rows: %s   alone: %s\n", g.Rows, certify.AtMost(g.Bound), certify.AtMost(g.Alone))
		}
	}
	if len(p.Curve) > 0 {
		_, _ = fmt.Fprintf(w, "curve      hold-out bound at one declared tolerance, and at every tolerance at once (guarantees: [pac-bayes, curve]), which ends the looks at these rows\n")
		for _, c := range p.Curve {
			_, _ = fmt.Fprintf(w, "           %2.0f %% missed: %s   every tolerance: %s\n", 100*c.Missed, certify.AtMost(c.One), certify.AtMost(c.Every))
		}
	}
}

// readingWords name the part that the time leaves out.
func readingWords(kept bool) string {
	if kept {
		return "reading the rows twice comes on top"
	}
	return "reading the rows twice, and again in each pass of training, comes on top"
}

// sweep prints the alternatives and their shares of δ.
func (p planned) sweep(w io.Writer) error {
	k := len(p.Alternatives)
	if k == 0 {
		return nil
	}
	_, _ = fmt.Fprintf(w, "sweep      %d alternatives, declared together: each gets %s of delta %v, all certificates hold at once\n", k, p.Alternatives[0].Share, p.Delta)
	table := tabwriter.NewWriter(w, 2, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "  alternative\tchanges\tdelta\tfeatures\tprice")
	for _, a := range p.Alternatives {
		_, _ = fmt.Fprintf(table, "  %d\t%s\t%v · %s\t%d\t%.1f nats for the grid, %.1f for N and its part of delta\n",
			a.Alternative, a.Changes, p.Delta, a.Share, a.Features, a.LnInverseWeight, a.Confidence)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, "memory is that of the largest alternative, time that of all; the other lines are about the first.")
	if err == nil {
		_, err = fmt.Fprintln(w)
	}
	return err
}

// bounds prints the table of bounds: a row an empirical risk, a column a KL.
func (p planned) bounds(w io.Writer) error {
	n, _ := p.Examples()
	_, _ = fmt.Fprintf(w, "The bound that N = %d would give, by empirical risk and KL (a good fit ends with a KL of a few hundredths of N):\n", n)
	table := tabwriter.NewWriter(w, 2, 4, 2, ' ', tabwriter.AlignRight)
	risk := -1.0
	var header, lines string
	for _, b := range p.Bounds {
		if b.Risk != risk {
			risk = b.Risk
			lines += fmt.Sprintf("\nrisk %.2f\t", risk)
		}
		if risk == p.Bounds[0].Risk {
			header += fmt.Sprintf("KL %.0f\t", b.KL)
		}
		lines += certify.AtMost(b.Bound) + "\t"
	}
	_, _ = fmt.Fprintf(table, "\t%s%s\n", header, lines)
	return table.Flush()
}
