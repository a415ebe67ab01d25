package pipeline_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
)

// inParts checks a certificate by three parts, made as other processes make them, of which change may
// return others.
func (p *published) inParts(t *testing.T, l *lake, change func(h *pipeline.Handover, parts []*pipeline.Pass) []*pipeline.Pass) (v *pipeline.Verification, made int, err error) {
	t.Helper()
	open := func(ctx context.Context, want pipeline.Choice) (pipeline.Source, error) {
		return l.open(ctx, want.Features)
	}
	v, err = pipeline.VerifyInParts(t.Context(), p.certificate, p.result.Model, p.result.ModelDigest, open, func(ctx context.Context, h *pipeline.Handover, _ []pipeline.Shard, use func(*pipeline.Pass) error) error {
		made++
		document, err := json.Marshal(h)
		fatal.If(t, err)
		read, err := pipeline.ParseHandover(document)
		fatal.If(t, err)
		var parts []*pipeline.Pass
		for number := range 3 {
			prepared, err := read.PrepareCheck(ctx, p.result.Model, open, pipeline.Resources{Workers: 1 + number})
			fatal.If(t, err)
			part, err := prepared.Pass(ctx, pipeline.Part{Number: number + 1, Of: 3})
			fatal.If(t, err)
			prepared.Close()
			var written bytes.Buffer
			fatal.If(t, part.Write(ctx, &written))
			parts = append(parts, decode(t, written.Bytes()))
		}
		if change != nil && !read.First() {
			parts = change(read, parts)
		}
		for _, part := range parts[1:] {
			if err := parts[0].Merge(part); err != nil {
				return err
			}
		}
		return use(parts[0])
	}, pipeline.Resources{})
	return v, made, err
}

// A check in parts finds what a check in one piece finds.
func TestVerifiesInParts(t *testing.T) {
	for name, change := range map[string]func(*pipeline.Job){
		"copies limited": tiny, "copies dropped": drop, "bad rows and copies": tolerantDrop, "scaling declared": func(j *pipeline.Job) { tiny(j); declared(j) },
		"hold-out rows": withHoldout(0.2), "last rows held out": func(j *pipeline.Job) { withHoldout(0.2)(j); j.Roles.Last = true },
		"peaked grid": func(j *pipeline.Job) { tiny(j); j.Grid.Prior = "peaked"; j.Train.Rows = 300 },
		"ranges": func(j *pipeline.Job) {
			tiny(j)
			j.Schema = pipeline.SchemaDecl{Note: true, Columns: []pipeline.ColumnDecl{{Column: "a", Range: &[2]float64{-0.5, 0.5}}}}
		},
		"by content": func(j *pipeline.Job) { tiny(j); j.Roles.By = pipeline.RolesByContent },
	} {
		t.Run(name, func(t *testing.T) {
			columns := waves(600, 0.3, 90)
			for _, column := range columns { // 3 copies, in other shards
				column[5], column[200], column[599] = column[300], column[300], column[400]
			}
			l := newLake(columns, unevenShards...)
			if name == "bad rows and copies" {
				l.spoil(7, 201, 450)
			}
			p := publish(t, l, change)
			want, err := p.verify(t, p.certificate, p.result.Model, p.result.ModelDigest, l)
			fatal.If(t, err)
			got, made, err := p.inParts(t, l, nil)
			fatal.If(t, err)
			passes := 1
			if whole := slices.Contains([]string{"copies dropped", "bad rows and copies", "ranges", "by content"}, name); !whole && strings.Contains(strings.Join(want.Checked, "\n"), "the peaks") {
				passes = 2 // the first one, too
			}
			if diff := cmp.Diff(want.Checked, got.Checked); diff != "" || !got.Evidence || made != passes {
				t.Errorf("evidence %v, %d passes made in parts, want %d (-whole +parts):\n%s", got.Evidence, made, passes, diff)
			}
		})
	}
}

// A certificate by unit is checked in one piece.
func TestUnitsAreNotCheckedInParts(t *testing.T) {
	l := dayLake(days(1200, 200, 7), 400, 500, 300)
	p := publish(t, l, byDay)
	v, made, err := p.inParts(t, l, nil)
	if fatal.If(t, err); !v.Evidence || made > 0 {
		t.Errorf("evidence %v, %d passes made in parts", v.Evidence, made)
	}
}

// Parts that do not make up the pass of the check, and parts of other rows, are refused.
func TestVerifyRefusesOtherParts(t *testing.T) {
	l := newLake(waves(600, 0.3, 90), unevenShards...)
	p := publish(t, l, tiny)
	h, env, _ := handover(t, l, tiny)
	_, _, err := p.inParts(t, l, func(_ *pipeline.Handover, parts []*pipeline.Pass) []*pipeline.Pass { return parts[:2] })
	if !errors.Is(err, pipeline.ErrPart) {
		t.Errorf("without a part: %v", err)
	}
	_, _, err = p.inParts(t, l, func(*pipeline.Handover, []*pipeline.Pass) []*pipeline.Pass {
		return []*pipeline.Pass{passOver(t, h, env, []int{0, 1, 2, 3, 4, 5, 6})}
	})
	if !errors.Is(err, pipeline.ErrPart) {
		t.Errorf("parts of the training of the same job: %v", err)
	}
	value := &l.columns[2][trainRow]
	*value += 1e-9
	if _, _, err = p.inParts(t, l, nil); !errors.Is(err, pipeline.ErrRefused) {
		t.Errorf("parts of other rows: %v", err)
	}
	*value -= 1e-9
	if _, _, err := p.inParts(t, newLake(l.columns, 300, 300), nil); !errors.Is(err, pipeline.ErrRefused) {
		t.Errorf("parts of other shards: %v", err)
	}
}
