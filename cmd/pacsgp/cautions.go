package main

import (
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
)

// cautions is what predict, score and promote say of the certificate of a model that is
// put to use. They check it against the model alone: the rest is its maker's word.
func cautions(c certify.Certificate) []string {
	var said []string
	switch mean := c.About(certify.PredictorMean); {
	case mean.Status == certify.StatusCertified:
	case len(c.Conditional()) > 0:
		said = append(said, "what the certificate says of predictions is conditional: it is its maker's word that training did not see the hold-out rows (pacsgp verify --retrain checks it)")
	default:
		said = append(said, fmt.Sprintf("predictions carry no certificate id, for nothing is certified about them: the guarantee for the mean of Q is %s", mean.Status))
	}
	said = append(said, "the certificate was not checked against rows: how often the model missed is its maker's word (pacsgp verify with the data checks it)")
	return append(said, c.Doubts()...)
}
