package kafkalog

import (
	"context"
	"fmt"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink"
)

var _ pipeline.Sink = (*Publication)(nil)

// PutModel encodes a model, keeps it for [Publication.PutCertificate], and returns the SHA-256 of
// its bytes. It sends nothing.
func (p *Publication) PutModel(ctx context.Context, m pipeline.Model) (sum string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	data, err := sink.EncodeModel(m)
	if err != nil {
		return "", err
	}
	sum = digest(data)
	if !p.sent[sum] {
		p.models[sum] = data
	}
	return sum, nil
}

// GetModel reads back a model that was put or is on the topic, with ExactlyOnce from
// [Publication.Commit] on.
func (p *Publication) GetModel(ctx context.Context, sum string) (m pipeline.Model, err error) {
	if err := ctx.Err(); err != nil {
		return m, err
	}
	data := p.models[sum]
	if data == nil {
		if data, err = model(ctx, p.cfg.Client, p.cfg.Topics.Models, sum); err != nil {
			return m, err
		}
	}
	if m, err = sink.DecodeModel(data); err != nil {
		err = fmt.Errorf("kafka: topic %q: model %s: %w", p.cfg.Topics.Models, sum, err)
	}
	return m, err
}

// PutCertificate sends a certificate behind its model, unless it was published before.
func (p *Publication) PutCertificate(ctx context.Context, c certify.Certificate) (id string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	document, err := certify.Marshal(c)
	if err != nil {
		return "", err
	}
	sum := c.Model.Digest
	data := p.models[sum]
	if data == nil && !p.sent[sum] {
		if data, err = model(ctx, p.cfg.Client, p.cfg.Topics.Models, sum); err != nil {
			return "", err
		}
		p.sent[sum] = true
	}
	a := Artifact{Document: document, Model: data}
	if err := p.put(ctx, a, sum); err != nil {
		return "", err
	}
	if p.sent[sum] {
		delete(p.models, sum)
	}
	return a.id(), nil
}
