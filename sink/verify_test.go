package sink_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"os"
	"slices"
	"testing"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/sink"
)

// priorRows reports which rows of a certificate's sample are prior rows.
func priorRows(c certify.Certificate) map[int]bool {
	type rank struct {
		hash    uint64
		ordinal int
	}
	ranks := make([]rank, c.Counts.Rows)
	for i := range ranks {
		sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte("pacsgp/roles/1\x00"+job.DefaultKey+"\x00"), uint64(i)))
		ranks[i] = rank{binary.BigEndian.Uint64(sum[:8]), i}
	}
	slices.SortFunc(ranks, func(a, b rank) int { return cmp.Or(cmp.Compare(a.hash, b.hash), a.ordinal-b.ordinal) })
	prior := make(map[int]bool)
	for _, r := range ranks[:c.Counts.Prior] {
		prior[r.ordinal] = true
	}
	return prior
}

// goVerifies checks the model, the certificate and the data that the verifier's arguments name with this
// program.
func goVerifies(t testing.TB, args []string) error {
	t.Helper()
	document, err := os.ReadFile(args[2])
	fatal.If(t, err)
	c, err := certify.Parse(document)
	if err != nil {
		return err
	}
	bytes, err := os.ReadFile(args[1])
	fatal.If(t, err)
	m, err := sink.DecodeModel(bytes)
	if err != nil {
		return err
	}
	open := func(ctx context.Context, want dataset.Choice) (dataset.Source, error) {
		return lake.Open(ctx, lake.Config{Paths: args[3:], Choice: want})
	}
	_, err = pipeline.Verify(t.Context(), c, m, digest.Of(bytes), open, job.Resources{})
	return err
}
