package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink"
	"github.com/pacsgp/pacsgp/sink/report"
)

func predictCommand(w system) *cobra.Command {
	var output, job, trusted string
	var within budget
	var asJSON bool
	var share float64
	cmd := &cobra.Command{
		Use:   "predict (DIR | MODEL CERTIFICATE) DATA ... -o predictions.parquet",
		Short: "Write predictions of a certified model as Parquet",
		Long: "Write one row for each row of the data, with the model that is current in an output\n" +
			"directory, or with one that is named: mean; deviation, of f without the noise of a\n" +
			"target; predictive_deviation, of a target, null where the model has none; and the id of\n" +
			"the certificate, with the word conditional if the mean is certified on its maker's word\n" +
			"alone, and null if no guarantee for it is certified or conditional. No\n" +
			"guarantee speaks of a deviation, but for a curve in predictive ones (loss.width). A row that\n" +
			"breaks the row rules of the certificate gets nulls and a reason. With --interval two columns\n" +
			"more, lower and upper: the ends of an interval that covers so large a share of fresh rows, by\n" +
			"the curve of the certificate.",
		Args: between(1, 1<<20, "(DIR | MODEL CERTIFICATE) DATA ..."),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output == "" {
				return config.Argument(errors.New("-o: name the file to write"))
			}
			model, certificate, rest, err := artifactPaths(cmd.Context(), args)
			if err != nil {
				return err
			}
			from, err := dataOf(cmd.Context(), w, rest, job)
			if err != nil {
				return err
			}
			if from == nil {
				return config.Argument(errors.New("name the DATA, or with --source a job file that says where they are"))
			}
			if err := config.MayCreate(output, from); err != nil {
				return config.Argument(fmt.Errorf("-o: %w", err))
			}
			res, err := within.resources()
			if err != nil {
				return err
			}
			return errors.Join(predict(cmd.Context(), w, model, certificate, trusted, from, output, share, res, asJSON), from.Release(false))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&job, "source", "", "a job file whose section source says where the rows are, in the place of DATA")
	cmd.Flags().Float64Var(&share, "interval", 0, "write the ends of an interval that covers so large a share of fresh rows, as in 0.9")
	cmd.Flags().Var((*trust)(&trusted), "trusted", trustedKeys)
	within.flags(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "", "the Parquet file to write")
	return cmd
}

func predict(ctx context.Context, w system, modelPath, certificatePath, trusted string, from config.Origin, output string, share float64, res pipeline.Resources, asJSON bool) error {
	m, digest, err := config.ReadModel(ctx, modelPath)
	if err != nil {
		return err
	}
	c, id, err := config.ReadCertificate(ctx, certificatePath)
	if err != nil {
		return err
	}
	show := newDisplay(w)
	if _, err := config.SignedBy(ctx, certificatePath, id, c, trusted); err != nil {
		return err
	}
	if err := (needs{memory: pipeline.CheckMemory(c, m, pipeline.Sample{}, res)}).met(w, res.Memory, ""); err != nil {
		return err
	}
	if _, err := pipeline.Verify(ctx, c, m, digest, nil, res); err != nil {
		return err
	}
	ends, err := newInterval(c, share)
	if err != nil {
		return err
	}
	id = pipeline.CarriedID(c, id)
	for _, text := range report.Cautions(c) {
		show.notice(text)
	}
	src, err := from.Open(ctx, pipeline.Choice{Features: m.Meta.Inputs(), Encoded: m.Meta.Encode, Mark: true, Decoders: res.Workers, Pages: res.PageMemory()})
	if err != nil {
		return m.Meta.Lacks(err)
	}
	sample, err := pipeline.SampleOf(ctx, src, res.Workers)
	if err != nil {
		return err
	}
	if err := (needs{reading: sample.Reader, memory: pipeline.PredictMemory(m, sample, res)}).met(w, res.Memory, lessHere); err != nil {
		return err
	}
	read, err := mayWrite(ctx, show, src, output, modelPath, certificatePath)
	if err != nil {
		return err
	}
	n, err := writePredictions(ctx, w, src, m, res.Workers, output, read, id, ends)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(w.stdout, struct {
			Doubts   []string  `json:"doubts"`
			Output   string    `json:"output"`
			Rows     int64     `json:"rows"`
			Refused  int64     `json:"rows_without_prediction"`
			Vague    int64     `json:"rows_without_deviation"` // that have a prediction
			Far      int64     `json:"rows_far"`               // from the reference rows, that have a prediction
			ID       string    `json:"certificate"`            // "" if nothing is certified about the predictions
			Interval *interval `json:"interval,omitempty"`
		}{append([]string{}, c.Doubts()...), output, n.rows, n.refused, n.vague, n.far, id, ends})
	}
	for _, text := range n.notices(ends, m.Meta.Noise) {
		show.notice(text)
	}
	_, err = fmt.Fprintf(w.stdout, "%s: %s, %d of them without a prediction (column reason says why)\n%s", output, certify.Count(n.rows, "row"), n.refused, ends.words())
	return err
}

