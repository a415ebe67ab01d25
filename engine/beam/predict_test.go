package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/pipeline"
)

// A predicted row is one of a file of predictions.
type predicted struct {
	Row         int64    `parquet:"row"`
	Mean        *float64 `parquet:"mean,optional"`
	Deviation   *float64 `parquet:"deviation,optional"`
	Predictive  *float64 `parquet:"predictive_deviation,optional"`
	Certificate *string  `parquet:"certificate,optional"`
	Reason      *string  `parquet:"reason,optional"`
}

// A given row is one to predict.
type given struct {
	X1 float64  `parquet:"x1"`
	X2 *float64 `parquet:"x2,optional"`
}

// wide writes a lake of four row groups in two files, with rejected rows and a far one.
func wide(t *testing.T, folder string) {
	t.Helper()
	fatal.If(t, os.MkdirAll(folder, 0o750))
	random := rand.New(rand.NewPCG(31, 1))
	for _, name := range []string{"a", "b"} {
		var file bytes.Buffer
		w := parquet.NewGenericWriter[given](&file)
		for group := range 2 {
			rows := make([]given, 9_000) // more than a batch
			for i := range rows {
				x2 := random.NormFloat64()
				rows[i] = given{random.NormFloat64(), &x2}
			}
			rows[group].X1, rows[7].X2, rows[8].X1 = math.NaN(), nil, 1e6
			_, err := w.Write(rows)
			fatal.If(t, errors.Join(err, w.Flush()))
		}
		fatal.If(t, w.Close())
		fatal.If(t, os.WriteFile(filepath.Join(folder, name+".parquet"), file.Bytes(), 0o600))
	}
}

// certifiedJob is the output of a small job, and a lake to predict next to it.
func certifiedJob(t *testing.T) (out, lake string) {
	t.Helper()
	d := on(t, testJob(t))
	fatal.If(t, d.train(t.Context()))
	finished(t, d.certify(t.Context()))
	out = d.task.Output
	lake = filepath.Join(filepath.Dir(out), "wide")
	wide(t, lake)
	return out, lake
}

// scoringOf is what predict has made for a lake.
func scoringOf(t *testing.T, out, lake string) Scoring {
	t.Helper()
	var s Scoring
	var err error
	s.Model, s.Certificate, s.Data, err = artifacts(t.Context(), []string{out, lake})
	fatal.If(t, err)
	p, err := s.open(t.Context(), "")
	fatal.If(t, err)
	s.Of, err = s.follows(p)
	fatal.If(t, err)
	return s
}

// predictInto is the command, and what it says.
func predictInto(t *testing.T, folder string, args ...string) (string, error) {
	t.Helper()
	before := *outputFlag
	defer func() { *outputFlag = before }()
	*outputFlag = folder
	var said bytes.Buffer
	err := predict(t.Context(), args, console{&said, t.Output()})
	return said.String(), err
}

// oneProcess are the predictions of pacsgp predict.
func oneProcess(t *testing.T, out, lake string) ([]predicted, string) {
	t.Helper()
	p, err := scoringOf(t, out, lake).open(t.Context(), "")
	fatal.If(t, err)
	ready, err := pipeline.NewReady(p.by.Model, 2)
	fatal.If(t, err)
	defer ready.Close()
	var file bytes.Buffer
	n, err := p.by.Write(t.Context(), ready, p.rows, nil, &file)
	fatal.If(t, err)
	rows, err := parquet.Read[predicted](bytes.NewReader(file.Bytes()), int64(file.Len()))
	fatal.If(t, err)
	return rows, p.by.Words("", n)
}

// folderOf are the files of a folder.
func folderOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	names, err := durable.OS{}.List(folder)
	fatal.If(t, err)
	files := map[string]string{}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(folder, name))
		fatal.If(t, err)
		files[name] = string(data)
	}
	return files
}

// demandPredictions fails the test unless a folder has these predictions, a file a shard.
func demandPredictions(t *testing.T, folder string, want []predicted) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.parquet"))
	fatal.If(t, err)
	var got []predicted
	for _, file := range files {
		rows, err := parquet.ReadFile[predicted](file)
		fatal.If(t, err)
		got = append(got, rows...)
	}
	if diff := cmp.Diff(want, got); diff != "" || len(files) != 4 {
		t.Errorf("%d files; other predictions than by pacsgp predict (-want +got):\n%.2000s", len(files), diff)
	}
}

// nothingNextTo fails the test if a folder has hidden neighbours but locks.
func nothingNextTo(t *testing.T, folder string) {
	t.Helper()
	names, err := durable.OS{}.List(filepath.Dir(folder))
	fatal.If(t, err)
	for _, name := range names {
		if strings.HasPrefix(name, ".") && filepath.Ext(name) != ".lock" {
			t.Errorf("%s is left over", name)
		}
	}
}

