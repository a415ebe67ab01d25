package lake

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/pipeline/fit"
)

// LogFile is the name of the log of a directory: its count of what was tried on the same rows.
const LogFile = "log.json"

const (
	logFormat = "pacsgp-log/1"
	maxLog    = 64 << 20 // bytes; some 250,000 attempts
)

type logDocument struct {
	Format string `json:"format"`
	fit.Log
}

// Log reads the log of the directory. It is empty if there is no file. A log with other bytes than PutLog writes is an
// error: an unknown or damaged entry must not hide a use.
func (o *Output) Log() (fit.Log, error) {
	log, path := logDocument{Log: fit.Log{Most: o.logged}}, o.Path(LogFile)
	data, err := readAtMost(o.fs, path, maxLog)
	if errors.Is(err, fs.ErrNotExist) {
		return log.Log, nil
	}
	if err == nil {
		data, err = digest.Unseal(data)
	}
	if err == nil {
		err = certify.Unmarshal(data, &log)
	}
	if err == nil && log.Format != logFormat {
		err = fmt.Errorf("its format is %q, this program knows %q", log.Format, logFormat)
	}
	for _, u := range log.Uses {
		if u.Count < 1 || u.Count > certify.MaxNumber || u.Groups < 0 || u.Groups > certify.MaxGroupValues+1 {
			err = cmp.Or(err, fmt.Errorf("it has a use of %d held-out rows in %d groups", u.Count, u.Groups))
		}
	}
	if err == nil {
		var again []byte
		if again, err = json.Marshal(log); err == nil && !bytes.Equal(again, bytes.TrimSuffix(data, []byte("\n"))) {
			err = errors.New("it was changed: it has other members than a log has")
		}
	}
	if err != nil {
		return log.Log, fmt.Errorf("%s: %w (hint: it counts what was tried on the same rows: restore it from a copy, or choose another output)", path, err)
	}
	return log.Log, nil
}

// PutLog replaces the log.
func (o *Output) PutLog(l fit.Log) error {
	text, err := json.Marshal(logDocument{logFormat, l})
	if err != nil {
		return err
	}
	return o.Put(LogFile, digest.Seal(text))
}
