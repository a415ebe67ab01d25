package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink"
	"github.com/pacsgp/pacsgp/sink/report"
)

func compareCommand(w system) *cobra.Command {
	return &cobra.Command{
		Use:   "compare CERT CERT…",
		Short: "Say which certificates are comparable, and what choosing the best of them costs",
		Args:  between(2, mostCompared, "2 to 9 certificates (.json, or their rows as .parquet)"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return compare(cmd.Context(), w, args)
		},
	}
}

const mostCompared = 9

// compare prints the certificates of these files side by side.
func compare(ctx context.Context, w system, paths []string) error {
	var all []certify.Certificate
	for i, path := range paths {
		data, err := config.ReadArtifact(ctx, path)
		if err != nil {
			return err
		}
		c, id, err := sink.CertificateIn(path, data)
		if err != nil {
			return err
		}
		if err := certify.Recompute(c); err != nil {
			return fmt.Errorf("%s: %w: %w", path, pipeline.ErrRefused, err)
		}
		_, _ = fmt.Fprintf(w.stdout, "%d  %.12s…  %s\n", i+1, id, report.Escape(path))
		all = append(all, c)
	}
	_, _ = fmt.Fprintln(w.stdout)
	allComparable := related(w.stdout, all)
	chosen := make([]certify.Certificate, len(all))
	for i, c := range all {
		var err error
		if chosen[i], err = c.AsOneOf(int64(len(all))); err != nil {
			return err
		}
	}
	if err := sideBySide(w.stdout, all, chosen); err != nil {
		return err
	}
	choice := "Some of them are not comparable: the best number among these says nothing."
	if allComparable {
		choice = fmt.Sprintf("Choosing the best of these %d costs the numbers as one of %[1]d, each at delta/%[1]d: with these all hold at once, whichever you choose, if each job owed nothing to the results of the others. Alternatives of one sweep have paid already. A lower bound does not show that a model is better: all are upper limits.", len(all))
	}
	_, err := fmt.Fprintf(w.stdout, "\n%s\nNothing was verified: the documents do not contradict themselves; pacsgp verify checks each against its model and rows.\n", choice)
	return err
}

// related prints what the pairs have in common, and reports whether all are comparable.
func related(w io.Writer, all []certify.Certificate) bool {
	var fine []string
	for i, a := range all {
		for j, b := range all[i+1:] {
			pair := fmt.Sprintf("%d and %d", i+1, i+j+2)
			reasons := certify.Incomparable(a, b)
			if a.Delta.Declared != b.Delta.Declared {
				reasons = append(reasons, fmt.Sprintf("delta: %v and %v", a.Delta.Declared, b.Delta.Declared))
			}
			if reasons != nil {
				_, _ = fmt.Fprintf(w, "%s are not comparable: %s.\n", pair, report.Escape(strings.Join(reasons, "; ")))
				continue
			}
			fine = append(fine, pair)
			_, _ = fmt.Fprintf(w, "%s are comparable: one target, loss, tolerance and delta. %s\n", pair, sameRows(a, b))
		}
	}
	return len(fine) == len(all)*(len(all)-1)/2
}

// sameRows describes whether two certificates rest on the same hold-out rows.
func sameRows(a, b certify.Certificate) string {
	switch {
	case a.Ledger.Holdout == 0 || b.Ledger.Holdout == 0:
		return "Not both have hold-out rows."
	case a.Sample.Digest == b.Sample.Digest && a.Roles == b.Roles && a.Ledger == b.Ledger:
		return "They rest on the same hold-out rows."
	case a.Sample.Targets == b.Sample.Targets:
		return "They are of rows with the same targets; whether the same are hold-out rows, the documents do not say."
	default:
		return "They rest on other rows."
	}
}

// sideBySide prints each guarantee's bound of all certificates, and below it the bound as one of them.
func sideBySide(w io.Writer, all, chosen []certify.Certificate) error {
	table := tabwriter.NewWriter(w, 2, 4, 2, ' ', tabwriter.AlignRight)
	line := func(name string, cell func(i int) string) {
		_, _ = fmt.Fprintf(table, "%s\t", name)
		for i := range all {
			_, _ = fmt.Fprintf(table, "%s\t", cell(i))
		}
		_, _ = fmt.Fprintln(table)
	}
	line("\n", func(i int) string { return fmt.Sprint(i + 1) })
	var ids []certify.GuaranteeID
	for _, c := range all {
		for _, g := range c.Guarantees {
			if !slices.Contains(ids, g.ID) {
				ids = append(ids, g.ID)
			}
		}
	}
	number := func(g certify.Guarantee, ok bool) string {
		if !ok {
			return "-"
		}
		return certify.AtMost(g.Bound)
	}
	for _, id := range ids {
		line(string(id), func(i int) string { return number(all[i].Guarantee(id)) })
		line(fmt.Sprintf("as one of %d", len(all)), func(i int) string {
			if g, ok := all[i].Guarantee(id); ok && g.EmpiricalRisk == (certify.Risk{}) {
				return "takes the rows"
			}
			return number(chosen[i].Guarantee(id))
		})
		line("status", func(i int) string {
			g, ok := all[i].Guarantee(id)
			if ok && g.Status.Promises() {
				return string(report.Claimed)
			}
			return string(g.Status)
		})
	}
	line("hold-out rows", func(i int) string {
		if u := all[i].Ledger.Units; u != nil {
			return fmt.Sprintf("%d in %d units", all[i].Ledger.Holdout, u.Holdout)
		}
		return fmt.Sprint(all[i].Ledger.Holdout)
	})
	return table.Flush()
}
