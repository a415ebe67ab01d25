package pass

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// ModelFormat names the version of the model file.
const ModelFormat = "pacsgp-model/3"

// ModelMeta describes a model. It is the part of a model file that is not a table.
type ModelMeta struct {
	Format    string              `json:"format"`
	Kernel    string              `json:"kernel"`    // the name of its family
	Isotropic bool                `json:"isotropic"` // one lengthscale for all features instead of one each
	Theta     []certify.Parameter `json:"theta"`     // ln lengthscales, then ln variance
	Features  []job.Affine        `json:"features"`
	Encode    job.Encodings       `json:"encode,omitempty"` // encodings of features
	Target    job.Affine          `json:"target"`
	Mean      string              `json:"mean,omitempty"` // column of the mean, to which predictions are added; "" if there is none
	Loss      certify.Loss        `json:"loss"`
	RowRules  []string            `json:"row_rules"` // identifiers: [certify.RowRules]

	// The numbers for predictions, in scaled units.
	Lengthscales []float64 `json:"lengthscales"` // one for each input
	Variance     float64   `json:"variance"`
	Jitter       float64   `json:"jitter"` // absolute, on the diagonal of K_ZZ
	Inducing     int       `json:"inducing"`
	Predictor    Predictor `json:"prediction"`
}

// A Predictor describes how predictions differ from draws from Q.
type Predictor struct {
	// Part is the share of the least-squares weights in the weights of predictions. The rest is from the mean of Q.
	Part float64 `json:"part"` // in [0, 1]
	// The variance of a target is the variance of f plus Factor·Noise, in scaled units.
	Noise  float64 `json:"noise"`  // > 0
	Factor float64 `json:"factor"` // > 0
}

// A Model is the content of a model file: the description, and two distributions of functions of the scaled features,
// with the same kernel and inducing points. The PAC-Bayes bound is about draws from Posterior, which is Q. Predictions
// are the mean of Predictive, and the bounds from held-out rows are about them.
type Model struct {
	Meta       ModelMeta
	Posterior  *model.Posterior
	Predictive *model.Posterior
}

// Lacks returns err with an explanation added if it is about rows without the column of the mean.
func (m ModelMeta) Lacks(err error) error {
	if err == nil || m.Mean == "" || !strings.Contains(err.Error(), strconv.Quote(m.Mean)) {
		return err
	}
	return fmt.Errorf("%w (the model corrects the column %q, predictions of another model: rows need it too)", err, m.Mean)
}

// A Sink stores what a job produces. What a method has stored without an error is durable and complete. The same thing
// may be stored twice.
type Sink interface {
	// PutModel encodes and stores a model and returns the SHA-256 of its bytes, in hexadecimal. A sink may publish it
	// only with its first certificate.
	PutModel(ctx context.Context, m Model) (digest string, err error)
	// GetModel reads the model with this digest back from its stored bytes.
	GetModel(ctx context.Context, digest string) (Model, error)
	// PutCertificate stores a certificate in all its forms and returns its
	// id: the SHA-256 of its JSON document, in hexadecimal.
	PutCertificate(ctx context.Context, c certify.Certificate) (id string, err error)
}

// Inputs returns the columns that a prediction needs: the features, and the column of the mean if there is one.
func (m ModelMeta) Inputs() []string {
	names := m.FeatureNames()
	if m.Mean != "" {
		names = append(names, m.Mean)
	}
	return names
}

// Dim returns the number of inputs of the posterior: for each feature one, or those of its encoding.
func (m ModelMeta) Dim() int { return len(m.Features) + m.Encode.More() }

// FeatureNames returns the names of the features, in order.
func (m ModelMeta) FeatureNames() []string { return dataset.NamesOf(m.Features) }

// columnsOf returns the columns of the job's rows, in order: the features of the model, other columns, the target.
func columnsOf(j job.Job, meta ModelMeta) []string {
	return slices.Concat(meta.FeatureNames(), j.NotAFeature(), j.Labels(), []string{meta.Target.Name})
}

// meanings returns the meanings of a source's columns, or nil if the source does not state them.
func meanings(src dataset.Source) []job.Meaning {
	if s, ok := src.(dataset.Opened); ok {
		return s.Meanings()
	}
	return nil
}

// Means returns an error if the meaning of a feature in a source does not match that in the model. Rows that the model
// is verified with must state exactly the same; new rows may state less of a time, or more.
func (m ModelMeta) Means(src dataset.Source, exactly bool) error {
	found := meanings(src)
	for i, f := range m.Features[:min(len(m.Features), len(found))] {
		if _, ok := f.Values.With(found[i]); !ok || f.Values != found[i] && (exactly || f.Values == job.MeansBoolean || found[i] == job.MeansBoolean) {
			return fmt.Errorf("%w: %q is %s in the model and %s in these rows: write the column as it was in training", job.ErrData, f.Name, f.Values, found[i])
		}
	}
	return nil
}

// Other returns the first feature whose value in a row is none of the levels of its encoding, or "" if there is none. x
// are the inputs of the row.
func (m ModelMeta) Other(x []float64) string {
	if len(m.Encode) == 0 {
		return ""
	}
	for _, f := range m.Features {
		e := m.Encode.Of(f.Name)
		if e != nil && len(e.OneHot) > 0 && !slices.Contains(x[:len(e.OneHot)], 1) {
			return f.Name
		}
		x = x[e.Width():]
	}
	return ""
}

// SameColumns returns an error unless the source has the columns that model and job need, in their order, as [ModelMeta.Means].
func SameColumns(src dataset.Source, meta ModelMeta, job job.Job, exactly bool) error {
	columns := src.Columns()
	if want := columnsOf(job, meta); !slices.Equal(columns, want) {
		return fmt.Errorf("the source has the columns %s, the model wants %s", strings.Join(columns, ", "), strings.Join(want, ", "))
	}
	return meta.Means(src, exactly)
}
