package job

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrConfig marks a fault of the job's declaration, or of the settings of its run: no retry
// helps.
var ErrConfig = errors.New("bad job")

// ErrChanged says that rows or the bytes of the model have changed since training.
// Nothing is published.
var ErrChanged = errors.New("changed since training")

// Needs returns an error if a setting that is needed is not there.
func Needs(setting string, there bool) error {
	if there {
		return nil
	}
	return fmt.Errorf("%w: %s is not set", ErrConfig, setting)
}

// The longest quoted text, word (such as a path) and line of a message, in bytes.
const (
	longQuoted  = 100
	longWord    = 1000
	longMessage = 4000
)

var (
	quotedText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	wordText   = regexp.MustCompile(`\S+`)
)

// Shortened cuts long quoted texts and words in a line, and then the line.
func Shortened(line string) string {
	line = quotedText.ReplaceAllStringFunc(line, func(s string) string {
		if len(s) <= longQuoted+2 {
			return s
		}
		return prefix(s, longQuoted+1) + `…"`
	})
	line = wordText.ReplaceAllStringFunc(line, func(s string) string {
		if len(s) <= longWord {
			return s
		}
		return prefix(s, longQuoted) + "…"
	})
	if len(line) > longMessage {
		line = fmt.Sprintf("%s… (%d bytes more)", prefix(line, longMessage), len(line)-longMessage)
	}
	return line
}

// prefix is the whole characters in the first n bytes of s.
func prefix(s string, n int) string {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// ErrData marks a fault of the rows: too few of them, or a column that says
// nothing. No retry on the same rows helps.
var ErrData = errors.New("unusable rows")

// percent writes a share with three significant digits.
func percent(share float64) string {
	return strconv.FormatFloat(100*share, 'g', 3, 64) + " %"
}

// A faultList gathers what is wrong with a job.
type faultList []error

func (f *faultList) add(format string, args ...any) {
	*f = append(*f, fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...))
}

// when adds a fault if there is one.
func (f *faultList) when(fault bool, format string, args ...any) {
	if fault {
		f.add(format, args...)
	}
}

// of adds the faults of a key, of which err has one in a line.
func (f *faultList) of(key string, err error) {
	if err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			f.add("%s: %s", key, line)
		}
	}
}
