package lake

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink"
)

var _ pipeline.Attempts = (*AttemptLog)(nil)

// ErrDamagedAttempts says that the log of attempts is not what was written. No retry helps:
// restore the log, or name another one.
var ErrDamagedAttempts = errors.New("damaged log of attempts")

// An AttemptLog is a file that counts the different jobs that were tried on the same rows. It
// has one line an attempt, in order, all of one form and length. Several directories and
// processes may share one: Record locks the file, and lines are only ever added.
type AttemptLog struct {
	// Notice, if not nil, is called when Record drops the unfinished line of a killed job.
	Notice func(string)

	fs   durable.FS
	path string
}

// NewAttemptLog returns the log of that path, which may be absent. A nil FS means [durable.OS].
func NewAttemptLog(path string, fsys durable.FS) *AttemptLog {
	return &AttemptLog{fs: objects.FilesOf(fsys, path), path: path}
}

// AttemptLog returns the log of this directory.
func (d *Directory) AttemptLog() *AttemptLog { return NewAttemptLog(d.Path(AttemptsFile), d.fs) }

// Path returns the path of the file.
func (l *AttemptLog) Path() string { return l.path }

// Record appends an attempt durably, unless the log has it, and returns its rank: the number
// of different attempts up to and including this one, on rows of these targets and in all. It
// waits for other processes that record at the same time.
func (l *AttemptLog) Record(ctx context.Context, a pipeline.Attempt) (onRows, inLog int, err error) {
	if err := l.fs.MkdirAll(objects.Dir(l.path)); err != nil {
		return 0, 0, durable.Explain(l.path, 0, err)
	}
	lock, err := lockLog(ctx, l.fs, l.path)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	log, err := l.read()
	if err != nil {
		return 0, 0, err
	}
	lines := log.missing
	if !log.has(a) {
		lines = append(lines, log.add(a)...)
	}
	if log.whole+int64(len(lines)) > maxAttempts {
		return 0, 0, fmt.Errorf("lake: %s: it has %d bytes, the most that a log of attempts may have (hint: keep it, and name another log by the job's key attempts)", l.path, log.whole)
	}
	if log.dropped > 0 && l.Notice != nil {
		l.Notice(fmt.Sprintf("%s: %d bytes behind line %d are dropped: the unfinished line of a job that died, which counts as an attempt once it is run again", l.path, log.dropped, log.lines))
	}
	// Also without lines: a killed job may have written its line and not synced it.
	if err := appendLines(l.fs, l.path, log.whole, log.torn, lines); err != nil {
		return 0, 0, err
	}
	onRows, inLog = log.rank(a)
	return onRows, inLog, nil
}

// Attempts returns the different attempts in order, none without a log.
func (l *AttemptLog) Attempts(ctx context.Context) ([]pipeline.Attempt, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	log, err := l.read()
	return log.attempts, err
}

// Recording needs milliseconds: after lockPatience the other process hangs.
const (
	lockPause    = 5 * time.Millisecond
	lockPatience = 30 * time.Second
)

// lockLog locks the log itself, not a file beside it, so that all paths to one log share one lock.
// It makes the log if it is absent.
func lockLog(ctx context.Context, fsys durable.FS, path string) (io.Closer, error) {
	pause := time.NewTicker(lockPause)
	defer pause.Stop()
	for began := time.Now(); ; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		lock, err := fsys.Lock(path)
		switch {
		case err == nil:
			return lock, nil
		case !errors.Is(err, durable.ErrLocked):
			return nil, durable.Explain(path, 0, err)
		case time.Since(began) > lockPatience:
			return nil, fmt.Errorf("lake: %s: %w for more than %v (hint: end the process that has the log's lock, and run the same job again)", path, pipeline.ErrHeld, lockPatience)
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
	}
}

// maxAttempts bounds the log: 64 MiB are some 190,000 lines.
const maxAttempts = 64 << 20

// A line has its version and four SHA-256: of the multiset of the targets, under which attempts
// are counted; of the rows; of the configuration; and a check. The check is the digest of the
// check of the line before (zeros for the first line) and of this line up to its check, so that
// a line that is changed, lost or moved is noticed, unless it is the last.
const (
	attemptForm = `{"format":"pacsgp-attempts/2","targets":"%s","sample":"%s","configuration":"%s"`
	checkForm   = `,"check":"%s"}` + "\n"
)

var (
	anyDigest   = strings.Repeat("0", 2*sha256.Size)
	anyLine     = fmt.Sprintf(attemptForm+checkForm, anyDigest, anyDigest, anyDigest, anyDigest)
	linePattern = regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(anyLine), anyDigest, "([0-9a-f]{64})") + "$")
	anyFormat   = regexp.MustCompile(`^\{"format":"(pacsgp-attempts/[0-9]+)",`)
)

// encodeAttempt returns the line that follows a line with the check before.
func encodeAttempt(a pipeline.Attempt, before string) (line []byte, check string) {
	text := fmt.Sprintf(attemptForm, a.Targets, a.Sample, a.Configuration)
	check = sink.DigestOf([]byte(before + text))
	return fmt.Appendf([]byte(text), checkForm, check), check
}

