package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
)

// theDemo has fewer inducing points than the default, so that the demo takes a quarter of a minute.
var theDemo = demoSize{rows: 20_000, fresh: 20_000, files: 4, inducing: 400}

func demoCommand(w system) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Make a small lake, train, certify, verify, and try new rows",
		Long: "Make a lake of 20,000 rows of artificial data, train a model on it, certify and verify the model, and " +
			"compare the bound with the risk on 20,000 new rows of the same source. No network or other file is needed.",
		Args: between(0, 0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return demo(cmd.Context(), w, output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "pacsgp-demo", "directory to write to")
	return cmd
}

func demo(ctx context.Context, w system, output string) error {
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(w.stdout, format, args...) }
	generator, err := config.NewGenerator()
	if err != nil {
		return err
	}
	path := filepath.Join(output, "lake")
	say("Writing %s in %s to %s …\n", words.Count(w.demo.rows, "row"), words.Count(w.demo.files, "Parquet file"), path)
	if err := generator.WriteLake(ctx, path, w.demo.files, 0, w.demo.rows); err != nil {
		return err
	}
	c := config.JobFile{
		Source: config.SourceSection{Paths: []string{path}}, Target: "y", Delta: 0.01,
		Loss: config.LossSection{Epsilon: config.Epsilon{Raw: 0.5}}, Inducing: yamlfile.Ints{w.demo.inducing}, Output: filepath.Join(output, "artifact"),
		Folder: output,
	}
	p, err := config.NewTask(c)
	if err != nil {
		return err
	}
	say("Training on it: a prediction that is off by more than ε = %g counts as a miss …\n\n", p.Job.Loss.Epsilon)
	o, err := train(ctx, w, p, false)
	if err != nil {
		return err
	}
	if err := o.report(w); err != nil {
		return err
	}
	say("\nVerifying the artifact against the lake …\n")
	model, certificate := filepath.Join(p.Output, o.Record.Model), filepath.Join(p.Output, o.Record.Certificate)
	v, err := verification{model: model, certificate: certificate, id: o.Record.ID, from: p.Source, required: p.Require.Of}.run(ctx, w)
	if err != nil {
		return err
	}
	if err := v.Print(w.paper, w.style); err != nil {
		return err
	}
	if err := demoFreshRows(ctx, generator, w.demo, o, filepath.Join(output, "fresh"), say); err != nil {
		return err
	}
	return o.verdict()
}

// demoFreshRows compares the bound with the risk on new rows from the generator.
func demoFreshRows(ctx context.Context, generator *config.Generator, size demoSize, o *outcome, dir string, say func(string, ...any)) error {
	say("\nMaking %s new rows of the same source …\n", words.Number(size.fresh))
	if err := generator.WriteLake(ctx, dir, 1, size.rows, size.fresh); err != nil {
		return err
	}
	m := o.Result.Model
	src, err := config.Lake{Rows: []string{dir}}.Open(ctx, dataset.Choice{Features: generator.Columns()[:len(m.Meta.Features)], Target: m.Meta.Target.Name})
	if err != nil {
		return err
	}
	drawn, predicted, _, err := pipeline.Evaluate(ctx, src, m, runtime.GOMAXPROCS(0))
	if err != nil {
		return err
	}
	mean, draw := o.Result.Certificate.About(certify.PredictorMean), o.Result.Certificate.About(certify.PredictorDraw)
	say("  predictions missed %s of them; %s: at most %s\n", words.PercentNear(predicted), mean.Status, words.PercentUp(mean.Bound))
	say("  random draws missed %s of them; %s: at most %s\n", words.PercentNear(drawn), draw.Status, words.PercentUp(draw.Bound))
	if !(drawn <= draw.Bound && predicted <= mean.Bound) {
		return errors.New("the risk on new rows is above the bound: by chance this happens in at most one of 100 samples")
	}
	return nil
}
