package stream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// numberNote is the name of the note of a number.
const numberNote = "number.json"

// A notedNumber is the content of the note.
type notedNumber struct {
	Number int64  `json:"number"`
	Of     string `json:"of"` // see [Stream.numbered]
}

// number is the number of the certificate of a window: the noted one, or a new one, durable in the
// log. A number noted for something else may belong to a certificate whose bound is known.
func (s *Stream) number(ctx context.Context, log Log, w *Window) (int64, error) {
	text, where, err := s.Folders.Folder(w.N).Note(numberNote)
	if err != nil {
		return 0, err
	}
	if text != nil {
		var noted notedNumber
		if err := json.Unmarshal(text, &noted); err != nil || noted.Number < 1 {
			return 0, fmt.Errorf("%s: it holds no number (hint: remove it, and the window gets a new one)", where)
		}
		of, err := s.numbered(w)
		if err != nil || noted.Of == of {
			return noted.Number, err
		}
	}
	return log.TakeNumber(ctx)
}

// keepNumber notes a number, so that a resumed window keeps it.
func (s *Stream) keepNumber(k int64, w *Window) error {
	of, err := s.numbered(w)
	if err != nil {
		return err
	}
	text, err := json.Marshal(notedNumber{k, of})
	if err != nil {
		return err
	}
	return s.Folders.Folder(w.N).PutNote(numberNote, text)
}

// numbered is the SHA-256 of all that the certificate of a window follows from: topic, segments,
// job, program, instruction set and ancestor. Two certificates that can differ have two numbers.
func (s *Stream) numbered(w *Window) (string, error) {
	job, err := s.Job.Digest()
	if err != nil {
		return "", err
	}
	ancestor, _, err := s.Folders.Folder(w.N).Note(ancestorNote)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal([]any{w.Of, w.Segments, job.String(), s.Software, hexOf(ancestor)})
	return hexOf(text), err
}

// hexOf is the SHA-256 of some bytes, in hexadecimal.
func hexOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
