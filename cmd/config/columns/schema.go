package columns

import (
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline"
)

// A Schema pins the columns of the files.
type Schema struct {
	Strict   bool            `yaml:"strict"`
	OnChange string          `yaml:"on_change"`
	Columns  map[string]Pins `yaml:"columns"`
}

// Pins are the type, the unit and the range of a column.
type Pins struct {
	Type  string `yaml:"type"`
	Unit  string `yaml:"unit"`
	Range Range  `yaml:"range"`
}

// A Range is the least and the largest value of a column.
type Range []float64

// UnmarshalYAML reads two numbers.
func (r *Range) UnmarshalYAML(node ast.Node) error {
	list, ok := node.(*ast.SequenceNode)
	if !ok || yaml.NodeToValue(list, (*[]float64)(r)) != nil || len(*r) != 2 {
		return yamlfile.At(node, "want the least and the largest value, as in [0, 100]")
	}
	return nil
}

// Schema is the JSON Schema of a range.
func (Range) Schema() map[string]any {
	return map[string]any{"type": "array", "items": map[string]any{"type": "number"}, "minItems": 2, "maxItems": 2}
}

// The words for what becomes of a difference.
const (
	changeError = "error"
	changeNote  = "note"
)

// OnChange are the values of the key on_change.
var OnChange = []string{changeError, changeNote}

// Check finds words that are none.
func (s Schema) Check(faults *yamlfile.Faults) {
	faults.Unless(s.OnChange == "" || slices.Contains(OnChange, s.OnChange), "schema.on_change", "%q is neither %s", s.OnChange, strings.Join(OnChange, " nor "))
	for name, of := range s.Columns {
		if err := ingestlake.CheckType(of.Type); of.Type != "" && err != nil {
			faults.Add(yamlfile.Join("schema.columns", name)+".type", "%v", err)
		}
	}
}

// Declared is the schema of a job.
func (s Schema) Declared() pipeline.SchemaDecl {
	d := pipeline.SchemaDecl{Strict: s.Strict, Note: s.OnChange == changeNote}
	for _, name := range slices.Sorted(maps.Keys(s.Columns)) {
		of := s.Columns[name]
		c := pipeline.ColumnDecl{Column: name, Type: of.Type, Unit: of.Unit}
		if len(of.Range) == 2 {
			c.Range = &[2]float64{of.Range[0], of.Range[1]}
		}
		d.Columns = append(d.Columns, c)
	}
	return d
}
