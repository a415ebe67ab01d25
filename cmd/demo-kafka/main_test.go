package main

import (
	"bytes"
	"strings"
	"testing"
)

// The demo trains on rows of a topic, publishes to topics, and verifies what it has pulled.
func TestDemo(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("trains on 20,000 rows")
	}
	var stdout, stderr bytes.Buffer
	if err := demo(t.Context(), t.TempDir(), &stdout, &stderr); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	for _, want := range []string{"20000 rows in the topic demo-rows", "off by more than", "VERIFIED"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("the demo did not print %q:\n%s", want, stdout.String())
		}
	}
}
