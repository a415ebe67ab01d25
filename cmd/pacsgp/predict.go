package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/sink/report"
)

func predictCommand(w system) *cobra.Command {
	var output, job, trusted string
	var within config.Budget
	var asJSON, gibbs bool
	var share config.Share
	var passthrough []string
	cmd := &cobra.Command{
		Use:   "predict (DIR | MODEL CERTIFICATE) DATA ... -o FILE",
		Short: "Write predictions of a certified model as Parquet",
		Long: "Predict each row of the data, with the current model of an output directory or with the model that you " +
			"name, and write one row for each. Columns: mean; deviation, of the function without noise; " +
			"predictive_deviation, of a target; and the id of the certificate, or null if it certifies nothing " +
			"about them. Deviations are never certified. A row that breaks the row rules of the certificate gets nulls " +
			"and a reason. --interval adds the columns lower and upper: an interval that covers this share of new " +
			"rows, from the certificate if possible, otherwise from predictive deviations and not certified.",
		Args: between(1, 1<<20, "(DIR | MODEL CERTIFICATE) DATA ..."),
		RunE: func(cmd *cobra.Command, args []string) error {
			model, certificate, rest, err := config.ArtifactPaths(cmd.Context(), args)
			if err != nil {
				return err
			}
			from, err := dataOf(cmd.Context(), w, rest, job)
			if err != nil {
				return err
			}
			if from == nil {
				return config.Argument(errors.New("name the DATA behind DIR, or behind MODEL and CERTIFICATE, or with --source a job file that says where they are"))
			}
			if err := config.MayCreate(output, from); err != nil {
				return config.Argument(fmt.Errorf("-o: %w", err))
			}
			if strings.HasSuffix(output, ".csv") {
				return config.Argument(errors.New("-o: predictions are a Parquet file: name it .parquet"))
			}
			if gibbs && share != 0 {
				return config.Argument(errors.New("--gibbs: intervals are around predictions, not around draws: leave out --interval"))
			}
			return errors.Join(predict(cmd.Context(), w, model, certificate, trusted, from, output, float64(share), gibbs, passthrough, within.Resources(), asJSON), from.Release(false))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&gibbs, "gibbs", false, "predict each row with a random draw from the\nposterior, the same in each run; mean is the draw")
	cmd.Flags().StringVar(&job, "source", "", "a job file whose source has the rows,\ninstead of DATA")
	cmd.Flags().Func("interval", "add intervals that cover this `share` of new rows,\nas in 90% or 0.9", share.Set)
	cmd.Flags().StringSliceVar(&passthrough, "passthrough", nil, "`columns` of the data to add, as in id,day")
	cmd.Flags().StringVar(&trusted, "trusted", "", config.TrustedKeys)
	budgetFlags(cmd, &within, "for duplicates and pages")
	outputFlag(cmd, &output, "Parquet file")
	return cmd
}

func predict(ctx context.Context, w system, model, certificate, trusted string, from config.Origin, output string, share float64, gibbs bool, passthrough []string, res job.Resources, asJSON bool) error {
	p, err := config.ReadPredictor(ctx, model, certificate, trusted, share, res)
	if err != nil {
		return err
	}
	if p.Draws = gibbs; gibbs {
		p.Model.Predictive, p.Model.Meta.Predictor = p.Model.Posterior, pass.Predictor{Factor: 1}
		p.Carries = pipeline.CarriedID(p.Certificate, p.ID, certify.PredictorDraw)
	}
	show := newDisplay(w)
	src, err := p.Open(ctx, from, res)
	if err != nil {
		return err
	}
	read := append(config.Paths(src), model, certificate)
	if err := config.MayReplace(output, read); err != nil {
		return err
	}
	if err := replaces(ctx, output, show.warning); err != nil {
		return err
	}
	if p.Passthrough, err = config.OpenPassthrough(ctx, from, src, passthrough, res); err != nil {
		return err
	}
	ready, err := pipeline.NewReady(p.Model, res.Workers)
	if err != nil {
		return err
	}
	defer ready.Close()
	var n config.RowCounts
	err = config.WriteFile(w.fs, output, read, func(to io.Writer) (err error) {
		n, err = p.Write(ctx, ready, src, nil, to)
		return errors.Join(err, p.Passthrough.Close())
	})
	if err != nil {
		return err
	}
	warnings := append(config.Alarms(certificate, p.ID, p.Certificate), report.ModelWarnings(p.Certificate)...)
	if asJSON {
		err = printJSON(w.stdout, struct {
			Warnings []string `json:"warnings"`
			Output   string   `json:"output"`
			config.RowCounts
			ID       string           `json:"certificate"` // "" if nothing is certified about the predictions
			Interval *config.Interval `json:"interval,omitempty"`
		}{report.Warnings(p.Certificate), output, n, p.Carries, p.Interval})
	} else {
		report.WriteWrapped(w.stdout, "", p.Words(output, n), w.style)
		warnings = append(p.Warnings(n), warnings...)
	}
	show.warnings(warnings)
	return err
}

// replaces warns if the output has predictions, which will be replaced. Any other file is an error.
func replaces(ctx context.Context, output string, warning func(string)) error {
	at, err := os.Stat(output)
	if errors.Is(err, fs.ErrNotExist) || err == nil && at.Size() == 0 {
		nextToRows(ctx, output, warning)
		return nil
	}
	if err != nil {
		return err
	}
	if ok := holdsPredictions(ctx, output); ctx.Err() != nil {
		return ctx.Err()
	} else if !ok {
		return config.Argument(fmt.Errorf("-o: %s is there and holds no predictions: name another file", output))
	}
	warning("the predictions in " + output + " are replaced when the new ones are complete")
	return nil
}

// holdsPredictions reports whether a Parquet file has the columns of predictions.
func holdsPredictions(ctx context.Context, path string) bool {
	_, err := config.Lake{Rows: []string{path}}.Open(ctx, dataset.Choice{Features: []string{"row", "mean", "deviation"}})
	return err == nil
}

// nextToRows warns if the folder of the output has a Parquet file that is not predictions, and not
// a file of an output directory: a job that reads the folder would read predictions as rows.
func nextToRows(ctx context.Context, output string, warning func(string)) {
	folder := filepath.Dir(output)
	all, _ := filepath.Glob(filepath.Join(folder, "[^._]*.parquet"))
	for _, path := range all {
		name := filepath.Base(path)
		if path == filepath.Clean(output) || strings.HasPrefix(name, "model-") || strings.HasPrefix(name, "certificate-") {
			continue
		}
		if folder != "." && !strings.ContainsRune("._", rune(filepath.Base(output)[0])) && !holdsPredictions(ctx, path) {
			warning(fmt.Sprintf("%s also has %s, which holds no predictions: if a job reads this folder, %s stops it; name another folder, or a file that begins with _", folder, name, filepath.Base(output)))
		}
		return
	}
}
