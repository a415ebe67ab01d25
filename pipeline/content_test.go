package pipeline_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

func byContent(j *pipeline.Job) {
	tiny(j)
	j.Guarantees = nil
	j.Roles = pipeline.RolesDecl{By: pipeline.RolesByContent, Holdout: 0.3}
}

// Roles by content follow from the hash of a row's features: rows of equal ones have one role, wherever
// they stand, whatever the workers, their targets and a column that the job leaves out. The
// certificate verifies, and speaks of fresh rows with the role.
func TestRolesByContent(t *testing.T) {
	columns := repeated(400, 3, 0.3, 61)
	columns[1][0] = math.Copysign(0, -1)
	var held, reference int64
	for i := range columns[0] {
		text := []byte("pacsgp/roles/features/1\x00pacsgp\x00")
		for _, column := range columns[:2] {
			text = binary.LittleEndian.AppendUint64(text, math.Float64bits(column[i]+0))
		}
		sum := sha256.Sum256(text)
		switch share := float64(binary.BigEndian.Uint64(sum[:8])) / 0x1p64; {
		case share >= 0.7:
			held++
		case share < 120./1200:
			reference++
		}
	}
	var first []byte
	for _, res := range []pipeline.Resources{{}, {Workers: 3, Memory: 1, Temporary: t.TempDir()}} {
		var store pipelinetest.Store
		env := newLake(columns, 500, 700).environment(&store)
		env.Resources = res
		run(t, job(t, byContent), env)
		if first == nil {
			first = store.Certificates[0]
		}
		if !bytes.Equal(first, store.Certificates[0]) {
			t.Error("other workers, another certificate")
		}
	}
	p := publish(t, newLake(columns, 500, 700), byContent)
	if l := p.certificate.Ledger; l.Reference != reference || l.Holdout != held || l.Copies != 0 || l.Reference+l.Holdout+l.Train != 1200 {
		t.Errorf("ledger %+v, want %d reference and %d hold-out rows of 1200", l, reference, held)
	}
	if v, err := p.verify(t, p.certificate, p.result.Model, p.result.ModelDigest, p.lake); err != nil || !v.Evidence {
		t.Errorf("Verify: %v", err)
	}
	if want := fmt.Sprintf("as %d of 1200 rows here, or with the hold-out role, as %d, and says nothing of the others", 1200-held-reference, held); !strings.Contains(fmt.Sprint(p.certificate.Doubts()), want) {
		t.Errorf("doubts %q, want %q", p.certificate.Doubts(), want)
	}
	for _, g := range p.certificate.Guarantees {
		role := map[certify.Role]string{certify.RoleTrain: "whose features have the train role", certify.RoleHoldout: "whose features have the hold-out role"}[g.Role]
		if !strings.Contains(g.Headline, "fresh rows "+role) && g.Status != certify.StatusVacuous || g.Status != certify.StatusVacuous && !strings.Contains(g.Statement, "satisfies the row rules and "+role) {
			t.Errorf("%s: %s; %s", g.ID, g.Headline, g.Statement)
		}
	}
	other := slices.Clone(columns)
	other[2] = slices.Clone(columns[2])
	slices.Reverse(other[2])
	if got := publish(t, newLake(other, 1200), byContent).certificate.Ledger; got != p.certificate.Ledger {
		t.Errorf("with other targets the ledger is %+v, want %+v", got, p.certificate.Ledger)
	}
	l := newLake(append([][]float64{make([]float64, 1200)}, columns...), 1200)
	l.names = []string{"none", "a", "b", "y"}
	if _, err := pipeline.Run(t.Context(), job(t, byContent), l.environment(&pipelinetest.Store{})); !errors.Is(err, pipeline.ErrData) || !strings.Contains(err.Error(), `"none"`) {
		t.Errorf("a column of one value: %v", err)
	}
}

