package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/sink/verifytest"
)

// asBefore writes a document without hold-out rows in the format before, which states neither findings
// nor sums of what is alike, with a correlation of 0.
func asBefore(document string) string {
	for _, change := range [][2]string{
		{`pacsgp-certificate/3`, `pacsgp-certificate/2`},
		{`(?s),\n    "measured": \{.*?\n    \}\n  \}`, "\n  }"},
		{`(?s)  "findings": \{.*?\n  \},\n`, ``},
		{`"correlation": [-0-9.e]+,\n    "suspicious": \w+`, "\"correlation\": 0,\n    \"suspicious\": false"},
		{`consecutive rows is -?[0-9.]+ over (\d+) pairs\..*? Of (\d+) rows`, `consecutive rows is 0.000 over $1 pairs. Of $2 rows`},
		{`("bound_pinsker": [-0-9.e]+)`, "$1,\n      \"lower_bound\": 0"},
	} {
		document = regexp.MustCompile(change[0]).ReplaceAllString(document, change[1])
	}
	n := regexp.MustCompile(`"n": (\d+)`).FindStringSubmatch(document)[1]
	lower := fmt.Sprintf("\n      \"lower_risk\": {\n        \"exact\": {\n          \"count\": %s,\n          \"sum\": \"%032d\"\n        },\n        \"lower\": 0\n      },\n      \"unproven\"", n, 0)
	return strings.ReplaceAll(document, "\n      \"unproven\"", lower)
}

// Whoever writes a certificate in the format before hides nothing of what the rows show: with them both
// verifiers have the doubts that they have of today's, and without them say that they do not know.
func TestFormatBeforeHidesNoDoubt(t *testing.T) {
	t.Parallel()
	verifytest.Need(t)
	dir := t.TempDir()
	const n = 1200
	rng := rand.New(rand.NewPCG(63, 64))
	time, walk := make([]float64, n), make([]float64, n)
	for i := range n {
		time[i], walk[i] = float64(i), walk[max(0, i-1)]+rng.NormFloat64()
	}
	table{"x": time, "y": walk}.write(t, lakeFile(dir, 0))
	a := retrained(t, dir, jobFile{"guarantees": "[pac-bayes]", "loss": "{epsilon: 8}"})
	forged := filepath.Join(t.TempDir(), "before.json")
	writeFile(t, forged, []byte(asBefore(string(readFile(t, a.certificate)))))
	of := func(args ...string) (doubts []string) {
		var mine verdictDocument
		fatal.If(t, json.Unmarshal([]byte(pacsgp(t, append([]string{"verify", "--json"}, args...)...).stdout), &mine))
		other := verifytest.Verify(t, [][]string{append([]string{"verify"}, args...)})[0]
		if !slices.Equal(mine.Doubts, other.Doubts) || len(mine.Doubts) == 0 {
			t.Errorf("%q: the doubts are %q, and %q in Python: %s", args, mine.Doubts, other.Doubts, other.Out)
		}
		return mine.Doubts
	}
	if now, before := of(a.model, a.certificate, a.lake), of(a.model, forged, a.lake); !slices.Equal(now, before) || len(now) < 2 {
		t.Errorf("the doubts are %q, and in the format before %q", now, before)
	}
	if unseen := of(a.model, forged); len(unseen) != 1 || !strings.Contains(unseen[0], "pacsgp-certificate/2") {
		t.Errorf("without rows the doubts are %q", unseen)
	}
	if said := pacsgp(t, "inspect", forged); said.status != 0 || !strings.Contains(strings.Join(strings.Fields(said.stdout), " "), "which does not say whether its rows are") {
		t.Errorf("inspect: %d, %s", said.status, said.stdout)
	}
}
