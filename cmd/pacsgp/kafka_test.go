package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/ingest/synth"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// smallTopic produces the rows of [smallLake] to three partitions of a topic and
// returns the cluster.
func smallTopic(t *testing.T) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, "rows"), kfake.BrokerConfigs(map[string]string{"group.min.session.timeout.ms": "100"}))
	fatal.If(t, err)
	t.Cleanup(c.Close)
	fillTopic(t, c.ListenAddrs()[0], 0)
	return c
}

// fillTopic produces 180 rows, from this one of the generator on.
func fillTopic(t *testing.T, address string, first int64) {
	t.Helper()
	sendRows(t, address, first, 180)
}

// sendRows produces so many rows to the three partitions in turns.
func sendRows(t *testing.T, address string, first, n int64) {
	t.Helper()
	p, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	fatal.If(t, err)
	defer p.Close()
	fatal.If(t, p.ProduceSync(t.Context(), recordsOf(t, first, n)...).FirstErr())
}

// recordsOf are the records of rows, for the three partitions in turns.
func recordsOf(t *testing.T, first, n int64) (records []*kgo.Record) {
	t.Helper()
	g, err := synth.New(synth.Config{Seed: smallSeed, Noise: 0.1, Features: 2})
	fatal.If(t, err)
	rows := g.Rows(first, int(n))
	for i := range rows[0] {
		records = append(records, &kgo.Record{Topic: "rows", Partition: int32(i % 3), Value: fmt.Appendf(nil, `{"x1":%v,"in":{"x2":%v},"y":%v}`, rows[0][i], rows[1][i], rows[2][i])})
	}
	return records
}

func fromTopic(c *kfake.Cluster, change jobFile) jobFile {
	job := tiny(jobFile{
		"source":   fmt.Sprintf("{kafka: {brokers: [%q], topic: rows, spool: {folder: spool, keep: true}}}", c.ListenAddrs()[0]),
		"features": "[x1, in.x2]",
	})
	maps.Copy(job, change)
	return job
}

// TestTopic: a job on a topic gives a certificate that names the segments, which is
// verified by replaying them, and against the spool as a lake; the spool as the lake of a
// job gives the same model and the same bound; a second run gives the same bytes.
func TestTopic(t *testing.T) {
	c := smallTopic(t)
	dir := t.TempDir()
	job := fromTopic(c, nil).write(t, dir)
	succeed(t, "train", "-c", job)
	out := filepath.Join(dir, "out")
	r := record(t, out)
	model, certificate := filepath.Join(out, r.Model), filepath.Join(out, r.Certificate)
	doc, err := certify.Parse(readFile(t, certificate))
	fatal.If(t, err)
	if g := doc.Sample.Segments; len(g) != 3 || g[1] != (certify.Segment{Topic: "rows", Partition: 1, First: 0, End: 60, Rows: 60}) {
		t.Errorf("segments %+v", g)
	}
	pacsgp(t, "verify", model, certificate, "--source", job, "--judge", "draw").says(t, 0, "were read again from the log", "verified: ")
	pacsgp(t, "verify", model, certificate, filepath.Join(dir, "spool"), "--judge", "draw").says(t, 0, "NOT CHECKED: that the rows are of the topic", "verified, but for the topic")
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	fromLog, fromSpool := filepath.Join(dir, "topic.parquet"), filepath.Join(dir, "lake.parquet")
	succeed(t, "predict", model, certificate, "--source", job, "-o", fromLog)
	succeed(t, "predict", model, certificate, filepath.Join(dir, "spool"), "-o", fromSpool)
	if string(readFile(t, fromLog)) != string(readFile(t, fromSpool)) {
		t.Error("predictions of the topic are not those of its spool")
	}
	if left := names(t, temporary); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}

	again := t.TempDir()
	succeed(t, "train", "-c", fromTopic(c, nil).write(t, again))
	if r2 := record(t, filepath.Join(again, "out")); r2.Certificate != r.Certificate || r2.Model != r.Model {
		t.Errorf("a second run gave %s and %s, want %s and %s", r2.Certificate, r2.Model, r.Certificate, r.Model)
	}

	other := t.TempDir()
	succeed(t, "train", "-c", fromTopic(c, jobFile{"source": fmt.Sprintf("{paths: [%q]}", filepath.Join(dir, "spool"))}).write(t, other))
	r3 := record(t, filepath.Join(other, "out"))
	if r3.Model != r.Model || r3.Bound != r.Bound {
		t.Errorf("the spool as a lake gave %s with the bound %v, want %s with %v", r3.Model, r3.Bound, r.Model, r.Bound)
	}
}

