package kafkalog

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// soak asks for more rows: make nightly PART=3.
var soak = flag.Bool("soak", false, "spool ten million rows")

// memoryVariable makes this test binary spool a topic and tell the most memory that it
// had: "<broker>\n<folder>\n<topic>".
const memoryVariable = "PACSGP_SPOOL_MEMORY"

func spoolAndTell(order string) {
	part := strings.Split(order, "\n")
	client, err := broker.NewClient(broker.Config{Brokers: part[:1]})
	if err == nil {
		cfg := configIn(client, part[1])
		cfg.Topic, cfg.segmentRows = part[2], maxSegmentRows
		var w *Window
		if w, err = Spool(context.Background(), cfg); err == nil {
			fmt.Fprintln(os.Stdout, w.Rows())
		}
	}
	status, bad := os.ReadFile("/proc/self/status")
	if err != nil || bad != nil {
		fmt.Fprintln(os.Stderr, err, bad)
		os.Exit(1)
	}
	for line := range strings.Lines(string(status)) {
		if kilobytes, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			fmt.Fprintln(os.Stdout, strings.TrimSuffix(strings.TrimSpace(kilobytes), " kB"))
		}
	}
	os.Exit(0)
}

// mostMemory is what spooling one partition may take in all, in MiB; with an encoder of its
// own for each file it took 125 for a million rows and 281 for ten.
const mostMemory = 110

// TestMemoryIsFlat: the memory that spooling takes does not grow with the rows.
func TestMemoryIsFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("a million rows are spooled")
	}
	if runtime.GOOS != "linux" {
		t.Skip("the most memory that a process had is read from /proc")
	}
	counts := []int{100_000, 1_000_000}
	if *soak {
		counts = append(counts, 10_000_000)
	}
	c := newCluster(t, 1)
	p := c.producer(t, kgo.ProducerBatchCompression(kgo.NoCompression()))
	for _, n := range counts {
		topic := fmt.Sprint("rows", n)
		_, err := c.client.CreateTopic(t.Context(), topic, 1, 1, nil)
		fatal.If(t, err)
		for i := range n {
			p.Produce(t.Context(), &kgo.Record{Topic: topic, Value: fmt.Appendf(nil, `{"x":%d,"in":{"y":%d}}`, i, i)}, func(_ *kgo.Record, err error) {
				if err != nil {
					t.Error(err)
				}
			})
		}
		fatal.If(t, p.Flush(t.Context()))
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), memoryVariable+"="+strings.Join([]string{c.ListenAddrs()[0], filepath.Join(t.TempDir(), "spool"), topic}, "\n"))
		out, err := cmd.CombinedOutput()
		printed := strings.Fields(string(out))
		if err != nil || len(printed) != 2 || printed[0] != strconv.Itoa(n) {
			t.Fatalf("%d rows: %v: %s", n, err, out)
		}
		kilobytes, err := strconv.Atoi(printed[1])
		fatal.If(t, err)
		t.Logf("%d rows: %d MiB at most", n, kilobytes>>10)
		if kilobytes>>10 > mostMemory {
			t.Errorf("%d rows take %d MiB, want at most %d", n, kilobytes>>10, mostMemory)
		}
	}
}
