package pipeline_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// must keeps the examples short: a program handles its errors.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Training from the rows of the program itself. The directory gets the model, the
// certificate, the log, the record of the run and the pointer.
func ExampleTrain() {
	ctx, rng := context.Background(), rand.New(rand.NewPCG(1, 1))
	x, y := make([]float64, 2000), make([]float64, 2000)
	for i := range x {
		x[i] = 6*rng.Float64() - 3
		y[i] = math.Sin(2*x[i]) + 0.1*rng.NormFloat64()
	}
	rows := must(dataset.Columns([]string{"x", "y"}, [][]float64{x, y}))
	j := must(job.Job{Target: "y", Loss: job.LossDecl{Epsilon: 0.5}, Delta: 0.01, Inducing: []int{20}}.WithDefaults())

	folder := must(os.MkdirTemp("", "own-rows"))
	defer os.RemoveAll(folder)
	o := must(pipeline.Train(ctx, j, rows, sinklake.NewOutput(folder, nil), pipeline.RunConfig{Software: "example 1.0"}))
	r := o.Result
	mean := r.Certificate.About(certify.PredictorMean)
	fmt.Printf("%s: the mean is off by more than 0.5 in at most %.0f %% of fresh rows\n", mean.Status, math.Ceil(100*mean.Bound))

	v := must(pipeline.Verify(ctx, r.Certificate, r.Model, r.ArtifactRef.Model, rows.Data, job.Resources{}))
	fmt.Println("verified against the rows:", v.Evidence)
	// Output:
	// certified: the mean is off by more than 0.5 in at most 2 % of fresh rows
	// verified against the rows: true
}

// trained is a model of y = 10 sin 2x. A program reads its model file by sink.DecodeModel.
func trained() pass.Model {
	var x, y []float64
	for i := range 500 {
		x = append(x, 6*float64(i*7%500)/500-3)
		y = append(y, 10*math.Sin(2*x[i]))
	}
	rows, out := must(dataset.Columns([]string{"x", "y"}, [][]float64{x, y})), &pipelinetest.Output{Store: &pipelinetest.Store{}}
	job := must(job.Job{Target: "y", Loss: job.LossDecl{Epsilon: 2}, Delta: 0.01, Inducing: []int{20}}.WithDefaults())
	return must(pipeline.Train(context.Background(), job, rows, out, pipeline.RunConfig{Software: "example 1.0"})).Result.Model
}

// Scoring one row at a time behind an HTTP handler. A row that the certificate does not
// speak of gets the reason instead of a number.
func ExampleReady_Row() {
	ready := must(pipeline.NewReady(trained(), 2))
	defer ready.Close()
	score := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var row []float64
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&row); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		p, err := ready.Row(row)
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadRequest)
		case p.Reason != "":
			http.Error(w, p.Reason, http.StatusUnprocessableEntity)
		default:
			fmt.Fprintf(w, "%.0f", p.Mean)
		}
	})
	for _, row := range []string{"[0.785]", "[1e30]", "[1, 2]"} {
		answer := httptest.NewRecorder()
		score.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(row)))
		fmt.Printf("%s: %d %.42s\n", row, answer.Code, strings.TrimSpace(answer.Body.String()))
	}
	// Output:
	// [0.785]: 200 10
	// [1e30]: 422 the prediction cannot be computed with the
	// [1, 2]: 400 a row of 2 values, the model wants 1
}
