package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pacsgp/pacsgp/bench/measured"
	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/words"
)

const (
	accuracyRows     = 6000 // at most, of a job
	accuracyInducing = 200
	accuracyEpsilon  = 0.6 // in standard deviations of the target
	accuracyDelta    = 0.01
)

// A variant is a way of training our model: by an objective, with or without a column of boosted trees as prior mean.
type variant struct {
	objective string
	trees     string // the rows that the trees are fitted on; empty means no trees
}

const (
	treesOfAll     = "all"     // all rows but the held-out rows
	treesOfOutside = "outside" // only outside rows, three tenths of all
)

var variants = []variant{{"bound", ""}, {"elbo", ""}, {"elbo", treesOfAll}, {"elbo", treesOfOutside}}

func (v variant) String() string {
	switch v.trees {
	case treesOfAll:
		return v.objective + ", mean: boosting"
	case treesOfOutside:
		return v.objective + ", mean: boosting of outside rows"
	}
	return v.objective
}

// rows returns the name of the folder of rows that a variant reads; split is "train" or "test".
func (v variant) rows(split string) string {
	if v.trees != "" {
		return v.trees + "-" + split
	}
	return split
}

// job returns the job file of a variant, for the rows of a folder.
func (v variant) job(c accuracyCase, folder string) string {
	mean := words.If(v.trees != "", "mean: "+boostedColumn+"\n")
	if v.trees == treesOfOutside {
		mean += "split: {outside: 30 %}\n"
	}
	return fmt.Sprintf("source: {paths: [%s]}\ntarget: %s\n%sloss: {epsilon: %v}\ndelta: %v\ninducing: %d\nduplicates: keep\ntrain: {objective: %s}\noutput: %s\n",
		folder, c.Target, mean, c.Epsilon, c.Delta, c.Inducing, v.objective, v.output())
}

func (v variant) output() string { return "artifact-" + v.rows(v.objective) }

// boostedColumn is the column in which accuracy.py writes the predictions of the trees.
const boostedColumn = "boosted"

// accuratePeers are the names of peers, the slowest last. ourHoldout is the trees of treesOfAll, tested on the
// rows that our jobs hold out.
var accuratePeers = []string{"boosting", ourHoldout, "exact", "svgp"}

const ourHoldout = "boosting, our held-out rows"

// An accuracyCase is a request to accuracy.py.
type accuracyCase struct {
	Do          string  `json:"do"`
	Data        string  `json:"data"`
	Target      string  `json:"target"`
	Work        string  `json:"work"`
	Predictions string  `json:"predictions,omitempty"`
	Trees       string  `json:"trees,omitempty"`
	Seed        int     `json:"seed"`
	Rows        int     `json:"rows"`
	Inducing    int     `json:"inducing"`
	Epsilon     float64 `json:"epsilon"`
	Delta       float64 `json:"delta"`
	Share       float64 `json:"share"` // the part of the rows that is held out
}

