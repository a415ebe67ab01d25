package report

import (
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
)

// Cautions are notices for whoever uses predictions of a certificate that was checked against its
// model alone.
func Cautions(c certify.Certificate) []string {
	var said []string
	switch mean := c.About(certify.PredictorMean); {
	case mean.Status == certify.StatusCertified:
	case len(c.Conditional()) > 0 && c.Ledger.Holdout == 0: // for the column of the mean
	case len(c.Conditional()) > 0:
		said = append(said, "what the certificate says of predictions is conditional: it is its maker's word that training did not see the hold-out rows, and that split and job owe nothing to them (pacsgp verify --retrain checks the first)")
	default:
		said = append(said, fmt.Sprintf("predictions carry no certificate id, for nothing is certified about them: the guarantee for predictions is %s", mean.Status))
	}
	if m := c.Mean; m != nil && len(c.Conditional()) > 0 {
		said = append(said, fmt.Sprintf("what the certificate says of predictions is conditional: that the column %q is a function of the features that was fixed without the rows that certify is its maker's word, and no command checks it", m.Column))
	}
	said = append(said, "the certificate was not checked against rows: how often the model missed is its maker's word (pacsgp verify with the data checks it)")
	return append(said, c.Doubts()...)
}
