package pipeline_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// targetsDigest is the digest of the multiset of values, added up in parts.
func targetsDigest(parts ...[]float64) job.Digest {
	var sum dataset.Multiset
	for _, part := range parts {
		var m dataset.Multiset
		m.Add(part)
		sum.Merge(m)
	}
	return sum.Digest()
}

func TestTargetsDigestVectors(t *testing.T) {
	for _, v := range vectors(t, "targets.csv") {
		var values []float64
		for text := range strings.FieldsSeq(v[1]) {
			x, err := strconv.ParseFloat(text, 64)
			fatal.If(t, err)
			values = append(values, x)
		}
		if got := targetsDigest(values).String(); got != v[0] {
			t.Errorf("digest of %.60q is %s, want %s", v[1], got, v[0])
		}
	}
}

// Order, parts and the sign of zero change nothing; a value more or less, twice
// or by one bit does.
func TestTargetsDigestKnowsTheMultisetOnly(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	values := make([]float64, 200)
	for i := range values {
		values[i] = math.Round(20 * rng.NormFloat64()) // with values that occur twice, and zeros
	}
	want := targetsDigest(values)
	for range 20 {
		mixed := slices.Clone(values)
		rng.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		for i, v := range mixed {
			if v == 0 && rng.IntN(2) == 0 {
				mixed[i] = math.Copysign(0, -1)
			}
		}
		cut := rng.IntN(len(mixed))
		if got := targetsDigest(mixed[cut:], nil, mixed[:cut]); got != want {
			t.Fatalf("shuffled and cut at %d: %s, want %s", cut, got, want)
		}
	}
	changed := slices.Clone(values)
	changed[7] = math.Nextafter(changed[7], math.Inf(1))
	twice := slices.Clone(values)
	twice[0] = twice[slices.IndexFunc(twice, func(v float64) bool { return v != twice[0] })]
	for name, other := range map[string][]float64{
		"a value less": values[1:], "a value more": append(slices.Clone(values), 0), "one bit": changed, "a value twice": twice, "all twice": append(slices.Clone(values), values...),
	} {
		if targetsDigest(other) == want {
			t.Errorf("%s: the same digest", name)
		}
	}
}