// mayWrite refuses an output in the place of a file that is read, and announces that predictions at
// it are replaced. It returns the files that are read.
func mayWrite(ctx context.Context, show *display, src pipeline.Opened, output string, read ...string) ([]string, error) {
	for _, f := range src.Files() {
		read = append(read, f.Path)
	}
	if err := config.MayReplace(output, read); err != nil {
		return nil, err
	}
	return read, replaces(ctx, output, show.notice)
}

// rowCounts counts all rows, rows without a prediction, and predictions without a deviation, without a
// predictive one, and far from the reference rows.
type rowCounts struct {
	rows, refused, vague, unknown, far int64

	other map[string]int64 // by feature, rows with a value of it that is no level
}

// notices are what a reader of the predictions should know.
func (n rowCounts) notices(ends *interval, noise *pipeline.Noise) (said []string) {
	wide := ends != nil && ends.Width == certify.WidthDeviation
	if wide && noise != nil && noise.Spread == 0 {
		said = append(said, "all predictive deviations of this model are the same, and so are the widths of the intervals: the noise is all that it is unsure of")
	}
	if wide && n.unknown > 0 {
		said = append(said, certify.Count(n.unknown, "prediction")+" without an interval: the predictive deviation is not known to a part in 256")
	}
	if n.vague > 0 {
		said = append(said, certify.Count(n.vague, "prediction")+" without a deviation: it is too small to be computed to a part in 256")
	}
	for _, name := range slices.Sorted(maps.Keys(n.other)) {
		words := fmt.Sprintf("%s of %d with a value of %q that the model does not know: it counts as other", certify.Count(n.other[name], "row"), n.rows, name)
		if n.other[name] == n.rows {
			words += " (hint: is it text in the one, and numbers in the other?)"
		}
		said = append(said, words)
	}
	if n.far > 0 {
		said = append(said, fmt.Sprintf("%s far from the reference rows: a feature lies more than %d of its scales from its centre. The certificate speaks of rows of its own source, hardly of these", certify.Count(n.far, "prediction"), pipeline.FarScales))
	}
	return said
}

// writePredictions writes the predictions of all rows to a file, which replaces none of those
// that were read.
func writePredictions(ctx context.Context, w system, src pipeline.Source, m pipeline.Model, workers int, output string, read []string, id string, ends *interval) (n rowCounts, err error) {
	file, err := config.NewFile(w.fs, output, read, newDisplay(w).notice)
	if err != nil {
		return n, err
	}
	defer file.Abort()
	var columns []sink.Kept
	if ends != nil {
		columns = sink.EndColumns()
	}
	out := sink.NewPredictions(file, id, columns...)
	n.other = map[string]int64{}
	err = pipeline.Predict(ctx, src, m, workers, func(batch []pipeline.Prediction) error {
		for _, p := range batch {
			n.rows++
			switch {
			case p.Reason != "":
				n.refused++
			case math.IsNaN(p.Deviation):
				n.vague++
			}
			if p.Reason == "" && math.IsNaN(p.PredictiveDeviation) {
				n.unknown++
			}
			if p.Other != "" {
				n.other[p.Other]++
			}
			if p.Far {
				n.far++
			}
		}
		if ends == nil {
			return out.Write(batch)
		}
		return out.Write(batch, sink.Ends(batch, ends.Tolerance, ends.Width)...)
	})
	if err == nil {
		err = out.Close()
	}
	if err == nil {
		err = file.Commit()
	}
	return n, err
}

// replaces announces that predictions at the output will be replaced. It refuses any other file.
func replaces(ctx context.Context, output string, notice func(string)) error {
	at, err := os.Stat(output)
	if errors.Is(err, fs.ErrNotExist) || err == nil && at.Size() == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = config.Lake{output}.Open(ctx, pipeline.Choice{Features: []string{"row", "mean", "deviation"}})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return config.Argument(fmt.Errorf("-o: %s is there and holds no predictions: remove it, or name another file", output))
	}
	notice("the predictions in " + output + " are replaced when the new ones are complete")
	return nil
}
