package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// serviceJob writes the job of a stream on the small topic, windows of 120 rows.
func serviceJob(t testing.TB, address, dir string, change jobFile) string {
	t.Helper()
	job := tiny(jobFile{
		"kafka": fmt.Sprintf("{brokers: [%q]}", address), "source": "{kafka: {topic: rows, group: trainers, rows: 120}, spool: {limit: 10MB}}",
		"features": "[x1, in.x2]", "publish": "{kafka: {name: small}}", "stream": "{retain: 2}",
	})
	maps.Copy(job, change)
	return job.write(t, dir)
}

// A runningService is the command in this process, until it is stopped.
type runningService struct {
	stop func()
	done chan struct{}
	err  error
	utterances
}

// utterances are what a service says.
type utterances struct {
	mu   sync.Mutex
	said bytes.Buffer
}

// Write keeps the text.
func (w *utterances) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.said.Write(text)
}

func (w *utterances) says() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.said.String()
}

// find waits until something is said, and returns the first part of it.
func (w *utterances) find(t testing.TB, pattern string) string {
	t.Helper()
	form, found := regexp.MustCompile(pattern), []string(nil)
	if !within(time.Minute, func() bool { found = form.FindStringSubmatch(w.says()); return found != nil }) {
		t.Fatalf("it does not say %q: %s", pattern, w.says())
	}
	return found[1]
}

// within waits until something is so, for as long, and reports whether it is.
func within(limit time.Duration, is func() bool) bool {
	for until := time.Now().Add(limit); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		if is() {
			return true
		}
	}
	return false
}

// startService makes the topics of a job that are not there, and starts its stream.
func startService(t testing.TB, job string) *runningService {
	t.Helper()
	succeed(t, "topics", "-c", job)
	return startCommand(t, "stream", "-c", job)
}

func startCommand(t testing.TB, args ...string) *runningService {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &runningService{stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.err = run(ctx, args, testSystem(r, r, plain()))
	}()
	t.Cleanup(func() { cancel(); <-r.done })
	return r
}

// end stops the service as a signal does. It has to end without an error.
func (r *runningService) end(t *testing.T) {
	t.Helper()
	r.stop()
	<-r.done
	if r.err != nil {
		t.Errorf("stopped, it says %v: %s", r.err, r.says())
	}
}

// certificates are all that a topic has for readers of committed records.
func certificates(t *testing.T, address, topic string) (all []certify.Certificate) {
	t.Helper()
	for _, r := range committedRecords(t, address, topic) {
		c, err := certify.Parse(r.Value)
		if err != nil {
			t.Fatalf("certificate at %d: %v", r.Offset, err)
		}
		all = append(all, c)
	}
	return all
}

// awaitCertificates waits until so many are published.
func awaitCertificates(t *testing.T, address string, n int, r *runningService) []certify.Certificate {
	t.Helper()
	for until := time.Now().Add(2 * time.Minute); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		if found := certificates(t, address, "pacsgp-certificates"); len(found) >= n {
			return found
		}
		select {
		case <-r.done:
			t.Fatalf("the stream ended: %v: %s", r.err, r.says())
		default:
		}
	}
	t.Fatalf("there are not enough certificates: %s", r.says())
	return nil
}

// onceEach checks that the certificates have every offset from the first one of each
// partition on exactly once, that their numbers are those of one sequence, none twice and
// later rows with larger ones, and that each follows from its evidence. It returns the
// number of offsets.
func onceEach(t *testing.T, group string, all []certify.Certificate) (rows int64) {
	t.Helper()
	type last struct{ end, number int64 }
	lasts := map[int64]last{} // by partition
	taken := map[int64]bool{}
	for i, c := range all {
		if err := certify.Recompute(c); err != nil {
			t.Errorf("certificate %d: %v", i, err)
		}
		s := c.Delta.Sequence
		if s == nil || !strings.HasSuffix(s.Name, "/"+group) || taken[s.Number] {
			t.Fatalf("certificate %d has the position %+v", i, s)
		}
		taken[s.Number] = true
		for _, g := range c.Sample.Segments {
			before := lasts[g.Partition]
			if g.First != before.end {
				t.Errorf("certificate %d: partition %d begins at %d, and was certified up to %d", i, g.Partition, g.First, before.end)
			}
			if s.Number < before.number {
				t.Errorf("certificate %d: number %d of partition %d comes behind %d", i, s.Number, g.Partition, before.number)
			}
			lasts[g.Partition] = last{g.End, s.Number}
		}
	}
	for _, l := range lasts {
		rows += l.end
	}
	return rows
}