// One vector of features that most rows have, with one of two targets: they are all train rows or all
// hold-out rows, whatever their targets, so that no bound is about some of them alone; and a doubt says how much of
// the sample they are.
func TestFrequentFeaturesRaiseADoubt(t *testing.T) {
	columns := waves(1000, 0.2, 63)
	for i := range 600 {
		columns[0][i], columns[1][i], columns[2][i] = 0.3, 0.3, float64(i%2)
	}
	said := map[string]bool{}
	for key := range 40 {
		p := publish(t, newLake(columns, 1000), func(j *pipeline.Job) {
			byContent(j)
			j.Roles.Key, j.Train.Passes = fmt.Sprint("key ", key), 1
		})
		l, doubts := p.certificate.Ledger, fmt.Sprint(p.certificate.Doubts())
		want := "600 of "
		if l.Holdout > 500 {
			want = "place of a share of 0.3"
		}
		if said[want] = true; !strings.Contains(doubts, want) || l.Holdout > 500 && l.Holdout < 600 || l.Holdout <= 500 && p.certificate.Copies.Frequent != 600 {
			t.Errorf("key %d: %+v, %+v, doubts %s", key, l, p.certificate.Copies, doubts)
		}
		if len(said) == 2 {
			return
		}
	}
	t.Errorf("all keys gave the rows one role: %v", said)
}

// The last rows are hold-out rows whatever the key is, stay so as few others do when rows come.
func TestLastRowsAreHeldOut(t *testing.T) {
	last := func(key string) func(j *pipeline.Job) {
		return func(j *pipeline.Job) {
			tiny(j)
			j.Guarantees = nil
			j.Roles = pipeline.RolesDecl{Key: key, Holdout: 0.25, Last: true}
		}
	}
	columns := waves(402, 0.3, 62)
	for i := 302; i < 402; i++ {
		columns[2][i] += 1000
	}
	var missed [2]float64
	for k, key := range []string{"a", "b"} {
		p := publish(t, newLake(columns, 400, 2), last(key))
		g, _ := p.certificate.Guarantee(certify.GuaranteeHoldout)
		if missed[k] = g.EmpiricalRisk.Upper; g.N != 100 || missed[k] != 1 || p.certificate.SplitChosen() || !strings.Contains(p.certificate.Split(), "the last ones") {
			t.Errorf("key %s: %d hold-out rows, of which %v are missed; %s", key, g.N, missed[k], p.certificate.Split())
		}
		v, err := p.verify(t, p.certificate, p.result.Model, p.result.ModelDigest, p.lake)
		if err != nil || !v.Evidence {
			t.Fatalf("Verify: %v", err)
		}
		f := forge(t, p.certificate, func(ev *certify.Evidence) { ev.Roles.Last = false })
		if _, err := p.verify(t, f, p.result.Model, p.result.ModelDigest, nil); !errors.Is(err, pipeline.ErrRefused) {
			t.Errorf("said to be by the key: %v", err)
		}
	}
}

// What does not go together is a bad job.
func TestRolesThatContradict(t *testing.T) {
	for want, change := range map[string]func(j *pipeline.Job){
		"copies":                    func(j *pipeline.Job) { j.Roles.By, j.Copies.Policy = pipeline.RolesByContent, pipeline.CopiesDropped },
		"roles.reference":           func(j *pipeline.Job) { j.Roles.By, j.Roles.Reference = pipeline.RolesByContent, 50 },
		"not the last ones":         func(j *pipeline.Job) { j.Roles.By, j.Roles.Last, j.Roles.Holdout = pipeline.RolesByContent, true, 0.1 },
		"how many of the last rows": func(j *pipeline.Job) { j.Roles.Last = true },
	} {
		j := pipeline.Job{Target: "y", Delta: 0.1, Loss: pipeline.LossDecl{Epsilon: 1}}
		change(&j)
		if _, err := j.WithDefaults(); !errors.Is(err, pipeline.ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Roles that follow from the values of rows are not told without them.
func TestSplitReadsNoRow(t *testing.T) {
	for _, change := range []func(*pipeline.Job){byContent, func(j *pipeline.Job) {
		withHoldout(0.2)(j)
		j.Copies = pipeline.CopiesDecl{Policy: pipeline.CopiesDropped}
	}} {
		j := job(t, change)
		src, err := newLake(waves(400, 0.2, 4), 400).environment(&pipelinetest.Store{}).Open(t.Context(), nil)
		fatal.If(t, err)
		if err := j.Split(t.Context(), src, pipeline.Resources{}, func(pipeline.PlacedRole) error { return nil }); !errors.Is(err, pipeline.ErrConfig) {
			t.Errorf("roles by %q, copies %s: %v", j.Roles.By, j.Copies.Policy, err)
		}
	}
}
