package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/pacsgp/pacsgp/internal/serving/servingtest"
)

// TestBrokersAway: a member of a group says within half a minute that its brokers are away: it is
// not ready, and old lags and partitions are shown no longer. It still lives, and shows both again
// when brokers answer.
func TestBrokersAway(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T, c *kfake.Cluster) *runningService{
		"stream": func(t *testing.T, c *kfake.Cluster) *runningService {
			job := serviceJob(t, c.ListenAddrs()[0], t.TempDir(), jobFile{"serve": "{listen: 127.0.0.1:0}"})
			succeed(t, "topics", "-c", job)
			return startService(t, "-c", job)
		},
		"score": func(t *testing.T, c *kfake.Cluster) *runningService {
			s := topicOf(t, c.ListenAddrs()[0], 60, "serve: {listen: '127.0.0.1:0'}\n")
			return startCommand(t, "score", "-c", s.score)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := smallTopic(t)
			r := start(t, c)
			at := r.find(t, `metrics at (127\.0\.0\.1:[0-9]+)`)
			shown := func() (ready int, why string, lag, partitions, failed bool) {
				ready, why = servingtest.Get(t, "http://"+at+"/readyz")
				found := scrape(t, at)
				_, lag = found["pacsgp_group_lag_offsets"]
				_, partitions = found["pacsgp_member_partitions"]
				return ready, why, lag, partitions, found["pacsgp_group_poll_errors_total"] > 0
			}
			await := func(what string, is func() bool) {
				t.Helper()
				for until := time.Now().Add(30 * time.Second); !is(); time.Sleep(50 * time.Millisecond) {
					if time.Now().After(until) {
						t.Fatalf("%s: %s", what, r.says())
					}
				}
			}
			await("it works", func() bool {
				ready, _, lag, partitions, failed := shown()
				return ready == http.StatusOK && lag && partitions && !failed
			})
			c.Close()
			await("brokers are away", func() bool {
				ready, why, lag, partitions, failed := shown()
				return ready == http.StatusServiceUnavailable && strings.Contains(why, "the brokers do not answer: ") && !lag && !partitions && failed
			})
			if alive, _ := servingtest.Get(t, "http://"+at+"/livez"); alive != http.StatusOK {
				t.Errorf("/livez answers %d", alive)
			}
			r.end(t)
		})
	}
}

// What was withdrawn comes back with an answer, and a partition that is new counts for the member that
// has them all.
func TestGroupMetricsComeBack(t *testing.T) {
	t.Parallel()
	m := newMetrics(func() int64 { return 0 }, 1)
	m.group.membership(true, 1)
	m.group.behind(nil, io.ErrUnexpectedEOF)
	if err := m.group.ready(); err == nil {
		t.Error("it is ready without an answer")
	}
	m.group.behind(map[int]int64{0: 2, 1: 5}, nil)
	families, err := m.registry.Gather()
	if err != nil || m.group.ready() != nil {
		t.Fatal(err, m.group.ready())
	}
	shown := map[string]float64{}
	for _, f := range families {
		for _, one := range f.GetMetric() {
			shown[f.GetName()] += one.GetGauge().GetValue()
		}
	}
	if shown["pacsgp_group_lag_offsets"] != 7 || shown["pacsgp_member_partitions"] != 2 {
		t.Errorf("it shows %v", shown)
	}
}
