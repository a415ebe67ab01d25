package lake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/pipeline"
)

// SequencesFile has the numbers that the certificates of each sequence have used, and the offsets
// that windows of topics have reached.
const SequencesFile = "sequences.json"

const (
	sequencesFormat = "pacsgp-sequences/1"
	maxSequences    = 16 << 20
)

type sequences struct {
	Format    string                       `json:"format"`
	Sequences map[string]pipeline.Sequence `json:"sequences"`
}

// sequences reads the file. An absent file has no sequences.
func (o *Output) sequences() (sequences, error) {
	path := objects.Join(o.path, SequencesFile)
	var all sequences
	err := readJSON(o.fs, path, maxSequences, &all)
	if errors.Is(err, fs.ErrNotExist) {
		return sequences{sequencesFormat, map[string]pipeline.Sequence{}}, nil
	}
	if err == nil && all.Format != sequencesFormat {
		err = fmt.Errorf("its format is %q, this program knows %q", all.Format, sequencesFormat)
	}
	if err == nil && all.Sequences == nil {
		err = errors.New("it has no sequences")
	}
	for name, s := range all.Sequences {
		if fault := s.Check(); fault != nil && err == nil {
			err = fmt.Errorf("%q: %w", name, fault)
		}
	}
	if err != nil {
		return all, fmt.Errorf("%s: %w (hint: it says which numbers the certificates of this output have taken; restore it from a copy, or give the job another name and output)", path, err)
	}
	return all, nil
}

// Sequence returns the state of a sequence, zero for a new one.
func (o *Output) Sequence(name string) (pipeline.Sequence, error) {
	all, err := o.sequences()
	return all.Sequences[name], err
}

// PutSequence replaces the state of a sequence.
func (o *Output) PutSequence(name string, s pipeline.Sequence) error {
	all, err := o.sequences()
	if err != nil {
		return err
	}
	all.Sequences[name] = s
	return o.putJSON(SequencesFile, all)
}

// Numbered returns the ids of the certificates of a sequence, by number.
func (o *Output) Numbered(ctx context.Context, name string) (map[int64]string, error) {
	ids, err := Certificates(o.fs, o.path)
	found := map[int64]string{}
	for _, id := range ids {
		path := objects.Join(o.path, CertificateName(id))
		document, err := readDocument(ctx, o.fs, path)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var c struct {
			Delta struct{ Sequence *certify.Sequence }
		}
		if err == nil {
			if err = json.Unmarshal(document, &c); err != nil {
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