// accuracy compares risks, errors and intervals with those of peers.
func accuracy(ctx context.Context, b *bench) (_ string, err error) {
	p, err := b.start(ctx, "accuracy", []string{"OMP_NUM_THREADS=1"}, "accuracy.py")
	if err != nil || p == nil {
		return "Left out: it is Python that splits the rows.\n", err
	}
	defer func() { err = errors.Join(err, stop([]*peer{p})) }()
	binary, err := measured.Build(ctx, b.work, b.log, "./cmd/pacsgp", "build")
	if err != nil {
		return "", err
	}
	names := slices.Clone(accuratePeers)
	for i, v := range variants {
		names = slices.Insert(names, i, v.String())
	}
	found := map[string]map[string]rounds{} // by set and name
	head := []string{""}
	for _, set := range sets {
		head, found[set.name] = append(head, set.name), map[string]rounds{}
		for seed := range b.rounds {
			if err := b.accuracySplit(ctx, binary, p, set, seed, found[set.name]); err != nil {
				return "", fmt.Errorf("%s, split %d: %w", set.name, seed, err)
			}
		}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Means of %d splits: 80 %% of the rows, at most %d, for the job; M = %d, ε = %g standard deviations of the target, δ = %g.\n", b.rounds, accuracyRows, accuracyInducing, accuracyEpsilon, accuracyDelta)
	for _, q := range accuracyQuestions {
		t := measured.Table{append([]string{q.what}, head[1:]...)}
		for _, name := range names {
			cells, none := []string{name}, true
			for _, set := range head[1:] {
				cell := q.cell(found[set][name].mean)
				cells, none = append(cells, cell), none && strings.HasPrefix(cell, "–")
			}
			if !none {
				t.Add(cells...)
			}
		}
		text.WriteString("\n" + t.String())
	}
	return text.String(), nil
}

// accuracyQuestions are the tables. A cell is made from means over the splits of what accuracy.py returns and
// certificates state. Only our variants have a bound of a draw.
var accuracyQuestions = []struct {
	what string
	cell func(mean func(string) float64) string
}{
	{"bound of predictions, share missed", func(mean func(string) float64) string { return fmt.Sprintf("%.4f, %.4f", mean("bound"), mean("risk")) }},
	{"RMSE, in deviations", func(mean func(string) float64) string { return fmt.Sprintf("%.4f", mean("rmse")) }},
	{"coverage of 95 % intervals, half-width", func(mean func(string) float64) string {
		return number(100*mean("coverage"), "%.1f %%") + ", " + number(mean("width"), "%.3f")
	}},
	{"bound of a draw", func(mean func(string) float64) string { return number(mean("draw"), "%.4f") }},
}

// mean returns the mean of one value over all rounds.
func (r rounds) mean(name string) (mean float64) {
	for _, x := range r {
		mean += x[name] / float64(len(r))
	}
	return mean
}

// accuracySplit adds the results of our variants and of the peers on one split.
func (b *bench) accuracySplit(ctx context.Context, binary string, p *peer, set set, seed int, found map[string]rounds) error {
	work, err := filepath.Abs(filepath.Join(b.work, fmt.Sprintf("accuracy-%s-%d", set.name, seed)))
	if err != nil {
		return err
	}
	if err := os.RemoveAll(work); err != nil { // with the log of earlier runs
		return err
	}
	c := accuracyCase{Do: "split", Data: filepath.Join(b.data, set.name), Target: set.target, Work: work, Seed: seed, Rows: accuracyRows, Inducing: accuracyInducing, Delta: accuracyDelta}
	var split struct{ Rows, Scale float64 }
	if err := p.answer(c, &split); err != nil {
		return err
	}
	c.Epsilon = accuracyEpsilon * split.Scale
	for _, c.Trees = range []string{treesOfAll, treesOfOutside} {
		if err := boost(ctx, binary, p, c); err != nil {
			return fmt.Errorf("boosting by split: %w", err)
		}
	}
	for _, v := range variants {
		a, held, err := ourAccuracy(ctx, binary, p, c, v)
		if err != nil {
			return fmt.Errorf("%s: %w", v, err)
		}
		c.Share = held
		found[v.String()] = append(found[v.String()], a)
		b.logf("%s %d %s: %+v", set.name, seed, v, a)
	}
	for _, c.Do = range accuratePeers {
		var a round
		if err := p.answer(c, &a); err != nil {
			return err
		}
		found[c.Do] = append(found[c.Do], a)
		b.logf("%s %d %s: %+v", set.name, seed, c.Do, a)
	}
	return nil
}

// boost has accuracy.py fit trees on the rows that they may use, and add their predictions to all rows.
func boost(ctx context.Context, binary string, p *peer, c accuracyCase) error {
	path, v := filepath.Join(c.Work, "split.yaml"), variant{variants[0].objective, c.Trees}
	if err := os.WriteFile(path, []byte(v.job(c, "train")), 0o644); err != nil {
		return err
	}
	split := exec.CommandContext(ctx, binary, "split", "-c", path, "-o", filepath.Join(c.Work, c.Trees+"-split.parquet"))
	if out, err := split.CombinedOutput(); err != nil {
		return fmt.Errorf("split: %w: %s", err, out)
	}
	c.Do = "boost"
	return p.answer(c, &struct{}{})
}

// ourAccuracy trains, predicts the test rows, and has the predictions scored. It also returns the part of the
// rows that was held out.
func ourAccuracy(ctx context.Context, binary string, p *peer, c accuracyCase, v variant) (a round, share float64, err error) {
	r, err := measured.Train(ctx, binary, c.Work, v.job(c, v.rows("train")))
	if err != nil {
		return a, 0, err
	}
	model, certificate := filepath.Join(c.Work, v.output(), r.Model), filepath.Join(c.Work, v.output(), r.Certificate)
	doc, err := os.ReadFile(certificate)
	if err != nil {
		return a, 0, err
	}
	cert, err := certify.Parse(doc)
	if err != nil {
		return a, 0, err
	}
	c.Do, c.Predictions = "score", filepath.Join(c.Work, "predictions.parquet")
	predict := exec.CommandContext(ctx, binary, "predict", model, certificate, filepath.Join(c.Work, v.rows("test")), "-o", c.Predictions)
	if out, err := predict.CombinedOutput(); err != nil {
		return a, 0, fmt.Errorf("predict: %w: %s", err, out)
	}
	if err := p.answer(c, &a); err != nil {
		return a, 0, err
	}
	a["bound"] = cert.About(certify.PredictorMean).Bound
	if draw := cert.About(certify.PredictorDraw); draw.Status != certify.StatusVoid { // void if trees were fitted on training rows
		a["draw"] = draw.Bound
	}
	a["seconds"] = (r.Process.UserTime() + r.Process.SystemTime()).Seconds()
	return a, float64(cert.Counts.Holdout) / float64(cert.Counts.Rows), nil
}
