package config

import (
	"context"
	"errors"
	"fmt"

	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/sink"
)

// A Passthrough reads columns of the files of predicted rows, which stand next to the predictions.
type Passthrough struct {
	columns []sink.Kept
	names   []string
	files   []dataset.File // those that were not opened yet
	pages   int64
	open    *ingestlake.Stored
	left    int64 // rows of the open file
}

// OpenPassthrough opens columns of the rows of an origin, nil without names.
func OpenPassthrough(ctx context.Context, from Origin, src dataset.Opened, names []string, res job.Resources) (*Passthrough, error) {
	if len(names) == 0 {
		return nil, nil
	}
	if _, ok := from.(Lake); !ok {
		return nil, Argument(errors.New("--passthrough: the rows are of a topic; pacsgp score has passthrough for these"))
	}
	for _, name := range names {
		if err := sink.CanKeep(name); err != nil {
			return nil, Argument(fmt.Errorf("--passthrough: %w", err))
		}
	}
	p := &Passthrough{names: names, files: src.Files(), pages: res.PageMemory() / int64(len(names))}
	return p, p.next(ctx)
}

// next opens the next file, whose columns have the types of those before.
func (p *Passthrough) next(ctx context.Context) (err error) {
	if err := p.Close(); err != nil || len(p.files) == 0 {
		return err
	}
	f := p.files[0]
	p.files, p.left = p.files[1:], f.Rows
	if p.open, err = ingestlake.OpenStored(ctx, f.Path, p.names, p.pages); err != nil {
		return err
	}
	for i, c := range p.open.Columns() {
		if i == len(p.columns) {
			p.columns = append(p.columns, sink.Kept{Name: c.Name, Node: c.Node})
		} else if was := p.columns[i].Node.String(); c.Node.String() != was {
			return fmt.Errorf("--passthrough: %s: %q is of type %s, and %s in the files before", f.Path, c.Name, c.Node, was)
		}
	}
	return nil
}

// add adds the values of the next rows.
func (p *Passthrough) add(ctx context.Context, to *ingestlake.StoredColumns, rows int) error {
	for p.left == 0 && len(p.files) > 0 {
		if err := p.next(ctx); err != nil {
			return err
		}
	}
	p.left -= int64(rows)
	values, err := p.open.Next(ctx, rows)
	to.Values = append(to.Values, values...)
	return err
}

// Close closes the open file.
func (p *Passthrough) Close() error {
	if p == nil || p.open == nil {
		return nil
	}
	err := p.open.Close()
	p.open = nil
	return err
}
