package main

import (
	"strings"
	"testing"
	"time"

	"github.com/pacsgp/pacsgp/pipeline"
)

// A run that takes longer, than its schedule gives it fails.
func TestLimitsOfARun(t *testing.T) {
	for limit, want := range map[string]string{"time: 1ns": "longer than the 1ns"} {
		dir := t.TempDir()
		smallLake(t, dir)
		s := onStage(t, writeSchedule(t, dir, tiny(nil).write(t, dir), "triggers: [{every: 1h}]", limit))
		s.at(t, someDay)
		if run := s.at(t, someDay.Add(time.Hour)); run == nil || run.State != pipeline.StateFailed || !strings.Contains(run.Fault, want) {
			t.Errorf("%s: %+v", limit, run)
		}
	}
}
