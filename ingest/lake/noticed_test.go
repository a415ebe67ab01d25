package lake_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// noLog ends a run behind its first pass.
type noLog struct{ pipelinetest.Store }

var errSurveyed = errors.New("surveyed")

func (*noLog) Log() (pipeline.Log, error) { return pipeline.Log{}, errSurveyed }

// What is said of columns is said of identifiers, and of no column of real sets else.
func TestNoticesOfRealSets(t *testing.T) {
	for _, c := range []struct{ folder, target, says string }{
		{"boston", "MEDV", ""},
		{"concrete", "y", ""},
		{"powerplant", "y", ""},
		{"kin8nm", "y", ""},
		{"pol", "y", ""},
		{"bike", "y", `columns "x02" and "x06" are equal`},
		{"flights", "delay", ""},
		{"keggdirected", "y", `columns "x11" and "x16" are equal`},
		{"writers/same", "pm", ""},
		{"beijing_air", "PM2.5", ""},
		{"hflights", "ArrDelay", `columns "Month" and "month" are equal`},
		{"nights", "arr_delay", `column "id" looks like an identifier`},
	} {
		if testing.Short() && (c.folder == "beijing_air" || c.folder == "flights") {
			continue // large, and nothing is said of them
		}
		rows := lake.Rows{sharedData(t, c.folder)}
		job, err := pipeline.Job{
			Target: c.target, Loss: pipeline.LossDecl{EpsilonStd: 0.5}, Delta: 0.01,
			Copies: pipeline.CopiesDecl{Policy: pipeline.CopiesKept}, BadRows: pipeline.BadRowsDecl{Tolerance: 0.5},
		}.WithDefaults()
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		var store noLog
		_, err = pipeline.Run(t.Context(), job, pipeline.Environment{
			Open: func(ctx context.Context, features []string) (pipeline.Source, error) {
				return rows.Open(ctx, pipeline.Choice{Features: features, Target: c.target, Mark: true})
			},
			Sink: &store, Log: &store, Checkpoints: &store, Software: "test",
			Observer: pipeline.Observer{Notice: func(text string) {
				if strings.Contains(text, "identifier") || strings.Contains(text, "are equal") || strings.Contains(text, "two values") {
					said = append(said, text)
				}
			}},
		})
		if !errors.Is(err, errSurveyed) {
			t.Errorf("%s: %v", c.folder, err)
		}
		if text := strings.Join(said, "\n"); !strings.Contains(text, c.says) || (text == "") != (c.says == "") {
			t.Errorf("%s: it says %q", c.folder, text)
		}
	}
}
