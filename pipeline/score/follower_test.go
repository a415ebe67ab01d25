package score_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/pipeline/score"
	"github.com/pacsgp/pacsgp/pipeline/score/scoretest"
)

func fits(pass.Model) error { return nil }

// narrow are rows without the column z.
func narrow(m pass.Model) error {
	if len(m.Meta.Features) > 1 {
		return errors.New(`no column "z"`)
	}
	return nil
}

// A model that does not fit is refused, which is reported once, and the one before stays.
func TestFollowerKeepsTheModelBefore(t *testing.T) {
	broken := errors.New("its bytes are damaged")
	for name, c := range map[string]struct {
		moves string
		fits  func(pass.Model) error
		warns string // "": the model predicts
		fault string // "": the model is refused
	}{
		"another model":    {moves: "two"},
		"another subject":  {moves: "other", warns: "refused: the targets are \"\" and \"rule\", as it is written"},
		"a missing column": {moves: "wide", fits: narrow, warns: `no column "z"`},
		"a missing model":  {moves: "none", warns: "none: file does not exist", fault: "the current model cannot be read"},
		"no pointer":       {warns: "nothing is current", fault: "the pointer cannot be read"},
		"a damaged model":  {moves: "damaged", warns: broken.Error()},
		"a false name":     {moves: "false", warns: "has the id two, and the pointer names false"},
		"the same model":   {moves: "one"},
	} {
		t.Run(name, func(t *testing.T) {
			p := models()
			p.Put("damaged", nil, "x")
			var warned []string
			asked := 0
			f := score.NewFollower(score.Config{
				Pointers: misnamed{p},
				Ready: func(_ context.Context, a score.Artifact) (*pipeline.Ready, error) {
					if asked++; a.ID == "damaged" {
						return nil, broken
					}
					return nil, nil
				},
				Warning: func(text string) { warned = append(warned, text) },
				Keeps:   func() string { return ", as it is written" },
			})
			defer f.Close()
			if by, err := f.Follow(t.Context(), fits); err != nil || by.ID != "one" {
				t.Fatal(by, err)
			}
			p.Move(c.moves)
			if c.fits == nil {
				c.fits = fits
			}
			before := asked
			for range 3 {
				by, err := f.Follow(t.Context(), c.fits)
				if err != nil || (by.ID == "one") != (c.warns != "" || c.moves == "one") {
					t.Errorf("follows to %s, %v", by.ID, err)
				}
			}
			want := cmp.Or(c.fault, "the current model is refused") + ", and the model of certificate one… stays: "
			if c.warns == "" && len(warned) > 0 || c.warns != "" && (len(warned) != 1 || !strings.HasPrefix(warned[0], want) || !strings.Contains(warned[0], c.warns)) {
				t.Errorf("it warns %q, want %q", warned, want+c.warns)
			}
			if c.moves == "wide" && asked != before+3 {
				t.Errorf("rows that came later are not asked for their columns: %d", asked-before)
			}
			// What was refused for good, or for now, may be followed by a model that fits.
			p.Move("two")
			if by, err := f.Follow(t.Context(), c.fits); err != nil || by.ID != "two" {
				t.Errorf("behind it follows %s, %v", by.ID, err)
			}
		})
	}
}

// misnamed has under one name another artifact.
type misnamed struct{ *Pointers }

// Artifact returns an artifact.
func (p misnamed) Artifact(ctx context.Context, at pipeline.Current) (score.Artifact, error) {
	if at.ID == "false" {
		at.ID = "two"
	}
	return p.Pointers.Artifact(ctx, at)
}

// What predictions are about is decided by those that are there, and without a model that fits
// there is none.
func TestFollowerContinues(t *testing.T) {
	begin := func(p *Pointers) *score.Follower {
		return score.NewFollower(score.Config{Pointers: p, Ready: ready, Keeps: func() string { return ", says the folder" }, Again: "another topic"})
	}
	p := models()
	first := begin(p)
	defer first.Close()
	by, err := first.Follow(t.Context(), fits)
	if err != nil || by.Subject == "" {
		t.Fatal(by, err)
	}
	p.Move("other")
	second := begin(p)
	second.Continue(by.Subject)
	if _, err := second.Follow(t.Context(), fits); !errors.Is(err, score.ErrNoModel) || !strings.Contains(err.Error(), "(hint: to begin again, choose another topic)") {
		t.Error(err)
	}
	third := begin(p)
	third.ContinueFrom(certify.Certificate{})
	if _, err := third.Follow(t.Context(), fits); !errors.Is(err, score.ErrNoModel) || !strings.Contains(err.Error(), "the targets are \"\" and \"rule\", says the folder") {
		t.Error(err)
	}
	p.Move("two")
	for _, f := range []*score.Follower{second, third} {
		if by, err := f.Follow(t.Context(), fits); err != nil || by.ID != "two" {
			t.Error(by, err)
		}
		f.Close()
	}
}

// The contract of writers of files holds for the one in memory.
func TestMemoryWriter(t *testing.T) {
	memory := &Memory{}
	open := func(*testing.T) (scoretest.FileWriter[Nothing], func()) { return memory.Open(), func() {} }
	scoretest.TestFileWriter(t, open, func(int) Nothing { return Nothing{} }, func(_ *testing.T, f score.File) (numbers []int64) {
		for _, row := range memory.Rows()[f.Name] {
			numbers = append(numbers, row.Row)
		}
		return numbers
	})
}
