package sink_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/sink/verifytest"
)

// Both programs charge for looks alike, and say the same beside the hold-out rows.
func TestPythonPaysForLooks(t *testing.T) {
	verifytest.Need(t)
	p := publish(t, withHoldout)
	var calls [][]string
	var all []certify.Certificate
	for _, looks := range []*certify.Looks{nil, {Uncounted: true}, {Earlier: []int64{170}}, {Earlier: []int64{170, 2, 1 << 30}}, {Earlier: []int64{170}, Swapped: true}} {
		ev, err := p.result.Certificate.Evidence()
		fatal.If(t, err)
		ev.Delta.Looks = looks
		c, err := certify.Certify(ev)
		fatal.If(t, err)
		document, err := certify.Marshal(c)
		fatal.If(t, err)
		path := filepath.Join(t.TempDir(), "certificate.json")
		writeFile(t, path, document)
		all, calls = append(all, c), append(calls, []string{"verify", p.model, path})
	}
	for i, r := range verifytest.Verify(t, calls) {
		if !strings.Contains(r.Out, all[i].Split()) || strings.Contains(r.Out, "REFUSED") {
			t.Errorf("looks %+v: status %d, and not %q:\n%s", all[i].Delta.Looks, r.Status, all[i].Split(), r.Out)
		}
	}
}
