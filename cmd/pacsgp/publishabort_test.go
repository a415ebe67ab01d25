package main

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestFailedPublicationsLeaveNothingOpen: whichever request of a publication fails for good, its
// transaction is aborted, so that readers of committed records are not blocked.
func TestFailedPublicationsLeaveNothingOpen(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		key   kmsg.Key
		topic string // "": all
		count int    // of the requests that fail; −1: all
		with  *kerr.Error
	}{
		{kmsg.AddPartitionsToTxn, "", -1, kerr.RequestTimedOut}, // it may be done
		{kmsg.Produce, "pacsgp-current", -1, kerr.PolicyViolation},
		{kmsg.TxnOffsetCommit, "", -1, kerr.PolicyViolation},
		{kmsg.EndTxn, "", 1, kerr.PolicyViolation},
	} {
		t.Run(fmt.Sprintf("%s %s %s", k.key.Name(), k.topic, k.with.Message), func(t *testing.T) {
			c := smallTopic(t)
			address := c.ListenAddrs()[0]
			job := fromTopic(c, jobFile{
				"kafka": fmt.Sprintf("{brokers: [%q], patience: 1s}", address), "source": "{kafka: {topic: rows, group: trainers}}",
				"publish": "{kafka: {name: small}}",
			}).write(t, t.TempDir())
			succeed(t, "topics", "-c", job)
			fault := c.Fault(kfake.Fault{Keys: []kmsg.Key{k.key}, Topic: k.topic, Err: k.with, Count: k.count})
			aborts := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.EndTxn}, Observe: true, Count: -1, When: func(r kmsg.Request) bool {
				return !r.(*kmsg.EndTxnRequest).Commit
			}})
			pacsgp(t, "train", "-c", job).says(t, exitFailure, fmt.Sprintf("[%d]", k.with.Code))
			if fault.Hits() == 0 || aborts.Hits() == 0 {
				t.Errorf("%d requests failed, %d aborts", fault.Hits(), aborts.Hits())
			}
			if open := openTransactions(t, address); len(open) > 0 {
				t.Errorf("%q are open", open)
			}
			fault.Remove()
			succeed(t, "train", "-c", job)
			if n := committed(t, c, "pacsgp-current"); n != 1 {
				t.Errorf("run again, it leaves %d pointers, want 1", n)
			}
		})
	}
}

// openTransactions are the ids of those that a cluster has open.
func openTransactions(t *testing.T, address string) (ids []string) {
	t.Helper()
	r := kmsg.NewPtrListTransactionsRequest()
	r.StateFilters = []string{"Ongoing"}
	answer, err := r.RequestWith(t.Context(), foreign(t, address))
	if err != nil || answer.ErrorCode != 0 {
		t.Fatalf("%+v: %v", answer, err)
	}
	for _, s := range answer.TransactionStates {
		ids = append(ids, s.TransactionalID)
	}
	return ids
}