// TestService: windows follow one another on a topic while rows arrive; every row is in one
// certificate; stopped, restarted in its spool and restarted on an empty disk, the stream
// goes on where it was, and no number is used twice. Each window begins with the model that
// is current, whether the stream was stopped, has lost its disk, or has both still; and training again
// takes that model.
func TestService(t *testing.T) {
	t.Parallel()
	c := smallTopic(t) // 180 rows
	address := c.ListenAddrs()[0]
	dir := t.TempDir()
	job := serviceJob(t, address, dir, nil)
	r := startService(t, job)
	awaitCertificates(t, address, 1, r)
	sendRows(t, address, 180, 180) // 360: three windows
	awaitCertificates(t, address, 3, r)
	sendRows(t, address, 360, 180) // 540: four, and 60 rows in the spool
	awaitCertificates(t, address, 4, r)
	r.find(t, "(of run 4): predictions") // its folder is moved behind that
	r.end(t)
	out := filepath.Join(dir, "out")
	if kept, err := filepath.Glob(filepath.Join(out, "certificate-*.json")); err != nil || len(kept) > 3 || len(kept) < 2 { // the last two, and what is current
		t.Errorf("%q is kept, %v", kept, err)
	}
	pacsgp(t, "inspect", filepath.Join(out, record(t, out).Certificate)).says(t, 0, `run 4 of "rows/trainers"`)
	pulled := filepath.Join(dir, "pulled")
	succeed(t, "pull", "small", "-o", pulled, "--kafka", job)

	r = startService(t, job)       // in its spool
	sendRows(t, address, 540, 180) // 720: six windows
	awaitCertificates(t, address, 6, r)
	r.end(t)
	fatal.If(t, os.RemoveAll(out))
	r = startService(t, job)       // on an empty disk
	sendRows(t, address, 720, 180) // 900: seven, and 60 rows
	all := awaitCertificates(t, address, 7, r)
	r.find(t, "(of run 7): predictions")
	r.end(t)
	rows := onceEach(t, "trainers", all)
	if len(all) != 7 || rows != 7*120 || all[6].Delta.Sequence.Number != 7 {
		t.Errorf("%d certificates of %d rows, the last with number %d; want 7 of 840", len(all), rows, all[6].Delta.Sequence.Number)
	}
	for i, c := range all {
		a := c.Publisher.Training.Parent
		if i == 0 && a != nil || i > 0 && (a == nil || len(a.Rows) != 3 || a.HasSeen(c.Sample.Segments)) || i > 0 && i < 4 && a.Model != all[i-1].Model.Digest { // later ones are not all certified
			t.Errorf("window %d begins with %+v, want the model of the one before", i+1, a)
		}
	}
	newest := artifactIn(t, dir, out)
	verify := []string{"verify", newest.model, newest.certificate, "--source", job, "--require", "draw"}
	pacsgp(t, verify...).says(t, 0, "were read again from the log", "VERIFIED")
	verify = append(verify, "--retrain")
	pacsgp(t, verify...).says(t, exitNotCertified, "give its file too")
	parent := all[6].Publisher.Training.Parent.Model
	pacsgp(t, append(verify, "--parent", filepath.Join(out, "model-"+parent+".parquet"))...).says(t, 0, "trained again on the training rows alone")
	// What is current is what the topics say, and another process shows the last certificate at once.
	fatal.If(t, os.RemoveAll(pulled))
	succeed(t, "pull", "small", "-o", pulled, "--kafka", job)
	if _, err := os.Stat(filepath.Join(pulled, "certificate-"+current(t, out).ID+".json")); err != nil {
		t.Errorf("current is %+v: %v", current(t, out), err)
	}
	m := newMetrics(func() int64 { return 0 }, 1)
	fatal.If(t, m.showLast(t.Context(), config.OutputIn(out, nil)))
	if shown := m.shown(t)["pacsgp_certificate_number"]; shown != 7 {
		t.Errorf("the last certificate is not shown: %v", shown)
	}
}

// TestServiceStopsAtOnce: a stop is no error at any moment, the first one included.
func TestServiceStopsAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := &utterances{}
	if err := run(ctx, []string{"stream", "-c", serviceJob(t, "127.0.0.1:1", t.TempDir(), nil)}, testSystem(w, w, plain())); err != nil {
		t.Errorf("stopped before it began, it says %v", err)
	}
}

// TestPublishingReadsNoHistory: the topic of certificates keeps all of them for ever, so that a
// stream must not read it for each window.
func TestPublishingReadsNoHistory(t *testing.T) {
	t.Parallel()
	c := smallTopic(t)
	address := c.ListenAddrs()[0]
	sendRows(t, address, 180, 180) // three windows
	var reads atomic.Int64
	c.ControlKey(kmsg.Fetch.Int16(), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		for _, topic := range r.(*kmsg.FetchRequest).Topics {
			if topic.Topic == "pacsgp-certificates" { // others than this program name the topic by its id
				reads.Add(1)
			}
		}
		return nil, nil, false
	})
	job := serviceJob(t, address, t.TempDir(), nil)
	r := startService(t, job)
	awaitCertificates(t, address, 3, r)
	r.end(t)
	if n := reads.Load(); n > 0 {
		t.Errorf("certificates were read %d times for three windows", n)
	}
	succeed(t, "pull", "small", "-o", t.TempDir(), "--kafka", job)
	if reads.Load() == 0 {
		t.Error("that a certificate is read is not seen")
	}
}

