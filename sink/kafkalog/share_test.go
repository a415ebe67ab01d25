package kafkalog_test

import (
	"sync"
	"testing"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/sink/kafkalog"
)

// TestEarlierOwnersAreEnded: what a member has left open for a share of the partitions is
// ended by the one that has any of them next, whichever, and nothing else is.
func TestEarlierOwnersAreEnded(t *testing.T) {
	_, client := cluster(t)
	share := func(partitions ...int) kafkalog.Config {
		return kafkalog.Config{Client: client, Topics: topics, Name: "m", Share: partitions}
	}
	open := func(cfg kafkalog.Config) *kafkalog.Publication {
		t.Helper()
		p, err := kafkalog.Begin(t.Context(), cfg)
		fatal.If(t, err)
		ends := map[int]int64{}
		for _, i := range cfg.Share {
			ends[i] = 10
		}
		fatal.If(t, p.CommitOffsets(t.Context(), &broker.Member{Generation: -1}, "g", "rows", ends, ""))
		return p
	}
	create(t, client, "rows", 6, nil)
	for _, next := range [][]int{{2}, {4}, {2, 4}, {0, 4}} {
		left, other := open(share(2, 4)), open(share(5))
		fatal.If(t, kafkalog.EndOthers(t.Context(), share(next...)))
		if err := left.Commit(t.Context()); !broker.Fenced(err) {
			t.Errorf("the partitions 2 and 4 are committed when another member has %v: %v", next, err)
		}
		if err := other.Abort(t.Context()); err != nil {
			t.Errorf("partition 5 is disturbed when a member has %v: %v", next, err)
		}
	}
	if at, err := client.CommittedOffsets(t.Context(), "g", "rows", []int{2, 4}); err != nil || at[2] >= 0 || at[4] >= 0 {
		t.Errorf("the group stands at %v (%v), want nowhere", at, err)
	}
}

// TestEarlierOwnersOfPredictionsAreEnded: a member of a shared group that predicts ends what earlier
// owners of its partitions have left open, also from a time when one member had all, and nothing else.
func TestEarlierOwnersOfPredictionsAreEnded(t *testing.T) {
	_, client := cluster(t)
	create(t, client, "rows", 6, nil)
	open := func(id string) *broker.Writer {
		t.Helper()
		w, err := client.NewWriter(t.Context(), id)
		fatal.If(t, err)
		fatal.If(t, w.CommitOffsets(t.Context(), nil, "g", "rows", map[int]int64{2: 10}, ""))
		return w
	}
	for _, earlier := range []string{"pacsgp/score/g", "pacsgp/score/g/0", "pacsgp/score/g/2"} {
		left, other := open(earlier), open("pacsgp/score/g/5")
		fatal.If(t, kafkalog.PredictionsConfig{Client: client, Group: "g", Share: []int{2, 4}}.EndOthers(t.Context()))
		if err := left.End(t.Context()); !broker.Fenced(err) {
			t.Errorf("%s commits when another member has its partitions: %v", earlier, err)
		}
		if err := other.Abort(t.Context()); err != nil {
			t.Errorf("partition 5 is disturbed: %v", err)
		}
	}
}

// TestNumbersAreTakenOnce: of members that take numbers at the same time no two have the
// same, so that all they spend of δ adds up to δ at most.
func TestNumbersAreTakenOnce(t *testing.T) {
	_, client := cluster(t)
	const members, each = 4, 3
	sequence := kafkalog.Sequence{Client: client, Topics: topics, Name: "rows/g"}
	taken := make(chan int64, members*each)
	var all sync.WaitGroup
	for range members {
		all.Go(func() {
			for range each {
				k, err := sequence.TakeNumber(t.Context())
				if err != nil {
					t.Error(err)
				}
				taken <- k
			}
		})
	}
	all.Wait()
	close(taken)
	seen := map[int64]bool{}
	spent := 0.0
	for k := range taken {
		if k < 1 || seen[k] {
			t.Errorf("number %d is taken twice, or is none", k)
		}
		seen[k] = true
		spent += 1 / float64(k*(k+1))
	}
	if !(spent <= 1) {
		t.Errorf("they spend %v of delta", spent)
	}
}
