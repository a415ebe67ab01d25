package config

import (
	"errors"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
)

// A position is the beginning or the end of a window: earliest, latest, committed, or a time.
type position string

// Form is a word or a time.
func (p *position) Form() (yamlfile.Form, string) {
	word := schema{"type": "string", "pattern": `^(earliest|latest|committed|[0-9]{4}-[0-9]{2}-[0-9]{2}T.*)$`}
	return yamlfile.Accept(word, func(node ast.Node) bool {
		if yaml.NodeToValue(node, (*string)(p)) != nil {
			return false
		}
		_, err := p.of(broker.Earliest)
		return err == nil
	}), "want earliest, latest, committed (only for from), or a time such as 2026-01-31T12:00:00Z"
}

// of is the position of a window.
func (p position) of(missing int64) (kafkalog.Position, error) {
	switch p {
	case "":
		return kafkalog.Position{Time: missing}, nil
	case "earliest":
		return kafkalog.Position{Time: broker.Earliest}, nil
	case "latest":
		return kafkalog.Position{Time: broker.Latest}, nil
	case "committed":
		return kafkalog.Position{Time: kafkalog.Committed}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, string(p))
	if err == nil && t.UnixMilli() < 0 {
		err = errors.New("a time before 1970")
	}
	return kafkalog.Position{Time: t.UnixMilli()}, err
}
