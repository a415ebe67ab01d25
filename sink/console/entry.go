package console

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/lake"
)

// maxCertificate bounds a file. A certificate of 1,000 columns has some 200 KB.
const maxCertificate = 16 << 20

// An Entry is a certificate in the index.
type Entry struct {
	ID      string
	Path    string
	Time    time.Time // when its run began; zero without a record of it
	File    time.Time // of the file
	Made    *Run      // nil without a record
	Mean    About
	Draw    About
	Kept    *About  // about the mean, from hold-out rows; nil unless conditional
	Best    About   // about the mean, as in the pointer: certified or conditional
	Against float64 // bound of the baseline
	N       int64
	Series  Series
	Number  int64 // in its sequence; 0 without one
	Attempt int64 // number of its job in the log of the folder
	Doubts  int   // number of doubts
}

// An About is a guarantee about a predictor.
type About struct {
	Status certify.Status
	Bound  float64
	Risk   float64 // empirical, rounded up
	Delta  float64
	N      int64
}

// A Series identifies the certificates of one folder, or of the windows of one stream, with the same
// target, loss and tolerance.
type Series struct {
	Folder string
	Target string
	Loss   string // in words
	Name   string // of the sequence, or ""
}

// Key names the series in addresses.
func (s Series) Key() string { return keyOf(s.Folder, s.Target, s.Loss, s.Name) }

func keyOf(names ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(names, "\x00")))
	return hex.EncodeToString(sum[:12])
}

// Name names a certificate for people.
func (e *Entry) Name() string {
	if e.Number > 0 {
		return "number " + strconv.FormatInt(e.Number, 10)
	}
	return "attempt " + strconv.FormatInt(e.Attempt, 10)
}

// When is the name with the day of the run, if it is known.
func (e *Entry) When() string {
	if e.Time.IsZero() {
		return e.Name()
	}
	return e.Name() + ", " + day(e.Time)
}

// A Fault is a file that is no certificate.
type Fault struct {
	Path   string
	Reason string
}

// readCertificate reads the file of a certificate. The content must have the digest in the name, and
// its numbers and sentences must follow from its evidence.
func readCertificate(path string) (c certify.Certificate, id string, err error) {
	data, err := durable.ReadSmall(path, "a certificate", maxCertificate)
	if err != nil {
		return c, "", plainly(err)
	}
	sum := sha256.Sum256(data)
	id = hex.EncodeToString(sum[:])
	if filepath.Base(path) != lake.CertificateName(id) {
		return c, "", errors.New("its content is not what its name says: it is damaged, or was edited or renamed")
	}
	if c, err = certify.Parse(data); err == nil {
		err = certify.Recompute(c)
	}
	if err == nil && len(c.Guarantees) == 0 {
		err = errors.New("it guarantees nothing")
	}
	return c, id, err
}

// plainly removes the path from an error about a file.
func plainly(err error) error {
	if at, ok := errors.AsType[*os.PathError](err); ok {
		return at.Err
	}
	return err
}

// entryOf makes the entry of a certificate.
func entryOf(path string, info os.FileInfo, c certify.Certificate, id string) Entry {
	e := Entry{
		ID: id, Path: path, File: info.ModTime().UTC(), Attempt: c.Declared.Attempt.InThisLog,
		Mean: aboutOf(c.About(certify.PredictorMean)), Draw: aboutOf(c.About(certify.PredictorDraw)),
		Best: aboutOf(pipeline.JudgeMean.Of(c)), Against: c.Baseline.For(pipeline.JudgeMean.Of(c)), Doubts: len(c.Doubts()),
	}
	e.N = max(e.Draw.N, e.Mean.N)
	for _, g := range c.Conditional() {
		if g.Predictor == certify.PredictorMean && g.Loss.Width == certify.WidthUnit {
			kept := aboutOf(g)
			e.Kept = &kept
		}
	}
	loss := c.Guarantees[0].Loss
	folder, _ := seriesFolder(path)
	e.Series = Series{Folder: folder, Target: loss.Target, Loss: lossWords(loss.Loss, c.Declared.Unit)}
	if s := c.Delta.Sequence; s != nil {
		e.Number, e.Series.Name = s.Number, s.Name
	}
	return e
}

// windowName matches the folder of one window of a stream.
var windowName = regexp.MustCompile(`^window-[0-9]{12,}$`)

// seriesFolder returns the folder of a file's series, and the name of the window that the file is in,
// or "". The windows of a stream are ordered by their names.
func seriesFolder(path string) (folder, window string) {
	folder = filepath.Dir(path)
	if name := filepath.Base(folder); windowName.MatchString(name) {
		return filepath.Dir(folder), name
	}
	return folder, ""
}

func aboutOf(g certify.Guarantee) About {
	return About{Status: g.Status, Bound: g.Bound, Risk: g.EmpiricalRisk.Upper, Delta: g.Delta, N: g.N}
}

// lossWords describes a loss.
func lossWords(l certify.Loss, unit string) string {
	if unit != "" {
		unit = ` "` + unit + `"`
	}
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
	switch tolerances := l.Kind.Tolerances(); {
	case tolerances == certify.TwoSided:
		return "more than " + number(l.Below) + " under or " + number(l.Above) + " over" + unit
	case tolerances == certify.ShareTolerance:
		return "off by more than " + l.Share()
	case l.Kind.Counts():
		return "off by more than " + number(l.Epsilon) + unit
	case tolerances == certify.OneTolerance:
		return string(l.Kind) + " loss, tolerance " + number(l.Epsilon) + unit
	default:
		return string(l.Kind) + " loss"
	}
}
