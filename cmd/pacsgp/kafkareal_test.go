package main

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
)

// committed counts the records of a topic that readers of committed ones see.
func committed(t *testing.T, c *kfake.Cluster, topic string) int {
	t.Helper()
	return len(committedRecords(t, c.ListenAddrs()[0], topic))
}
