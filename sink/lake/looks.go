package lake

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
)

var _ pipeline.Looks = (*LookLog)(nil)

// A LookLog is a file with the looks at hold-out rows, one line a look, in their order. Several
// processes may share one.
type LookLog struct {
	fs   durable.FS
	path string
}

// NewLookLog returns the log of that path, which may be absent. A nil FS means [durable.OS].
func NewLookLog(path string, fsys durable.FS) *LookLog {
	return &LookLog{fs: cmp.Or[durable.FS](fsys, durable.OS{}), path: path}
}

// A lookLine is a line of the log. docs/format.md, section "Log of looks".
type lookLine struct {
	Format  string `json:"format"`
	Family  string `json:"family"`
	Number  int64  `json:"number"`
	Shown   string `json:"shown"`
	Curve   bool   `json:"curve,omitempty"`
	Groups  int    `json:"groups,omitempty"`
	Sample  int64  `json:"sample_rows"`
	Rows    int64  `json:"rows"`
	Marks   []byte `json:"marks"`
	Places  []byte `json:"places"`
	Trained []byte `json:"trained"`
}

const (
	looksFormat = "pacsgp-looks/1"
	maxLookLog  = 128 << 20
)

// Noted returns the looks in the log.
func (l *LookLog) Noted(context.Context) ([]pipeline.Look, error) {
	all, _, _, err := l.read()
	return all, err
}

// Look appends a look durably, unless the log has the same, and returns the looks before it. It
// waits for other processes that write.
func (l *LookLog) Look(ctx context.Context, look pipeline.Look) (earlier []pipeline.Look, err error) {
	if err := l.fs.MkdirAll(filepath.Dir(l.path)); err != nil {
		return nil, durable.Explain(l.path, 0, err)
	}
	lock, err := lockLog(ctx, l.fs, l.path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	all, whole, torn, err := l.read()
	if err != nil {
		return nil, err
	}
	if at := slices.IndexFunc(all, look.Same); at >= 0 {
		return all[:at], nil
	}
	line, err := encodeLook(look)
	if err != nil {
		return nil, err
	}
	if whole+int64(len(line)) > maxLookLog {
		return nil, fmt.Errorf("%w: %s has %d bytes, the most that their log may have (hint: keep it, and name another log by the job's key attempts)", pipeline.ErrUncounted, l.path, whole)
	}
	return all, appendLines(l.fs, l.path, whole, torn, line)
}

// read reads the log. An unfinished last line does not count: nobody has seen the result of that look.
func (l *LookLog) read() (all []pipeline.Look, whole int64, torn bool, err error) {
	data, err := readAtMost(l.fs, l.path, maxLookLog)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, false, nil
	}
	if err != nil {
		return nil, 0, false, fmt.Errorf("lake: read %s: %w", l.path, err)
	}
	end := bytes.LastIndexByte(data, '\n') + 1
	for line := range bytes.Lines(data[:end]) {
		look, err := parseLook(line)
		if err != nil {
			return nil, 0, false, fmt.Errorf("%w: %s: line %d: %w (hint: the log knows the looks at hold-out rows, and a damaged one may know too few: restore it from a copy, or name another log by the job's key attempts)",
				ErrDamagedAttempts, l.path, len(all)+1, err)
		}
		all = append(all, look)
	}
	return all, int64(end), end < len(data), nil
}

func encodeLook(l pipeline.Look) ([]byte, error) {
	text, err := json.Marshal(lookLine{
		Format: looksFormat, Family: l.Family.String(), Number: l.Slot.Number, Shown: l.Shown.String(), Curve: l.Curve, Groups: l.Groups,
		Sample: l.Sample, Rows: l.Held.Rows, Marks: encodeNumbers(l.Held.Marks), Places: encodeNumbers(l.Held.Places), Trained: encodeNumbers(l.Trained),
	})
	return append(text, '\n'), err
}

func parseLook(text []byte) (pipeline.Look, error) {
	var line lookLine
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&line); err != nil {
		return pipeline.Look{}, err
	}
	if line.Format != looksFormat || line.Rows < 1 || line.Sample < line.Rows || line.Groups < 0 || line.Groups > certify.MaxGroupValues+1 {
		return pipeline.Look{}, fmt.Errorf("it is no line of the format %s", looksFormat)
	}
	l := pipeline.Look{Slot: pipeline.Slot{Number: line.Number}, Curve: line.Curve, Groups: line.Groups, Sample: line.Sample, Held: pipeline.HeldOut{Rows: line.Rows}}
	var faults [3]error
	l.Held.Marks, faults[0] = parseNumbers(line.Marks)
	l.Held.Places, faults[1] = parseNumbers(line.Places)
	l.Trained, faults[2] = parseNumbers(line.Trained)
	return l, errors.Join(faults[0], faults[1], faults[2], l.Family.Parse(line.Family), l.Shown.Parse(line.Shown))
}

func encodeNumbers(all []uint64) (text []byte) {
	for _, x := range all {
		text = binary.LittleEndian.AppendUint64(text, x)
	}
	return text
}

func parseNumbers(text []byte) (all []uint64, err error) {
	if len(text) == 0 || len(text)%8 != 0 {
		return nil, errors.New("its marks, places or trained rows are no numbers of 64 bits")
	}
	for at := range slices.Chunk(text, 8) {
		all = append(all, binary.LittleEndian.Uint64(at))
	}
	if !slices.IsSorted(all) {
		return nil, errors.New("its marks, places or trained rows do not ascend")
	}
	return all, nil
}