// Shard by shard, by workers here or of their own, the predictions are those of one process, and
// the bytes the same. They are not made again, and no others take their location.
func TestPredictsAsOneProcess(t *testing.T) {
	out, lake := certifiedJob(t)
	want, words := oneProcess(t, out, lake)
	folder := filepath.Join(filepath.Dir(out), "predictions")
	for _, where := range []string{folder, folder + "-2"} {
		if where != folder {
			workers{}.use(t) // of their own
			fatal.If(t, os.Mkdir(where, 0o750))
		}
		said, err := predictInto(t, where+"/", out, lake)
		if fatal.If(t, err); said != where+words {
			t.Errorf("it says %q, want %q", said, where+words)
		}
		demandPredictions(t, where, want)
		nothingNextTo(t, where)
	}
	first := folderOf(t, folder)
	if diff := cmp.Diff(first, folderOf(t, folder+"-2")); diff != "" {
		t.Errorf("other bytes (-first +second):\n%.2000s", diff)
	}
	if said, err := predictInto(t, folder, out, lake); err != nil || said != folder+words {
		t.Errorf("again: %q, %v", said, err)
	}
	wide(t, filepath.Join(lake, "more"))
	if _, err := predictInto(t, folder, out, lake); err == nil || !strings.Contains(err.Error(), "of other rows") || status(err) != 2 {
		t.Errorf("of more rows: %v", err)
	}
	if diff := cmp.Diff(first, folderOf(t, folder)); diff != "" {
		t.Errorf("other bytes (-before +after):\n%.2000s", diff)
	}
}

// refusedInto demands an error with this text in it, and nothing in the folder.
func refusedInto(t *testing.T, folder, text string, args ...string) {
	t.Helper()
	_, err := predictInto(t, folder, args...)
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("into %s: %v, want %q in it", folder, err, text)
	}
	if _, err := os.Stat(filepath.Join(folder, recordName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s has a record: %v", folder, err)
	}
}

// Outputs that cannot be are refused before any row is read, and data that cannot be read fail the job
// with their file.
func TestPredictRefuses(t *testing.T) {
	out, lake := certifiedJob(t)
	dir := filepath.Dir(out)
	folder := filepath.Join(dir, "predictions")
	refusedInto(t, "", "name the folder", out, lake)
	refusedInto(t, filepath.Join(lake, "predictions"), "is inside the data", out, lake)
	refusedInto(t, filepath.Join(dir, "none", "predictions"), "does not exist", out, lake)
	refusedInto(t, "s3://bucket/predictions", "", out, lake)
	refusedInto(t, out, "is there and holds no predictions", out, lake)
	refusedInto(t, folder, "name the DATA", out)
	refusedInto(t, folder, "", out, filepath.Join(dir, "nothing"))
	busy, err := hold(folder)
	fatal.If(t, err)
	if _, err := predictInto(t, folder, out, lake); !errors.Is(err, durable.ErrLocked) {
		t.Errorf("while another process writes: %v", err)
	}
	fatal.If(t, busy.release())

	path := filepath.Join(lake, "b.parquet")
	data, err := os.ReadFile(path)
	fatal.If(t, err)
	damaged := bytes.Clone(data)
	for i := range 64 {
		damaged[len(damaged)/4+i] ^= 0x55
	}
	fatal.If(t, os.WriteFile(path, damaged, 0o600))
	refusedInto(t, folder, path+", row group 0", out, lake)
	nothingNextTo(t, folder)
}

// A file that changes while its lake is predicted is an error, of workers that have opened it, of
// those that open it later, and of the driver.
func TestPredictDetectsChanges(t *testing.T) {
	out, lake := certifiedJob(t)
	s := scoringOf(t, out, lake)
	folder := t.TempDir()
	_, err := s.predict(t.Context(), 0, folder)
	fatal.If(t, err)
	wide(t, lake) // the same bytes at another time
	clear(predictors.made)
	if _, err := s.predict(t.Context(), 3, folder); err == nil || !strings.Contains(err.Error(), "are not those that the job was started with") {
		t.Errorf("a worker that opens the files later: %v", err)
	}
	if err := execute(t.Context(), scored(s, folder, []int{0, 1, 2, 3}, 4)); err == nil || !strings.Contains(err.Error(), "shard ") {
		t.Errorf("the job: %v", err)
	}
}