// TestForgedSegments: segments that are not those of the rows are refused by a replay.
func TestForgedSegments(t *testing.T) {
	c := smallTopic(t)
	dir := t.TempDir()
	job := fromTopic(c, nil).write(t, dir)
	succeed(t, "train", "-c", job)
	out := filepath.Join(dir, "out")
	r := record(t, out)
	text := string(readFile(t, filepath.Join(out, r.Certificate)))
	forged := strings.NewReplacer(`"partition": 1,`, `"partition": 2,`, `"partition": 2,`, `"partition": 1,`).Replace(text)
	if forged == text {
		t.Fatal("nothing was forged")
	}
	path := filepath.Join(dir, "forged.json")
	writeFile(t, path, []byte(forged))
	pacsgp(t, "verify", filepath.Join(out, r.Model), path, "--source", job).says(t, exitFailure, "sample digest")
}

// TestPublish: what is pulled from the topics are the files of the output directory, by
// name and by id, also after the job was run again; every record is there once.
func TestPublish(t *testing.T) {
	for _, exactlyOnce := range []bool{false, true} {
		c := smallTopic(t)
		dir := t.TempDir()
		job := fromTopic(c, jobFile{
			"source":  fmt.Sprintf("{kafka: {brokers: [%q], topic: rows, group: trainers}}", c.ListenAddrs()[0]),
			"publish": fmt.Sprintf("{kafka: {name: small, exactly_once: %v}}", exactlyOnce),
		}).write(t, dir)
		pacsgp(t, "train", "-c", job).says(t, exitFailure, "pacsgp topics")
		succeed(t, "topics", "-c", job)
		pacsgp(t, "topics", "-c", job).says(t, 0, "pacsgp-current: was there")
		for range 2 {
			succeed(t, "train", "-c", job)
		}
		out := filepath.Join(dir, "out")
		r := record(t, out)
		for _, from := range [][]string{{"small", "--kafka", job}, {r.ID, "--kafka", c.ListenAddrs()[0]}} {
			pulled := filepath.Join(t.TempDir(), "pulled")
			succeed(t, append([]string{"pull", "-o", pulled}, from...)...)
			for _, name := range []string{r.Model, r.Certificate, r.Row} {
				if got, want := readFile(t, filepath.Join(pulled, name)), readFile(t, filepath.Join(out, name)); string(got) != string(want) {
					t.Errorf("pulled %s is another file", name)
				}
			}
			pacsgp(t, "verify", filepath.Join(pulled, r.Model), filepath.Join(pulled, r.Certificate), "--source", job, "--judge", "draw").says(t, 0, "were read again from the log")
		}
		at := "kafka:" + c.ListenAddrs()[0] + "/small"
		pacsgp(t, "verify", at, at, "--source", job, "--judge", "draw").says(t, 0, "were read again from the log")
		pacsgp(t, "inspect", at).says(t, 0, "CERTIFIED", "3 segments; topic/partition and offsets: rows/0 from 0 to 59")
		for topic, want := range map[string]int{"pacsgp-certificates": 1, "pacsgp-models": 1, "pacsgp-current": 1} {
			if got := committed(t, c, topic); got != want {
				t.Errorf("exactly_once %v: %d records in %s, want %d", exactlyOnce, got, topic, want)
			}
		}
		pacsgp(t, "pull", "other", "-o", dir, "--kafka", job).says(t, exitFailure, `model "other": not published`)
		if left := names(t, out); slices.ContainsFunc(left, func(n string) bool { return strings.HasPrefix(n, "_spool") }) {
			t.Errorf("the spool was left in %q", left)
		}
	}
}

// committedAt counts the records of a topic that a transactional consumer sees.
func committedAt(t *testing.T, address, topic string) int {
	t.Helper()
	consumer, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	fatal.If(t, err)
	defer consumer.Close()
	n := 0
	patience := time.Minute // of a machine that has no time
	if empty(t, address, topic) {
		patience = time.Second
	}
	for until := time.Now().Add(patience); time.Now().Before(until); {
		ctx, cancel := context.WithDeadline(t.Context(), until)
		found := consumer.PollFetches(ctx).NumRecords()
		cancel()
		if n += found; found > 0 {
			until = time.Now().Add(300 * time.Millisecond) // for one too many
		}
	}
	return n
}

// committedEnds are where the partitions of a topic end for readers of committed records.
func committedEnds(t *testing.T, address, topic string) map[int]int64 {
	t.Helper()
	client, err := broker.NewClient(broker.Config{Brokers: []string{address}})
	fatal.If(t, err)
	defer client.Close()
	partitions, err := client.Partitions(t.Context(), topic)
	fatal.If(t, err)
	ends, err := client.Offsets(t.Context(), topic, partitions, broker.Latest)
	fatal.If(t, err)
	return ends
}

// empty reports whether a topic has no committed offsets at all.
func empty(t *testing.T, address, topic string) bool {
	t.Helper()
	for _, end := range committedEnds(t, address, topic) {
		if end > 0 {
			return false
		}
	}
	return true
}