// TestStreamThatDrifts: rows in an order, as of a source that drifts, are no independent ones. Their
// window is published all the same; its certificate and the log say what speaks against it.
func TestStreamThatDrifts(t *testing.T) {
	t.Parallel()
	address := cluster(t, kfake.SeedTopics(3, "rows")).ListenAddrs()[0]
	var records []*kgo.Record
	for i := range 120 {
		records = append(records, &kgo.Record{Topic: "rows", Partition: int32(i % 3), Value: fmt.Appendf(nil, `{"x1":%d,"in":{"x2":%d},"y":%d}`, i%29, i%31, i)})
	}
	send(t, address, records...)
	job := serviceJob(t, address, t.TempDir(), jobFile{"loss": "{epsilon: 40}"})
	r := startService(t, job)
	c := awaitCertificates(t, address, 1, r)[0]
	r.find(t, "(neighbouring rows are more alike)")
	r.end(t)
	next, _ := c.Dependence.Correlation(1)
	if !c.Warned(certify.WarnDependence) || !(next > 0.8) || c.Assumptions[0].ID != certify.AssumeIndependentRows {
		t.Errorf("neighbouring rows are %+v, and %+v", c.Dependence, c.Assumptions[0])
	}
}

// TestStreamThatHasLostRows: a stream whose next rows are gone by retention ends and says how to go on
// behind them, which works.
func TestStreamThatHasLostRows(t *testing.T) {
	t.Parallel()
	address := cluster(t, kfake.SeedTopics(3, "rows")).ListenAddrs()[0]
	sendRows(t, address, 0, 150)
	job := serviceJob(t, address, t.TempDir(), jobFile{})
	r := startService(t, job)
	awaitCertificates(t, address, 1, r)
	r.end(t)
	sendRows(t, address, 150, 150)
	forget(t, address, "rows", 1, 70)
	r = startService(t, job)
	<-r.done
	if r.err == nil {
		t.Fatal("it has not ended")
	}
	hint := regexp.MustCompile(`--group ([a-z]+) --topic rows:1 --reset-offsets --to-offset 70 --execute(?:; remove the spool ([^ ,]+),)?`).FindStringSubmatch(r.err.Error())
	if hint == nil {
		t.Fatalf("it says %v", r.err)
	}
	if hint[2] != "" {
		fatal.If(t, os.RemoveAll(hint[2]))
	}
	w, err := own(t, address).NewWriter(t.Context(), "")
	fatal.If(t, err)
	fatal.If(t, w.CommitOffsets(t.Context(), &broker.Member{Generation: -1}, hint[1], "rows", map[int]int64{1: 70}, ""))
	r = startService(t, job)
	all := awaitCertificates(t, address, 2, r)
	r.end(t)
	if g := all[1].Sample.Segments; !slices.ContainsFunc(g, func(s certify.Segment) bool { return s.Partition == 1 && s.First == 70 }) {
		t.Errorf("the second window has %+v", g)
	}
}

// TestStreamOutlivesItsBroker: the broker is killed while windows are spooled, trained and
// published, is away for some seconds (with -soak for a minute), and comes back: the stream
// goes on by itself, and every row is in one certificate.
func TestStreamOutlivesItsBroker(t *testing.T) {
	t.Parallel()
	s, _ := apache.Lend(t)
	createTopic(t, s.Address, "rows", 3)
	job := serviceJob(t, s.Address, t.TempDir(), jobFile{"stream": "{session_timeout: 2s}"})
	sendRows(t, s.Address, 0, 180)
	r := startService(t, job)
	awaitCertificates(t, s.Address, 1, r)
	times, away := int64(1), 3*time.Second
	if *soak {
		times, away = 3, time.Minute
	}
	for i := range times {
		sendRows(t, s.Address, 180*(2*i+1), 180)
		sendRows(t, s.Address, 180*(2*i+2), 180) // three windows, of which some are not published yet
		s.Kill(t)
		time.Sleep(away)
		s.Run(t)
		awaitCertificates(t, s.Address, int(4+3*i), r)
	}
	r.end(t)
	all := certificates(t, s.Address, "pacsgp-certificates")
	rows := onceEach(t, "trainers", all)
	if want := 1 + 3*times; int64(len(all)) != want || rows != 120*want {
		t.Errorf("%d certificates of %d rows, want %d of %d", len(all), rows, want, 120*want)
	}
}
