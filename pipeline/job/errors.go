package job

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrConfig marks a fault of the job's declaration or of the settings of its run. A retry does not help.
var ErrConfig = errors.New("bad job")

// ErrChanged marks rows, or bytes of the model, that have changed since training. Nothing is published then.
var ErrChanged = errors.New("changed since training")

// Needs returns an error that names the setting unless it is there and has no fault.
func Needs(setting string, there bool, faults ...error) error {
	switch fault := errors.Join(faults...); {
	case !there:
		return fmt.Errorf("%w: %s is not set", ErrConfig, setting)
	case fault != nil:
		return fmt.Errorf("%w: %s: %w", ErrConfig, setting, fault)
	}
	return nil
}

// The lengths above which [Shortened] cuts a quoted text, a word (such as a path) and the line, in bytes.
const (
	longQuoted  = 100
	longWord    = 1000
	longMessage = 4000
)

var (
	quotedText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	wordText   = regexp.MustCompile(`\S+`)
)

// Shortened returns the line of a message with long quoted texts and long words cut, and then cut itself if it is
// still long.
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

// prefix returns the first n bytes of s without the part of a character at their end.
func prefix(s string, n int) string {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// ErrData marks a fault of the rows, such as too few of them or a constant target. A retry on the same rows does
// not help.
var ErrData = errors.New("unusable rows")

// percent formats a share in percent with at most three significant digits.
func percent(share float64) string {
	return strconv.FormatFloat(100*share, 'g', 3, 64) + " %"
}

// A faultList collects the faults of a job, each wrapping [ErrConfig].
type faultList []error

func (f *faultList) add(format string, args ...any) {
	*f = append(*f, fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...))
}

// when adds a fault if the condition holds.
func (f *faultList) when(fault bool, format string, args ...any) {
	if fault {
		f.add(format, args...)
	}
}

// of adds each line of err as a fault of a key. It adds nothing if err is nil.
func (f *faultList) of(key string, err error) {
	if err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			f.add("%s: %s", key, line)
		}
	}
}
