package kafkalog

import (
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/pipelinetest"
)

func TestSource(t *testing.T) {
	c := newCluster(t, 2)
	fill(t, c.producer(t), 500, 2)
	w, err := Spool(t.Context(), c.config(t))
	fatal.If(t, err)
	pipelinetest.TestSource(t, func(t *testing.T) dataset.Source {
		t.Helper()
		src, err := w.Open(t.Context(), dataset.Choice{Features: []string{"x"}, Target: "in.y"})
		fatal.If(t, err)
		return src
	})
}
