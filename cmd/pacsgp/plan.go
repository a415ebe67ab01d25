package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/certify"
	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/pipeline"
)

func planCommand(w world) *cobra.Command {
	var path string
	var asJSON bool
	var o overrides
	cmd := &cobra.Command{
		Use:   "plan -c job.yaml",
		Short: "Say what a job would read and what so many rows can certify, from footers alone",
		Args:  exactly(0, "none, for the job file is given by -c"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := loadJob(path, w, o, cmd.Flags().Changed)
			if err != nil {
				return err
			}
			return plan(cmd.Context(), p, w, asJSON)
		},
	}
	cmd.Flags().StringVarP(&path, "config", "c", "", "the job file (YAML)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&o.epsilon, "epsilon", "", "tolerance, as for train")
	cmd.Flags().Float64Var(&o.delta, "delta", 0, "delta, as for train")
	cmd.Flags().IntSliceVar(&o.inducing, "inducing", nil, "numbers of inducing points, as for train")
	return cmd
}

// A prospect is what plan prints.
type prospect struct {
	Files   []ingestlake.File `json:"files"`
	Columns []string          `json:"columns"`
	Nulls   nulls             `json:"nulls"` // one a column
	Notices []string          `json:"notices"`
	pipeline.Outlook
	Estimate     pipeline.Estimate    `json:"estimate"` // of all alternatives together
	Delta        float64              `json:"delta"`
	Alternatives []alternativeOutlook `json:"alternatives,omitempty"` // of a sweep; the rest is about the first
}

func plan(ctx context.Context, p prepared, w world, asJSON bool) error {
	jobs := p.job.Alternatives()
	var out prospect
	var estimates time.Duration
	var most int64
	for _, job := range jobs {
		each, err := p.of(job).prospect(ctx)
		if err != nil {
			if len(jobs) > 1 {
				err = fmt.Errorf("alternative %d (%s): %w", job.Number, job.Changes(), err)
			}
			return err
		}
		estimates += each.Estimate.Time
		most = max(most, each.Estimate.Bytes)
		if job.Number <= 1 {
			out = each
		}
		if job.Number > 0 {
			out.Alternatives = append(out.Alternatives, alternativeOutlook{
				job.Number, job.Changes(), each.Features, job.Spends().Share().String(), each.LnInverseWeight, each.Confidence,
			})
			out.Nulls = out.Nulls.and(each.Nulls)
		}
	}
	out.Estimate.Time, out.Estimate.Bytes = estimates, most
	if asJSON {
		doc, err := json.MarshalIndent(out, "", "  ")
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(w.stdout, "%s\n", doc)
		return out.Nulls.fault()
	}
	if err := out.print(w.stdout); err != nil {
		return err
	}
	return out.Nulls.fault()
}

// prospect looks at the footers of a job that is no sweep, or is one of its
// alternatives.
func (p prepared) prospect(ctx context.Context) (prospect, error) {
	src, err := ingestlake.Open(ctx, ingestlake.Config{
		Paths: p.paths, Features: p.job.Features, Exclude: p.job.Exclude, Target: p.job.Target,
	})
	if err != nil {
		return prospect{}, err
	}
	out := prospect{Delta: p.job.Delta, Files: src.Files(), Columns: src.Columns(), Notices: src.Notices()}
	if out.Nulls, err = src.Nulls(ctx); err != nil {
		return prospect{}, err
	}
	var rows int64
	for _, s := range src.Shards() {
		rows += s.Rows
	}
	d := len(out.Columns) - 1
	if out.Outlook, err = pipeline.NewOutlook(p.job, rows, d, p.resources); err != nil {
		return prospect{}, err
	}
	out.Estimate, err = pipeline.NewEstimate(p.job, out.Train, d, p.resources)
	return out, err
}

// An alternativeOutlook is what plan says of one alternative of a sweep.
type alternativeOutlook struct {
	Alternative     int     `json:"alternative"`
	Changes         string  `json:"changes"` // in words: what it changes in the job
	Features        int     `json:"features"`
	Share           string  `json:"share"`             // of delta, a fraction
	LnInverseWeight float64 `json:"ln_inverse_weight"` // nats that a flat grid costs
	Confidence      float64 `json:"ln_xi_over_delta"`  // ln(ξ(N)/(δ·share)), nats
}

// nulls are what the footers say about nulls in the used columns.
type nulls []ingestlake.Nulls

// fault is the error that train would stop with, told beforehand; nil if the
// footers count no null.
func (n nulls) fault() error {
	var faults []error
	for _, c := range n {
		if c.Count > 0 {
			faults = append(faults, fmt.Errorf("%w: column %q has %d nulls", pipeline.ErrData, c.Column, c.Count))
		}
	}
	if faults == nil {
		return nil
	}
	return errors.Join(append(faults, errors.New("hint: train stops at the first null; leave the column out (key exclude), or clean the rows by a rule that looks at a row's own values only"))...)
}

// and adds the columns of others that are not there yet.
func (n nulls) and(others nulls) nulls {
	for _, c := range others {
		if !slices.ContainsFunc(n, func(known ingestlake.Nulls) bool { return known.Column == c.Column }) {
			n = append(n, c)
		}
	}
	return n
}

// words says it in a line.
func (n nulls) words() string {
	var having int
	var uncounted []string
	for _, c := range n {
		if c.Count > 0 {
			having++
		}
		if c.Uncounted > 0 {
			uncounted = append(uncounted, fmt.Sprintf("%q (%d rows)", c.Column, c.Uncounted))
		}
	}
	var words []string
	if having > 0 {
		words = append(words, fmt.Sprintf("in %d of the used columns, by the footers: train would stop", having))
	}
	if len(uncounted) > 0 {
		words = append(words, "not known where footers do not count them: "+strings.Join(uncounted, ", "))
	}
	if words == nil {
		return "none in the used columns, by the footers"
	}
	return strings.Join(words, "; ")
}

// filesShown is how many files plan lists by name.
const filesShown = 20

func (p prospect) print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 2, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "file\trows\trow groups\tsize")
	for i, f := range p.Files {
		if i == filesShown {
			_, _ = fmt.Fprintf(table, "… and %d more\t\t\t\n", len(p.Files)-i)
			break
		}
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%s\n", f.Path, f.Rows, f.RowGroups, bytesWords(f.Bytes))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	last := len(p.Columns) - 1
	_, _ = fmt.Fprintf(w, "\ntarget     %s\nfeatures   %d: %v\n", p.Columns[last], p.Features, p.Columns[:last])
	for _, text := range p.Notices {
		_, _ = fmt.Fprintln(w, "note      ", text)
	}
	_, _ = fmt.Fprintf(w, "nulls      %s\n", p.Nulls.words())
	_, _ = fmt.Fprintf(w, "rows       %d: %d reference (scaling, start values), %d train (fitting and certifying: the N of the bound)\n",
		p.Rows, p.Reference, p.Train)
	kept := "kept in memory"
	if !p.Kept {
		kept = "more than the budget: read again in each pass"
	}
	_, _ = fmt.Fprintf(w, "memory     about %s: %s for the rows (%s), the rest for M = %d\n",
		bytesWords(p.Estimate.Bytes), bytesWords(p.KeptBytes), kept, p.Estimate.Inducing)
	_, _ = fmt.Fprintf(w, "time       about %v and some seconds for start values: %d training steps of %d rows, one last pass, at %.1f GFLOP/s measured just now\n",
		p.Estimate.Time.Round(time.Second), p.Estimate.Steps, p.Estimate.Batch, p.Estimate.Rate/1e9)
	_, _ = fmt.Fprintf(w, "price      %.1f nats for the grid of the hyper-parameters, %.1f nats for N and δ\n\n", p.LnInverseWeight, p.Confidence)
	if err := p.sweep(w); err != nil {
		return err
	}
	return p.bounds(w)
}

// sweep prints the alternatives and what each gets of δ.
func (p prospect) sweep(w io.Writer) error {
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
func (p prospect) bounds(w io.Writer) error {
	_, _ = fmt.Fprintf(w, "The bound that N = %d would give, by empirical risk and KL (a good fit ends with a KL of a few hundredths of N):\n", p.Train)
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

func bytesWords(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, suffix := float64(n)/unit, 0
	for value >= unit && suffix < 3 {
		value /= unit
		suffix++
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGT"[suffix])
}
