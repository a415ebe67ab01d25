package config

import (
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline"
)

// A Require names the guarantee that a run has to reach, and the most that its bound may be.
type Require struct {
	Judge pipeline.Judge // "": of predictions
	Limit float64        // 0: none
}

const (
	requirePrediction = "prediction"
	requireDraw       = "draw"

	wantRequire = "want a bound between 0 and 1, as in 10 %; prediction or draw; or both, as in {draw: 10 %}"
)

// UnmarshalYAML reads a word, a bound, or both.
func (r *Require) UnmarshalYAML(node ast.Node) error {
	var word string
	limit := node
	if pairs := yamlfile.Entries(node); len(pairs) == 1 {
		word, limit = pairs[0].Key.GetToken().Value, pairs[0].Value
	} else if yaml.NodeToValue(node, &word) == nil && slices.Contains([]string{requirePrediction, requireDraw}, word) {
		limit = nil
	} else {
		word = requirePrediction
	}
	switch word {
	case requirePrediction:
		r.Judge = pipeline.JudgeMean
	case requireDraw:
		r.Judge = pipeline.JudgeDraw
	default:
		return yamlfile.At(node, wantRequire)
	}
	if limit == nil {
		return nil
	}
	var share Share
	if share.UnmarshalYAML(limit) != nil || !(0 < share && share < 1) {
		return yamlfile.At(node, wantRequire)
	}
	r.Limit = float64(share)
	return nil
}

func (Require) schema() schema {
	words := []string{requirePrediction, requireDraw}
	bound := apartConfig(0).schema()
	both := schema{"type": "object", "propertyNames": schema{"enum": words}, "additionalProperties": bound, "minProperties": 1, "maxProperties": 1}
	return schema{"anyOf": []schema{{"enum": words}, bound, both}}
}
