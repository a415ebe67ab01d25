package lake

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// An Attempt is the identity of a job that came to a result: which
// configuration on which sample. Both are hexadecimal SHA-256 digests.
type Attempt struct {
	Configuration string `json:"configuration"`
	Sample        string `json:"sample"`
}

// maxAttempts bounds what is read of the log: 64 MiB are some 400,000 lines.
const maxAttempts = 64 << 20

// Record appends an attempt to the log, unless it stands there already, and
// returns its rank: how many different attempts on this sample, and in all,
// there are up to and with it. The line is durable when Record returns, so it
// comes before the result is shown to anybody: trying until it passes is then
// counted, even if a try is killed right after its result was known. The same
// job run again has the same rank.
func (d *Directory) Record(ctx context.Context, configuration, sample string) (onSample, inDirectory int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, 0, err
	}
	a := Attempt{Configuration: configuration, Sample: sample}
	if err := a.check(); err != nil {
		return 0, 0, err
	}
	log, torn, err := d.attempts()
	if err != nil {
		return 0, 0, err
	}
	known := slices.Contains(log, a)
	if !known {
		log = append(log, a)
	}
	switch {
	case torn:
		err = writeFile(d.fs, d.Path(attemptsName), encodeAttempts(log))
	case known:
		// A killed job may have written the line without the sync.
		err = d.appendAttempts(nil)
	default:
		err = d.appendAttempts(encodeAttempts(log[len(log)-1:]))
	}
	if err != nil {
		return 0, 0, err
	}
	onSample, inDirectory = rank(log, a)
	return onSample, inDirectory, nil
}

// Attempts returns the different attempts in the order of their first result.
func (d *Directory) Attempts() ([]Attempt, error) {
	log, _, err := d.attempts()
	return log, err
}

// attempts reads the log. A last line that is not whole was being written
// when the job died, and its rank was never told to anybody: it does not
// count, and torn is true. Any other damage is an error, for a log that lost
// lines would count too few.
func (d *Directory) attempts() (log []Attempt, torn bool, err error) {
	data, err := d.readFile(attemptsName, maxAttempts)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("lake: read %s: %w", d.Path(attemptsName), err)
	}
	for n := 1; len(data) > 0; n++ {
		line, rest, whole := bytes.Cut(data, []byte{'\n'})
		a, err := parseAttempt(line)
		switch {
		case !whole, err != nil && len(rest) == 0:
			return log, true, nil
		case err != nil:
			return nil, false, fmt.Errorf("lake: %s: line %d: %w (hint: the log counts the attempts on this sample; restore it, or choose a new output directory)", d.Path(attemptsName), n, err)
		}
		if !slices.Contains(log, a) {
			log = append(log, a)
		}
		data = rest
	}
	return log, false, nil
}

// appendAttempts adds lines, possibly none, and makes the whole file durable.
func (d *Directory) appendAttempts(lines []byte) error {
	name := d.Path(attemptsName)
	f, err := d.fs.Append(name)
	if err != nil {
		return explain(name, int64(len(lines)), err)
	}
	if len(lines) > 0 {
		_, err = f.Write(lines)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = d.fs.SyncDir(d.path)
	}
	if err != nil {
		return explain(name, int64(len(lines)), err)
	}
	return nil
}

func encodeAttempts(log []Attempt) []byte {
	var b bytes.Buffer
	for _, a := range log {
		fmt.Fprintf(&b, "{\"configuration\":%q,\"sample\":%q}\n", a.Configuration, a.Sample)
	}
	return b.Bytes()
}

func parseAttempt(line []byte) (Attempt, error) {
	var a Attempt
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		return Attempt{}, err
	}
	return a, a.check()
}

func (a Attempt) check() error {
	for _, digest := range []string{a.Configuration, a.Sample} {
		if raw, err := hex.DecodeString(digest); err != nil || len(raw) != 32 {
			return fmt.Errorf("lake: an attempt is named by two SHA-256 digests of 64 hexadecimal digits, not %q", digest)
		}
	}
	return nil
}

// rank counts up to the place of a, which is in the log.
func rank(log []Attempt, a Attempt) (onSample, inDirectory int) {
	for _, other := range log {
		inDirectory++
		if other.Sample == a.Sample {
			onSample++
		}
		if other == a {
			break
		}
	}
	return onSample, inDirectory
}
