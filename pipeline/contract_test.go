package pipeline_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

// A value outside a declared range stops the job, with the place of its first row; or the certificate
// notes the column, and verifies.
func TestRangesOfASchema(t *testing.T) {
	columns := waves(300, 0.3, 80)
	columns[0][250] = 99
	declare := func(note bool) func(*pipeline.Job) {
		return func(j *pipeline.Job) {
			tiny(j)
			j.Schema = pipeline.SchemaDecl{Note: note, Columns: []pipeline.ColumnDecl{
				{Column: "a", Unit: "m", Range: &[2]float64{-50, 50}}, {Column: "b", Range: &[2]float64{-1e9, 1e9}},
			}}
		}
	}
	l := newLake(columns, 200, 100)
	_, err := pipeline.Run(t.Context(), job(t, declare(false)), l.environment(&pipelinetest.Store{}))
	if !errors.Is(err, pipeline.ErrData) || !strings.Contains(err.Error(), `column "a" has values outside the range [-50 50]`) || !strings.Contains(err.Error(), "row 250 (from 0)") {
		t.Errorf("error %v", err)
	}
	p := publish(t, l, declare(true))
	c := p.certificate
	if want := []certify.Change{{Column: "a", Kind: certify.ChangeRange}}; !slices.Equal(c.Declared.Changes, want) {
		t.Errorf("changes %v, want %v", c.Declared.Changes, want)
	}
	if said := strings.Join(c.Doubts(), " "); !strings.Contains(said, `"a" (values outside the range)`) {
		t.Errorf("doubts %s", said)
	}
	if said := strings.Join(p.result.Diagnostics.Notices, " "); !strings.Contains(said, `column "a" has values outside`) {
		t.Errorf("notices of the record: %s", said)
	}
	_, err = p.verify(t, c, p.result.Model, p.result.ModelDigest, l)
	fatal.If(t, err)
	forged := forge(t, c, func(ev *certify.Evidence) { reword(t, ev, `"note":true,`, "") })
	if _, err := p.verify(t, forged, p.result.Model, p.result.ModelDigest, l); err == nil {
		t.Error("a certificate notes a change that its job does not note")
	}
	changed := func(all ...certify.Change) func(ev *certify.Evidence) {
		return func(ev *certify.Evidence) { ev.Declared.Changes = all }
	}
	for name, f := range map[string]func(ev *certify.Evidence){
		"removed":            changed(),
		"of a column within": changed(certify.Change{Column: "b", Kind: certify.ChangeRange}),
		"of no range":        changed(certify.Change{Column: "a", Kind: certify.ChangeRange}, certify.Change{Column: "c", Kind: certify.ChangeRange}),
		"of no type":         changed(certify.Change{Column: "a", Kind: certify.ChangeRange}, certify.Change{Column: "a", Kind: certify.ChangeType}),
		"of a new column":    changed(certify.Change{Column: "a", Kind: certify.ChangeNew}, certify.Change{Column: "a", Kind: certify.ChangeRange}),
		"that stops":         func(ev *certify.Evidence) { ev.Declared.Changes = nil; reword(t, ev, `"note":true,`, "") },
	} {
		if _, err := p.verify(t, forge(t, c, f), p.result.Model, p.result.ModelDigest, l); !errors.Is(err, pipeline.ErrRefused) {
			t.Errorf("a change %s: %v", name, err)
		}
	}
}

// A range has two finite numbers, the least first.
func TestRangeOfASchema(t *testing.T) {
	for _, limits := range [][2]float64{{0, 0}, {-9, 1e300}, {1, 0}, {0, math.Inf(1)}, {math.Inf(-1), 0}, {math.NaN(), 0}} {
		right := limits[0] <= limits[1] && limits[1]-limits[0] < math.Inf(1)
		j := job(t, tiny)
		j.Schema = pipeline.SchemaDecl{Columns: []pipeline.ColumnDecl{{Column: "a", Range: &limits}}}
		if _, err := j.WithDefaults(); (err == nil) != right {
			t.Errorf("range %v: %v", limits, err)
		}
	}
}

// The columns of a file are compared with the schema by name and type.
func TestSchemaOfFiles(t *testing.T) {
	d := pipeline.SchemaDecl{Strict: true, Columns: []pipeline.ColumnDecl{{Column: "gone"}, {Column: "same", Type: "double"}, {Column: "turned", Type: "int32"}}}
	var found []string
	for _, c := range d.Compare(map[string]string{"same": "double", "turned": "text", "new": "boolean"}) {
		found = append(found, c.Column+" "+string(c.Kind)+" "+c.Found)
	}
	if want := []string{"gone gone ", "turned type text", "new new boolean"}; !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
}
