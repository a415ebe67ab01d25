package main

import "github.com/pacsgp/pacsgp/certify"

// A judged is who is judged by exit status and limit.
type judged string

const (
	judgeMean judged = "mean"
	judgeDraw judged = "draw"
)

// predictor is the one that such a judge asks about.
func (j judged) predictor() certify.Predictor {
	if j == judgeMean {
		return certify.PredictorMean
	}
	return certify.PredictorDraw
}