// A shard that is predicted twice has the same file. Other results, missing and unknown shards are
// refused.
func TestShardsPredictedTwice(t *testing.T) {
	out, lake := certifiedJob(t)
	want, _ := oneProcess(t, out, lake)
	s := scoringOf(t, out, lake)
	folder := t.TempDir()
	fatal.If(t, execute(t.Context(), scored(s, folder, []int{3, 0, 1, 1, 2, 0}, 4)))
	first, err := complete(folder, s.run())
	fatal.If(t, err)
	clear(predictors.made) // as in a process that replaces a killed one
	fatal.If(t, execute(t.Context(), scored(s, folder, []int{0, 1, 2, 3}, 4)))
	again, err := complete(folder, s.run())
	fatal.If(t, err)
	demandPredictions(t, folder, want)
	if diff := cmp.Diff(first, again); diff != "" || first.Rows != int64(len(want)) {
		t.Errorf("%d rows; other records (-first +again):\n%s", first.Rows, diff)
	}
	if err := execute(t.Context(), scored(s, folder, []int{0, 1, 3}, 4)); err == nil || !strings.Contains(err.Error(), "shard 2 of 4 was not predicted") {
		t.Errorf("without a shard: %v", err)
	}
	if err := execute(t.Context(), scored(s, folder, []int{0, 4}, 4)); err == nil || !strings.Contains(err.Error(), "there is no shard 4 of 4") {
		t.Errorf("with another shard: %v", err)
	}
	record := func(shards ...shard) error {
		f := &recordShards{Run: "1", Of: "{}", Folder: t.TempDir(), Shards: 1}
		i := 0
		return f.ProcessElement(t.Context(), 0, func(data *[]byte) bool {
			if i == len(shards) {
				return false
			}
			encoded, err := shards[i].encode()
			fatal.If(t, err)
			*data, i = encoded, i+1
			return true
		})
	}
	fatal.If(t, record(shard{File: "a"}, shard{File: "a"}))
	if err := record(shard{File: "a"}, shard{File: "b"}); err == nil || !strings.Contains(err.Error(), "predicted twice, with different results") {
		t.Errorf("with other results: %v", err)
	}
	if _, err := decodeShard([]byte(shardFormat + "\n{}")); err == nil {
		t.Error("a damaged element is read")
	}
	fatal.If(t, os.WriteFile(filepath.Join(folder, "00000004-0.parquet"), nil, 0o600))
	if _, err := complete(folder, s.run()); err == nil || !strings.Contains(err.Error(), "other files") {
		t.Errorf("a folder with a file more: %v", err)
	}
}

// A driver that is killed, at any moment, leaves the folder of its predictions whole or not at all.
// Started again it completes them, and leaves nothing else.
func TestKilledPredict(t *testing.T) {
	out, lake := certifiedJob(t)
	want, _ := oneProcess(t, out, lake)
	folder := filepath.Join(filepath.Dir(out), "predictions")
	run, kill := killing(t, "predict", out, lake, "-o", folder)
	whole := folderOf(t, folder)
	killed := 0
	for range 10 {
		fatal.If(t, os.RemoveAll(folder))
		if kill() {
			killed++
		}
		if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if diff := cmp.Diff(whole, folderOf(t, folder)); diff != "" {
			t.Errorf("killed: other files (-want +got):\n%.2000s", diff)
		}
	}
	for range 2 { // completes them, and finds them
		run()
		demandPredictions(t, folder, want)
	}
	if diff := cmp.Diff(whole, folderOf(t, folder)); diff != "" || killed == 0 {
		t.Errorf("%d killed; other files (-want +got):\n%.2000s", killed, diff)
	}
	nothingNextTo(t, folder)
}

// The record says what the predictions are.
func TestRecordOfPredictions(t *testing.T) {
	out, lake := certifiedJob(t)
	folder := filepath.Join(filepath.Dir(out), "predictions")
	_, err := predictInto(t, folder, out, lake)
	fatal.If(t, err)
	var said map[string]any
	fatal.If(t, json.Unmarshal([]byte(folderOf(t, folder)[recordName]), &said))
	of, _ := said["of"].(map[string]any)
	_, id, err := config.ReadCertificate(t.Context(), func() string { _, path, _, _ := config.ArtifactPaths(t.Context(), []string{out}); return path }())
	if fatal.If(t, err); of["certificate"] != id || said["shards"] != 4.0 || said["rows"] != 36_000.0 || said["rows_without_prediction"] != 8.0 {
		t.Errorf("the record says %v", said)
	}
}

// On Flink predictions are those of one process, too.
func TestFlinkPredicts(t *testing.T) {
	onFlink(t)
	out, lake := certifiedJob(t)
	want, _ := oneProcess(t, out, lake)
	folder := filepath.Join(filepath.Dir(out), "predictions")
	_, err := predictInto(t, folder, out, lake)
	fatal.If(t, err)
	demandPredictions(t, folder, want)
}
