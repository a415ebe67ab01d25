package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/fit"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
)

// ErrNotRepeatable means that training cannot be repeated to the last bit by this program, on this machine, or without the
// parent's model. It is evidence neither for nor against the certificate.
var ErrNotRepeatable = errors.New("the training cannot be repeated here")

// NotChecked returns the assumptions that this verification has not checked. Training again does not check which rows a
// parent model has used.
func (v *Verification) NotChecked() []certify.Assumption {
	return slices.DeleteFunc(slices.Clone(v.certificate.Assumptions), func(a certify.Assumption) bool {
		switch a.Checked {
		case certify.CheckVerify:
			return v.Evidence || a.ID == certify.AssumeJitter // which needs only the model
		case certify.CheckRetraining:
			return v.retrained && v.certificate.Publisher.Training.Parent == nil
		case certify.CheckReplay:
			return v.replayed
		case certify.CheckNone:
		}
		return false
	})
}

// Retrain repeats the training of the certificate's model on the training rows, and returns an error unless the new model
// has the same bytes. If it has, training has not used held-out rows. v must be from a [Verify] that has read the rows.
// digest returns the SHA-256 of a model's bytes, in hexadecimal.
//
// If training began with the model of an earlier certificate, parent must be that model. If it is nil, the error wraps
// [ErrNotRepeatable].
//
// If the new model has other bytes, the error wraps [job.ErrRefused]. If the certificate names another machine or program
// than this one, it wraps [ErrNotRepeatable] instead.
func (v *Verification) Retrain(ctx context.Context, open dataset.OpenData, digest func(pass.Model) (string, error), parent *pass.Model, software string, res job.Resources, observer job.Observer) error {
	c, j := v.certificate, v.job
	if !v.Evidence {
		return errors.New("to train again takes the rows")
	}
	said := c.Publisher.Training
	if here := fit.Machine(); said.Machine != here {
		return fmt.Errorf("%w: the model was trained with %q, which rounds in another way than %q here", ErrNotRepeatable, said.Machine, here)
	}
	res = res.WithDefaults()
	src, err := open(ctx, dataset.ChoiceOf(j, nil, res))
	if err != nil {
		return err
	}
	s, err := v.firstPassAgain(ctx, src)
	if err != nil {
		return err
	}
	env := fit.Environment{Resources: res, Observer: observer}
	if said.Parent != nil {
		if env.Parent, err = parentOf(*said.Parent, parent, digest); err != nil {
			return err
		}
	}
	again, _, err := fit.Train(ctx, src, s, j, env, time.Now(), &said.StoppedAfter)
	if err != nil {
		return err
	}
	got, err := digest(again)
	switch {
	case err != nil:
		return err
	case got == c.Model.Digest:
		v.retrained = true
		from := ""
		if a := said.Parent; a != nil {
			from = fmt.Sprintf(", beginning with the model of certificate %.12s…", a.Certificate)
		}
		v.note("trained again on the training rows alone%s, the model has the same bytes", from)
		return nil
	case c.Publisher.Software != software:
		return fmt.Errorf("%w: %q trains another model than %q, which made the certificate", ErrNotRepeatable, software, c.Publisher.Software)
	default:
		return fmt.Errorf("%w: trained again on the training rows alone, the model has the SHA-256 %s, not %s: the published one was trained in another way, or on other rows too", job.ErrRefused, got, c.Model.Digest)
	}
}

// parentOf returns the parent that a certificate names, with the model m. It returns an error if m is nil or another model.
func parentOf(said certify.Parent, m *pass.Model, digest func(pass.Model) (string, error)) (*fit.Parent, error) {
	if m == nil {
		return nil, fmt.Errorf("%w: training began with the model %s of the certificate %s: give its file too (--parent)", ErrNotRepeatable, said.Model, said.Certificate)
	}
	got, err := digest(*m)
	if err == nil && got != said.Model {
		err = fmt.Errorf("%w: training began with the model %s, and the one that is given is %s", job.ErrRefused, said.Model, got)
	}
	return &fit.Parent{Parent: said, From: *m}, err
}