func createTopic(t testing.TB, address, topic string, partitions int) {
	t.Helper()
	client, err := broker.NewClient(broker.Config{Brokers: []string{address}})
	fatal.If(t, err)
	defer client.Close()
	if _, err := client.CreateTopic(t.Context(), topic, partitions, -1, nil); err != nil {
		t.Fatal(err)
	}
}

// TestCompose: the commands of docker-compose.yml, run by hand up to the training.
func TestCompose(t *testing.T) {
	var file struct {
		Services map[string]struct {
			Image   string   `yaml:"image"`
			Command []string `yaml:"command"`
		} `yaml:"services"`
	}
	root := filepath.Join("..", "..")
	fatal.If(t, yaml.Unmarshal(readFile(t, filepath.Join(root, "docker-compose.yml")), &file))
	_, version, _ := strings.Cut(file.Services["kafka"].Image, ":")
	if tested := string(readFile(t, filepath.Join(root, ".ci", "kafka"))); !strings.Contains(tested, "\nversion="+version+"\n") {
		t.Errorf("the image of Kafka is of version %s, which is not the one that .ci/kafka fetches", version)
	}
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	fatal.If(t, err)
	t.Cleanup(c.Close)
	dir := t.TempDir()
	here := strings.NewReplacer("kafka:9092", c.ListenAddrs()[0], "/examples", dir, "/work", dir)
	writeFile(t, filepath.Join(dir, "kafka.yaml"), []byte(here.Replace(string(readFile(t, filepath.Join(root, "examples", "kafka.yaml"))))))
	for _, service := range []string{"rows", "rows", "topics"} {
		args := file.Services[service].Command
		if len(args) == 0 {
			t.Fatalf("docker-compose.yml has no command for %s", service)
		}
		for i := range args {
			args[i] = here.Replace(args[i])
		}
		succeed(t, args...)
	}
	args := file.Services["job"].Command
	args[0] = "plan"
	for i := range args {
		args[i] = here.Replace(args[i])
	}
	pacsgp(t, args...).says(t, 0, "rows")
}

// TestNextWindow: windows from what a group has committed follow one another, and every
// row is in one certificate.
func TestNextWindow(t *testing.T) {
	c := smallTopic(t)
	dir := t.TempDir()
	job := fromTopic(c, jobFile{
		"source":  fmt.Sprintf("{kafka: {brokers: [%q], topic: rows, from: committed, group: trainers}}", c.ListenAddrs()[0]),
		"publish": "{kafka: {name: small, exactly_once: true}}",
	}).write(t, dir)
	succeed(t, "topics", "-c", job)
	ends := [][2]int64{{0, 60}, {60, 120}}
	for i, want := range ends {
		if i > 0 {
			fillTopic(t, c.ListenAddrs()[0], 180)
		}
		succeed(t, "train", "-c", job)
		r := record(t, filepath.Join(dir, "out"))
		doc, err := certify.Parse(readFile(t, filepath.Join(dir, "out", r.Certificate)))
		fatal.If(t, err)
		for _, g := range doc.Sample.Segments {
			if g.First != want[0] || g.End != want[1] {
				t.Errorf("window %d: segment %+v, want the offsets %v", i, g, want)
			}
		}
	}
	if n := committed(t, c, "pacsgp-certificates"); n != len(ends) {
		t.Errorf("%d certificates, want %d", n, len(ends))
	}
	pacsgp(t, "train", "-c", job).says(t, exitFailure, "the window has no rows")
}

