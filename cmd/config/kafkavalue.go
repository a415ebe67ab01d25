package config

import (
	"errors"
	"fmt"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
)

// A position is the beginning or the end of a window.
type position struct {
	word    string // earliest, latest, committed, or a time
	offsets []int  // by partition
}

const wantPosition = "want earliest, latest, committed (only for from), a time such as 2026-01-31T12:00:00Z, or a list with an offset for each partition"

// UnmarshalYAML reads the forms.
func (p *position) UnmarshalYAML(node ast.Node) error {
	switch list := node.(type) {
	case *ast.SequenceNode:
		if len(list.Values) == 0 {
			return yamlfile.At(node, wantPosition)
		}
		var faults []error
		for _, one := range list.Values {
			v, err := yamlfile.WholeNumber(one, false)
			if err != nil || v < 0 {
				faults = append(faults, yamlfile.At(one, "want an offset, which is a whole number from 0 on"))
				continue
			}
			p.offsets = append(p.offsets, int(v))
		}
		return errors.Join(faults...)
	default:
		if err := yaml.NodeToValue(node, &p.word); err != nil {
			return yamlfile.At(node, wantPosition)
		}
		if _, err := p.time(broker.Earliest); err != nil {
			return yamlfile.At(node, wantPosition)
		}
		return nil
	}
}

// time is the meaning of the word.
func (p position) time(missing int64) (int64, error) {
	switch p.word {
	case "":
		return missing, nil
	case "earliest":
		return broker.Earliest, nil
	case "latest":
		return broker.Latest, nil
	case "committed":
		return kafkalog.Committed, nil
	}
	t, err := time.Parse(time.RFC3339Nano, p.word)
	if err == nil && t.UnixMilli() < 0 {
		err = errors.New("a time before 1970")
	}
	return t.UnixMilli(), err
}

// of is the position in these partitions; nil: all, from 0 on.
func (p position) of(partitions []int, missing int64) (kafkalog.Position, error) {
	at, err := p.time(missing)
	if p.offsets == nil || err != nil {
		return kafkalog.Position{Time: at}, err
	}
	if partitions != nil && len(partitions) != len(p.offsets) {
		return kafkalog.Position{}, fmt.Errorf("%d offsets for %d partitions", len(p.offsets), len(partitions))
	}
	offsets := make(map[int]int64, len(p.offsets))
	for i, offset := range p.offsets {
		if partitions != nil {
			i = partitions[i]
		}
		offsets[i] = int64(offset)
	}
	return kafkalog.Position{Offsets: offsets}, nil
}
