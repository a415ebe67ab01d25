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

	Sum string `json:"sha256,omitempty"` // of the text without this member; older programs wrote none
}

// text returns the bytes of the file, with the checksum if checked is set.
func (d logDocument) text(checked bool) ([]byte, error) {
	d.Sum = ""
	text, err := json.Marshal(d)
	if err == nil && checked {
		d.Sum = digest.Of(text)
		text, err = json.Marshal(d)
	}
	return append(text, '\n'), err
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
		if again, err = log.text(log.Sum != ""); err == nil && !bytes.Equal(again, data) {
			err = errors.New("it was changed: its checksum is that of another text, or it has members that no log has")
		}
	}
	if err != nil {
		return log.Log, fmt.Errorf("%s: %w (hint: it counts what was tried on the same rows: restore it from a copy, or choose another output)", path, err)
	}
	return log.Log, nil
}

// PutLog replaces the log.
func (o *Output) PutLog(l fit.Log) error {
	text, err := logDocument{Format: logFormat, Log: l}.text(true)
	if err != nil {
		return err
	}
	p, err := o.stage(LogFile, text)
	if p == nil {
		return err
	}
	return p.Commit()
}
