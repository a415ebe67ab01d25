package config

import "github.com/pacsgp/pacsgp/certify"

// A Judge is who is judged by exit status and limit.
type Judge string

const (
	JudgeMean Judge = "mean"
	JudgeDraw Judge = "draw"
)

// Predictor is the one that such a judge asks about.
func (j Judge) Predictor() certify.Predictor {
	if j == JudgeMean {
		return certify.PredictorMean
	}
	return certify.PredictorDraw
}
