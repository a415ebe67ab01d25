package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/cmd/program"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/report"
)

func auditCommand(w system) *cobra.Command {
	var v verification
	var key, job, output string
	cmd := &cobra.Command{
		Use:   "audit (DIR | MODEL CERTIFICATE) [DATA ...]",
		Short: "Train the job of a certificate again under a key of your own",
		Long: "Check a certificate, train its job again on the same rows under another key, and certify the\n" +
			"result. The key decides which rows are held out: the one of the certificate may have been\n" +
			"chosen for its easy rows, a key that is drawn here was not. The audit says how far your\n" +
			"number is from the maker's, and what difference chance explains. It takes as long as\n" +
			"training did.\n\n" +
			"Exit status 0 says that chance explains the difference and that your number promises\n" +
			"something; 3 that it does not, or that the job cannot be audited; 1 that the certificate is refused.",
		Args: between(1, 1<<20, "(DIR | MODEL CERTIFICATE) [DATA ...]"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if err = v.read(cmd.Context(), w, args, job); err != nil {
				return err
			}
			if v.From == nil {
				return config.Argument(errors.New("name the data to train on: an audit takes the rows"))
			}
			drawn := key == ""
			if drawn {
				key = "audit-" + rand.Text()
			}
			dir, remove, err := auditFolder(output)
			if err != nil {
				return err
			}
			defer remove()
			var a *pipeline.Audit
			v.audit = func(ctx context.Context, found *pipeline.Verification, open pipeline.OpenData, res pipeline.Resources) error {
				a, err = audited(ctx, w, found, open, res, key, dir)
				return err
			}
			found, err := v.run(cmd.Context(), w)
			if err != nil {
				return err
			}
			printAudit(w, found, a, drawn)
			if output != "" {
				_, _ = fmt.Fprintf(w.stdout, "\nYour certificate  %s\nYour model        %s\n", completed(filepath.Join(output, pipeline.CertificateName(a.Result.ID))), completed(filepath.Join(output, pipeline.ModelName(a.Result.ModelDigest))))
			}
			return a.Verdict()
		},
	}
	f := cmd.Flags()
	f.StringVar(&key, "key", "", "the key, where it was drawn elsewhere (default: drawn at random, and printed)")
	f.StringVarP(&output, "output", "o", "", "a directory for your model and certificate")
	f.StringVar(&job, "source", "", "a job file whose section source says where the rows are, in the place of DATA")
	f.StringVar(&v.Manifest, "manifest", "", "the list of the sample's files among the data (default: the one beside the certificate)")
	v.flags(cmd)
	return cmd
}

// auditFolder is the folder of an audit: the output, or a temporary one.
func auditFolder(output string) (dir string, remove func(), err error) {
	if output != "" {
		return output, func() {}, config.Local(output)
	}
	dir, err = os.MkdirTemp("", "pacsgp-audit-")
	return dir, func() { _ = os.RemoveAll(dir) }, err
}

func audited(ctx context.Context, w system, found *pipeline.Verification, open pipeline.OpenData, res pipeline.Resources, key, dir string) (a *pipeline.Audit, err error) {
	out := config.OutputIn(dir, w.fs)
	release, err := out.Hold()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	show := newDisplay(w)
	defer show.end()
	return found.Audit(ctx, open, key, pipeline.Environment{Sink: out, Resources: res, Observer: show.observer(), Software: program.Software()})
}

func printAudit(w system, v *program.Verified, a *pipeline.Audit, drawn bool) {
	for _, line := range v.Found.Checked {
		report.WriteWrapped(w.stdout, "ok: ", line, w.style)
	}
	how := "the key was given: it says something if its maker did not know it"
	if drawn {
		how = "drawn here at random"
	}
	_, _ = fmt.Fprintf(w.stdout, "\nkey      %s (%s)\n", a.Key, how)
	for _, row := range []struct {
		who string
		m   pipeline.Misses
	}{{"maker's", a.Maker}, {"yours", a.Own}} {
		_, _ = fmt.Fprintf(w.stdout, "%-8s %s (%.2f %%); bound %s\n", row.who, row.m, 100*row.m.Share(), certify.AtMost(row.m.Bound))
	}
	if g, _ := v.Certificate.HeldOut(); g.Bound != a.Maker.Bound {
		_, _ = fmt.Fprintf(w.stdout, "         the certificate states %s, under another look or share of delta than yours\n", certify.AtMost(g.Bound))
	}
	report.WriteWrapped(w.stdout, "", a.Words(), w.style)
	report.WriteWrapped(w.stdout, "NOT CHECKED: ", a.NotChecked(), w.style)
	_, _ = fmt.Fprintln(w.stdout)
	report.WriteHeadlines(w.paper, a.Result.Certificate, w.style, report.Anybody)
}