// Records of bad rows are sent to a topic with their place and reason, once, also when the
// job runs again; its certificate counts them and is verified by a replay.
func TestDeadLetters(t *testing.T) {
	c := smallTopic(t)
	p, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
	fatal.If(t, err)
	defer p.Close()
	bad := &kgo.Record{Topic: "rows", Key: []byte("k"), Value: []byte(`{"x1":1,"in":`), Headers: []kgo.RecordHeader{{Key: "own", Value: []byte("header")}}}
	fatal.If(t, p.ProduceSync(t.Context(), bad).FirstErr())
	dir := t.TempDir()
	job := fromTopic(c, jobFile{"bad_rows": "{tolerance: 2 %, to: {kafka: rows-dead}}"}).write(t, dir)
	pacsgp(t, "train", "-c", job).says(t, exitFailure, "rows-dead", "pacsgp topics")
	pacsgp(t, "topics", "-c", job).says(t, 0, "rows-dead: made")
	for range 2 {
		succeed(t, "train", "-c", job)
	}
	out := filepath.Join(dir, "out")
	r := record(t, out)
	pacsgp(t, "verify", filepath.Join(out, r.Model), filepath.Join(out, r.Certificate), "--source", job, "--judge", "draw").says(t, 0, "were read again from the log")
	if n := committed(t, c, "rows-dead"); n != 1 {
		t.Fatalf("%d dead letters, want 1", n)
	}
	consumer, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.ConsumeTopics("rows-dead"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	fatal.If(t, err)
	defer consumer.Close()
	letter := consumer.PollFetches(t.Context()).Records()[0]
	var headers []string
	for _, h := range letter.Headers {
		headers = append(headers, h.Key+"="+string(h.Value))
	}
	want := []string{"own=header", "pacsgp.topic=rows", fmt.Sprintf("pacsgp.partition=%d", bad.Partition), fmt.Sprintf("pacsgp.offset=%d", bad.Offset)}
	if string(letter.Key) != "k" || string(letter.Value) != string(bad.Value) || len(headers) != 6 || !slices.Equal(headers[:4], want) ||
		headers[5] != "pacsgp.reason=the JSON object is cut off" {
		t.Errorf("letter %s: %s with headers %q", letter.Key, letter.Value, headers)
	}
}

// Windows of so many rows follow one another from where the group stands, and nothing is
// committed for one that failed.
func TestWindowsOfRows(t *testing.T) {
	c := smallTopic(t)
	dir := t.TempDir()
	job := fromTopic(c, jobFile{
		"source":  fmt.Sprintf("{kafka: {brokers: [%q], topic: rows, rows: 90, group: trainers}}", c.ListenAddrs()[0]),
		"publish": "{kafka: {name: small, exactly_once: true}}",
	}).write(t, dir)
	pacsgp(t, "train", "-c", job).says(t, exitFailure, "pacsgp topics")
	succeed(t, "topics", "-c", job)
	pacsgp(t, "plan", "-c", job).says(t, 0, "90")
	begin := map[int64]int64{}
	for i := range 2 {
		succeed(t, "train", "-c", job)
		r := record(t, filepath.Join(dir, "out"))
		doc, err := certify.Parse(readFile(t, filepath.Join(dir, "out", r.Certificate)))
		fatal.If(t, err)
		rows := int64(0)
		for _, g := range doc.Sample.Segments {
			if rows += g.Rows; g.First != begin[g.Partition] {
				t.Errorf("window %d: segment %+v, want to begin at %d", i, g, begin[g.Partition])
			}
			begin[g.Partition] = g.End
		}
		if rows != 90 {
			t.Errorf("window %d has %d rows, want 90", i, rows)
		}
		pacsgp(t, "verify", filepath.Join(dir, "out", r.Model), filepath.Join(dir, "out", r.Certificate), "--source", job, "--judge", "draw").says(t, 0, "were read again from the log")
	}
}

// A run that fails leaves its spool, and the next one goes on with the window that it froze;
// one that was changed says what is left. A window without rows, and plan, leave nothing.
func TestSpoolsThatAreLeft(t *testing.T) {
	c := smallTopic(t)
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	job := func(change jobFile) string {
		j := fromTopic(c, jobFile{"source": fmt.Sprintf("{kafka: {brokers: [%q], topic: rows}}", c.ListenAddrs()[0])})
		maps.Copy(j, change)
		return j.write(t, dir)
	}
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	pacsgp(t, "plan", "-c", job(nil)).says(t, 0, "180")
	if left := append(names(t, temporary), names(t, out)...); len(left) > 0 {
		t.Errorf("plan left %q", left)
	}
	failing := job(jobFile{"publish": "{kafka: {name: small}}"})
	a := pacsgp(t, "train", "-c", failing)
	a.says(t, exitFailure, "pacsgp topics")
	if !strings.Contains(a.log, `"msg":"spool"`) {
		t.Errorf("the log does not tell of the spool: %s", a.log)
	}
	fillTopic(t, c.ListenAddrs()[0], 180)
	a = succeed(t, "train", "-c", job(jobFile{"features": "[in.x2, x1]"}))
	if !strings.Contains(a.log, "spools of other windows") {
		t.Errorf("nothing is said of the spool that is left: %s", a.log)
	}
	succeed(t, "topics", "-c", job(jobFile{"publish": "{kafka: {name: small}}"}))
	succeed(t, "train", "-c", failing)
	if text := string(readFile(t, filepath.Join(out, record(t, out).Certificate))); !strings.Contains(text, `"end": 60`) {
		t.Error("the second run froze another window")
	}
	pacsgp(t, "train", "-c", job(jobFile{"source": fmt.Sprintf("{kafka: {brokers: [%q], topic: rows, from: latest}}", c.ListenAddrs()[0])})).says(t, exitFailure, "no rows")
	if left := names(t, out); slices.ContainsFunc(left, func(n string) bool { return strings.HasPrefix(n, "_spool") }) {
		t.Errorf("the spool was left in %q", left)
	}
}
