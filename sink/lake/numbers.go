package lake

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pacsgp/pacsgp/certify"
)

// maxNote bounds a note, in bytes. The longest notes have a line for each file of a run.
const maxNote = 256 << 20

// Note returns a small file of the output and its path. The text is nil if there is no such file.
func (o *Output) Note(name string) (text []byte, where string, err error) {
	where = o.Path(name)
	text, err = readAtMost(o.fs, where, maxNote)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, where, nil
	}
	return text, where, err
}

// PutNote replaces the note called name.
func (o *Output) PutNote(name string, text []byte) error { return o.Put(name, text) }

// Numbered returns the ids of the certificates of a sequence, by their number in it.
func (o *Output) Numbered(ctx context.Context, name string) (map[int64]string, error) {
	ids, err := o.Certificates()
	found := map[int64]string{}
	for _, id := range ids {
		path := o.Path(CertificateName(id))
		document, err := readDocument(ctx, o.fs, path)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var c struct {
			Delta struct{ Sequence *certify.Sequence }
		}
		if err == nil {
			if err = certify.Unmarshal(document, &c); err != nil {
				err = fmt.Errorf("%s: %w", path, err)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%w (hint: restore it from a copy, or take it away)", err)
		}
		if s := c.Delta.Sequence; s != nil && s.Name == name {
			found[s.Number] = id
		}
	}
	return found, err
}
