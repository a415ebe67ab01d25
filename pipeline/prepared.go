package pipeline

import (
	"context"
	"errors"
)

// A Prepared is a pass before its rows are read: the source is open, the model is read back if it is a
// last pass, and the roles are known. It makes parts, one at a time, so that a process which makes several
// prepares once. Close it after use.
type Prepared struct{ rows *rowPass }

// Prepare prepares the pass that the handover is for. It opens the source again, and reads the model of a
// last pass back. Of env it uses Open, Sink and Resources.
func (h *Handover) Prepare(ctx context.Context, env Environment) (*Prepared, error) {
	job, err := h.job()
	if err := errors.Join(err, env.needs("Open", "Sink")); err != nil {
		return nil, err
	}
	env.Resources = env.Resources.WithDefaults()
	if h.First() {
		_, hidden, err := h.known()
		if err != nil {
			return nil, err
		}
		src, err := env.Open(ctx, nil)
		if err != nil {
			return nil, err
		}
		return h.prepareFirst(ctx, src, job, hidden, env.Resources)
	}
	return h.prepare(ctx, job, h.told(job), env)
}

func (h *Handover) prepare(ctx context.Context, job Job, told *toldRoles, env Environment) (*Prepared, error) {
	known, hidden, err := h.known()
	if err != nil {
		return nil, err
	}
	m, err := env.Sink.GetModel(ctx, h.Model)
	if err != nil {
		return nil, err
	}
	src, err := env.Open(ctx, m.Meta.FeatureNames())
	if err != nil {
		return nil, err
	}
	return prepare(ctx, src, m, job, known, hidden, told, env.Resources)
}

// prepare prepares the last pass over a source. known has the parts of its subject that come from
// training.
func prepare(ctx context.Context, src Source, m Model, job Job, known subject, hidden secret, told *toldRoles, res Resources) (*Prepared, error) {
	if err := sameColumns(src.Columns(), m.Meta, job); err != nil {
		return nil, err
	}
	rows, err := beginPass(ctx, src, job, indices(len(src.Columns())), hidden, told, res)
	if err != nil {
		return nil, err
	}
	rows.of.model, rows.of.sample, rows.of.constant, rows.of.groups = known.model, known.sample, known.constant, known.groups
	rows.grouping = job.grouping(unpacked(known.groups))
	if rows.grouped, err = job.groupColumn(src.Columns()); err != nil {
		return nil, err
	}
	rows.wanted = rows.roles.yardstick()
	if rows.scorer, err = newScorer(m, res.Workers); err != nil {
		return nil, err
	}
	if job.Groups.beside(job) {
		rows.scorer.scale = rows.scorer.scale.past()
	}
	return &Prepared{rows}, nil
}

// Pass makes a part of the pass. Close the returned pass.
func (p *Prepared) Pass(ctx context.Context, part Part) (*Pass, error) {
	if err := part.check(); err != nil {
		return nil, err
	}
	return p.read(ctx, part.shards)
}

func (p *Prepared) read(ctx context.Context, choose func([]Shard) []int) (*Pass, error) {
	return p.rows.read(ctx, choose(p.rows.shards))
}

// Close frees what scores rows.
func (p *Prepared) Close() {
	if p.rows.scorer != nil {
		p.rows.scorer.close()
	}
}
