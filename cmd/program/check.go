package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/pipeline"
)

// A Check says which certificate to check, and against which rows.
type Check struct {
	Model, Certificate string         // their references
	ID                 string         // that the certificate must have; "": any
	Manifest           string         // "": the one beside the certificate, if there is one
	From               config.Origin  // nil: no rows are read
	Trusted            string         // public keys; "": a signature is not asked for
	Judge              pipeline.Judge // which guarantee the exit status speaks of; "": that for the mean
	Resources          pipeline.Resources
}

// demanded refuses a certificate with another id or without a signature, where they are demanded,
// and says which trusted key has signed it.
func (k Check) demanded(ctx context.Context, c certify.Certificate, id string) ([]string, error) {
	if k.ID != "" && k.ID != id {
		return nil, fmt.Errorf("%w: the certificate has the id %s, not %s", pipeline.ErrRefused, id, k.ID)
	}
	if k.Trusted == "" {
		return nil, nil
	}
	by, err := config.SignedBy(ctx, k.Certificate, id, c, k.Trusted)
	return []string{"certificate and model are signed with the trusted key " + by}, err
}

// Run checks the certificate. further, if not nil, is called while the rows can be opened.
func (k Check) Run(ctx context.Context, further func(*Verified, pipeline.OpenData) error) (out *Verified, err error) {
	if k.Judge = cmp.Or(k.Judge, pipeline.JudgeMean); k.Judge != pipeline.JudgeMean && k.Judge != pipeline.JudgeDraw {
		return nil, config.Argument(fmt.Errorf("--judge: %q is neither %s nor %s", k.Judge, pipeline.JudgeMean, pipeline.JudgeDraw))
	}
	m, digest, err := config.ReadModel(ctx, k.Model)
	if err != nil {
		return nil, err
	}
	c, id, err := config.ReadCertificate(ctx, k.Certificate)
	if err != nil {
		return nil, err
	}
	signed, err := k.demanded(ctx, c, id)
	if err != nil {
		return nil, err
	}
	var open pipeline.OpenData
	var lines []string
	var doubt error
	if k.From != nil {
		if k.From, err = k.From.Replay(c); err != nil {
			return nil, err
		}
		replayed := k.From
		defer func() { err = errors.Join(err, replayed.Release(false)) }()
		if k.From, lines, doubt, err = config.Sampled(ctx, replayed, k.Manifest, k.Certificate, c, id); err != nil {
			return nil, err
		}
		open = config.OpenData(k.From, k.Resources)
	}
	found, err := pipeline.Verify(ctx, c, m, digest, open, k.Resources)
	if errors.Is(err, pipeline.ErrRefused) && doubt != nil {
		err = fmt.Errorf("%w; %w", err, doubt)
	}
	if err != nil {
		return nil, err
	}
	found.Checked = slices.Concat(signed, lines, found.Checked)
	out = &Verified{Certificate: found.Certificate(), ID: id, Found: found, Judge: k.Judge}
	if k.From != nil {
		checked, open, err := config.CheckPlaces(ctx, k.From, c.Sample.Segments, k.Resources)
		if err != nil {
			return nil, err
		}
		if out.unplaced = open; checked != "" {
			found.Checked = append(found.Checked, checked)
		}
	}
	if further != nil {
		err = further(out, open)
	}
	return out, err
}
