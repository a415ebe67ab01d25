package program

import (
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/pipeline"
)

// An Interval is what the curve of a certificate promises: predictions ± tolerance cover a share of
// fresh rows. nil: none is asked for.
type Interval struct {
	Share     float64 `json:"covers"`
	Tolerance float64 `json:"tolerance"` // raw units of the target
	Statement string  `json:"statement"` // with what confidence, and on which conditions
}

// newInterval is that for a share; nil for 0.
func newInterval(c certify.Certificate, share float64) (*Interval, error) {
	if share == 0 {
		return nil, nil
	}
	if !(0 < share && share < 1) {
		return nil, config.Argument(fmt.Errorf("--interval: %v is no share of fresh rows between 0 and 1, such as 0.9", share))
	}
	g, ok := c.Guarantee(certify.GuaranteeCurve)
	switch {
	case !ok:
		return nil, pipeline.NotCertified("--interval: the certificate has no curve (hint: guarantees: [pac-bayes, curve], or loss: {tolerance: any})")
	case !g.Status.Promises():
		return nil, pipeline.NotCertified("--interval: the curve is %s", g.Status)
	}
	tolerance, ok := g.Curve.Within(share)
	if !ok {
		return nil, pipeline.NotCertified("--interval: the curve of %s covers no share of %v at any tolerance", certify.Count(g.N, "hold-out row"), share)
	}
	return &Interval{share, tolerance, "lower and upper are " + c.Interval(g, tolerance, share)}, nil
}

// words say what the columns are.
func (v *Interval) words() string {
	if v == nil {
		return ""
	}
	return v.Statement + "\n"
}
