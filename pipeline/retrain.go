package pipeline

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/model"
)

// ErrNotRepeatable says that a training cannot be repeated here to the last bit. It
// speaks neither for nor against the certificate.
var ErrNotRepeatable = errors.New("the training cannot be repeated here")

// Known are the assumptions that the check has found to be true, beyond what the
// certificate can show: see [certify.Certificate.About].
func (v *Verification) Known() []certify.AssumptionID {
	if !v.Retrained {
		return nil
	}
	return []certify.AssumptionID{certify.AssumeHoldoutUnseen}
}

// NotChecked says in a line each what the certificate's conditional guarantees rest
// on and the check has not found.
func (v *Verification) NotChecked() []string {
	if len(v.certificate.Conditional(v.Known()...)) == 0 {
		return nil
	}
	return []string{"that training did not see the hold-out rows"}
}

// Retrain trains again, as the certificate says that its model was trained, and demands
// the same bytes. digest gives the SHA-256 of those of a model. The rows of training are
// the train rows by their roles, so that what is found to be the same has not seen a
// hold-out row. It comes after a [Verify] that found the rows to be the sample.
//
// Another model is an error that wraps [ErrRefused], unless the certificate names
// another machine or program than this one: then it wraps [ErrNotRepeatable].
func (v *Verification) Retrain(ctx context.Context, open OpenData, digest func(Model) (string, error), software string, res Resources, observer Observer) error {
	c, job := v.certificate, v.job
	if !v.Evidence {
		return errors.New("pipeline: to train again takes the rows")
	}
	said := c.Declared.Training
	if here := machine(); said.Machine != here {
		return fmt.Errorf("%w: the model was trained with %q, which rounds in another way than %q here", ErrNotRepeatable, said.Machine, here)
	}
	res = res.WithDefaults()
	src, err := open(ctx, job.Features, job.Exclude, job.Target, job.BadRows.Some())
	if err != nil {
		return err
	}
	s, err := survey(ctx, src, job, res)
	if err != nil {
		return err
	}
	if s.Digest.String() != c.Sample.Digest {
		return fmt.Errorf("%w: the data have the sample digest %s now, not %s", ErrChanged, s.Digest, c.Sample.Digest)
	}
	env := Environment{Checkpoints: noCheckpoints{}, Resources: res, Observer: observer}
	t, err := newTraining(ctx, src, s, job, env, time.Now())
	if err != nil {
		return err
	}
	t.late = func() bool { return int64(len(t.state.Trace)) == said.Hurried }
	again, err := t.run(ctx)
	if err != nil {
		return err
	}
	got, err := digest(again.Model)
	switch {
	case err != nil:
		return err
	case got == c.Model.Digest:
		v.Retrained = true
		v.note("trained again from the configuration on the train rows alone, the model is the same to the last byte")
		return nil
	case c.Declared.Software != software:
		return fmt.Errorf("%w: %q trains another model than %q, which made the certificate", ErrNotRepeatable, software, c.Declared.Software)
	default:
		return fmt.Errorf("%w: trained again from the configuration on the train rows alone, the model has the SHA-256 %s, not %s: it was trained in another way, or on other rows", ErrRefused, got, c.Model.Digest)
	}
}

// machine names what decides how training rounds: the architecture, its level where the
// compiler was told of one that fuses multiplication and addition, and the instruction set
// of the kernels.
func machine() string {
	level := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "GOAMD64" && s.Value != "v1" {
				level = s.Value
			}
		}
	}
	return runtime.GOARCH + level + "/" + model.InstructionSet()
}

// noCheckpoints keeps nothing.
type noCheckpoints struct{}

func (noCheckpoints) Save(context.Context, []byte) error   { return nil }
func (noCheckpoints) Load(context.Context) ([]byte, error) { return nil, nil }
func (noCheckpoints) Clear(context.Context) error          { return nil }
