package kafkalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/internal/broker"
)

// Columns beside the value of a record.
const (
	columnKey    = "$key"
	prefixHeader = "$headers." // followed by the name of the header
)

func isBeside(name string) bool { return name == columnKey || strings.HasPrefix(name, prefixHeader) }

// beside returns the columns beside the values of records.
func (cfg Config) beside() []string {
	return slices.DeleteFunc(slices.Clone(cfg.Columns), func(name string) bool { return !isBeside(name) })
}

// besideCell returns the cell of a record's key or header, by [textCell].
func besideCell(r *broker.Record, name string) (float64, error) {
	text := r.Key
	if header, ok := strings.CutPrefix(name, prefixHeader); ok {
		text = nil
		found := 0
		for _, h := range r.Headers {
			if h.Key == header {
				text = h.Value
				found++
			}
		}
		if found > 1 {
			return 0, fmt.Errorf("the record has %d headers of this name", found)
		}
	}
	return textCell(text)
}

// textCell returns the cell of a text: a number, true, false or null as in JSON, or a point in time
// without quotes. nil is a null.
func textCell(text []byte) (float64, error) {
	if text == nil {
		return ingest.Null.Cell(), nil
	}
	if len(text) > 0 && '0' <= text[0] && text[0] <= '9' && slices.Contains(text, ':') {
		return timeCell(string(text))
	}
	value := jsontext.Value(text)
	if slices.Contains([]jsontext.Kind{'"', '{', '['}, value.Kind()) || !value.IsValid() {
		return 0, errNoNumber(text)
	}
	v, err := jsonCell(value)
	if err != nil {
		return 0, errNoNumber(text)
	}
	return v, nil
}

func errNoNumber(text []byte) error {
	if len(text) == 0 {
		return errors.New("it is empty; numbers, true, false and times as in 2026-01-31T12:00:00Z are read, as text")
	}
	return fmt.Errorf("%.40q is no number; numbers, true, false and times as in 2026-01-31T12:00:00Z are read, as text", text)
}