type attemptLines struct {
	attempts []pipeline.Attempt
	place    map[pipeline.Attempt]int
	check    string // of the last line
	lines    int    // whole lines in the file
	whole    int64  // bytes of these lines
	missing  []byte // the end of the last line, if the file lacks it
	torn     bool   // anything follows these lines
	dropped  int    // bytes of an unfinished line
}

func (l *attemptLines) has(a pipeline.Attempt) bool {
	_, ok := l.place[a]
	return ok
}

// add appends an attempt and returns its line.
func (l *attemptLines) add(a pipeline.Attempt) (line []byte) {
	line, l.check = encodeAttempt(a, l.check)
	l.place[a] = len(l.attempts)
	l.attempts = append(l.attempts, a)
	return line
}

// rank counts the attempts up to a, which is in the log.
func (l *attemptLines) rank(a pipeline.Attempt) (onRows, inLog int) {
	inLog = l.place[a] + 1
	for _, other := range l.attempts[:inLog] {
		if other.Targets == a.Targets {
			onRows++
		}
	}
	return onRows, inLog
}

// read reads the log. A last line that lacks only its line feed counts. One that lacks more does
// not: its job died before anybody was told the rank. Other damage is an error, for a log that lost
// lines would count too few.
func (l *AttemptLog) read() (attemptLines, error) {
	log := attemptLines{place: map[pipeline.Attempt]int{}, check: anyDigest}
	data, err := readAtMost(l.fs, l.path, maxAttempts)
	if errors.Is(err, fs.ErrNotExist) {
		return log, nil
	}
	if err != nil {
		return log, fmt.Errorf("lake: read %s: %w", l.path, err)
	}
	for rest := data; len(rest) > 0; log.lines++ {
		at := bytes.IndexByte(rest, '\n') + 1
		line := rest[:at]
		if at == 0 {
			line = rest
			if text := bytes.TrimRight(rest, "\x00"); len(text) == len(anyLine)-1 {
				log.missing = []byte{'\n'}
				line = append(bytes.Clone(text), '\n')
				log.torn, at = len(text) < len(rest), len(rest)
			} else if beginsLine(rest) {
				log.torn, log.dropped = true, len(text)
				break
			}
		}
		a, err := parseAttempt(line, log.check)
		if err == nil && log.has(a) {
			err = errors.New("it repeats an earlier line")
		}
		if err != nil {
			return log, fmt.Errorf("%w: %s: line %d: %w (hint: the log counts the jobs that were tried on the same rows, and a damaged one may count too few: restore it from a copy, or name another log by the job's key attempts)",
				ErrDamagedAttempts, l.path, len(log.attempts)+1, err)
		}
		log.add(a)
		log.whole += int64(len(line) - len(log.missing))
		rest = rest[at:]
	}
	return log, nil
}

// beginsLine reports whether data may be the beginning of a line, followed by zeros as a power cut
// leaves them. Other bytes may be somebody's notes.
func beginsLine(data []byte) bool {
	if len(data) > len(anyLine) {
		return false
	}
	for i, c := range bytes.TrimRight(data, "\x00") {
		isHex := '0' <= c && c <= '9' || 'a' <= c && c <= 'f'
		if c != anyLine[i] && (anyLine[i] != '0' || !isHex) {
			return false
		}
	}
	return true
}

func parseAttempt(line []byte, before string) (pipeline.Attempt, error) {
	var a pipeline.Attempt
	parts := linePattern.FindSubmatch(line)
	if parts == nil {
		if other := anyFormat.FindSubmatch(line); other != nil && !strings.Contains(anyLine, string(other[1])) {
			return a, fmt.Errorf("it is of the version %s, which this program does not know", other[1])
		}
		return a, fmt.Errorf("it has not the form of a line, %.30q…", anyLine)
	}
	for i, digest := range []*pipeline.Digest{&a.Targets, &a.Sample, &a.Configuration} {
		if _, err := hex.Decode(digest[:], parts[i+1]); err != nil {
			return a, err
		}
	}
	if want, _ := encodeAttempt(a, before); !bytes.Equal(line, want) {
		return a, errors.New("its check does not follow from it and the lines before")
	}
	return a, nil
}

// appendLines appends lines, possibly none, behind the first whole bytes of a log, and makes the
// log and its name durable. torn says that the log has further bytes, which are cut off.
func appendLines(fsys durable.FS, path string, whole int64, torn bool, lines []byte) error {
	failed := func(err error) error { return durable.Explain(path, int64(len(lines)), err) }
	if torn {
		if err := fsys.Truncate(path, whole); err != nil {
			return failed(err)
		}
	}
	f, err := fsys.Append(path)
	if err != nil {
		return failed(err)
	}
	if len(lines) > 0 {
		_, err = f.Write(lines)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = durable.SyncDir(fsys, filepath.Dir(path))
	}
	if err != nil {
		return failed(err)
	}
	return nil
}
