package lake

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
)

var _ pipeline.Looks = (*LookLog)(nil)

// A LookLog is a file that knows who has looked at which hold-out rows: one line a look, in
// their order. Several processes may share one.
type LookLog struct {
	fs   durable.FS
	path string
}

// NewLookLog returns the log of that path, which need not be there. A nil FS means [durable.OS].
func NewLookLog(path string, fsys durable.FS) *LookLog {
	if fsys == nil {
		fsys = durable.OS{}
	}
	return &LookLog{fs: fsys, path: path}
}

// A lookLine is a line of the log. docs/format.md, section "Log of looks".
type lookLine struct {
	Format      string  `json:"format"`
	Job         string  `json:"job"`
	Alternative int64   `json:"alternative"`
	Hurried     int64   `json:"hurried_after,omitempty"`
	Sequence    bool    `json:"sequence"`
	Sample      string  `json:"sample"`
	Targets     string  `json:"targets"`
	Share       float64 `json:"share"`
	Rows        int64   `json:"rows"`
	Held        string  `json:"held_out"`
	Marks       []byte  `json:"marks"`
}

const (
	looksFormat = "pacsgp-looks/1"
	maxLookLog  = 256 << 20
)

// Look appends a look, unless the log has it, and returns those before it. The line is durable
// when Look returns. It waits for other processes that write.
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
	if at := slices.IndexFunc(all, look.Equal); at >= 0 {
		return all[:at], nil
	}
	line, err := encodeLook(look)
	if err != nil {
		return nil, err
	}
	if whole+int64(len(line)) > maxLookLog {
		return nil, fmt.Errorf("lake: %s: it has %d bytes, the most that a log of looks may have (hint: keep it, and name another log by the job's key attempts)", l.path, whole)
	}
	return all, appendLines(l.fs, l.path, whole, torn, line)
}

// read reads the log. The beginning of a last line is that of a look whose number nobody has seen.
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
	line := lookLine{
		Format: looksFormat, Job: l.Job.String(), Alternative: l.Alternative, Hurried: l.Hurried, Sequence: l.Sequence, Sample: l.Sample.String(), Targets: l.Targets.String(),
		Share: l.Share, Rows: l.Held.Rows, Held: l.Held.Targets.String(),
	}
	for _, m := range l.Held.Marks {
		line.Marks = binary.LittleEndian.AppendUint64(line.Marks, m)
	}
	text, err := json.Marshal(line)
	return append(text, '\n'), err
}

func parseLook(text []byte) (pipeline.Look, error) {
	var line lookLine
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&line); err != nil {
		return pipeline.Look{}, err
	}
	if line.Format != looksFormat || line.Rows < 1 || len(line.Marks) == 0 || len(line.Marks)%8 != 0 {
		return pipeline.Look{}, fmt.Errorf("it is no line of the format %s", looksFormat)
	}
	l := pipeline.Look{Alternative: line.Alternative, Hurried: line.Hurried, Sequence: line.Sequence, Share: line.Share, Held: pipeline.HeldOut{Rows: line.Rows}}
	for at := range slices.Chunk(line.Marks, 8) {
		l.Held.Marks = append(l.Held.Marks, binary.LittleEndian.Uint64(at))
	}
	err := errors.Join(l.Job.Parse(line.Job), l.Sample.Parse(line.Sample), l.Targets.Parse(line.Targets), l.Held.Targets.Parse(line.Held))
	if err == nil && !slices.IsSorted(l.Held.Marks) {
		err = errors.New("its marks do not ascend")
	}
	return l, err
}
