package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/score"
	"github.com/pacsgp/pacsgp/pipeline/watch"
	sinklog "github.com/pacsgp/pacsgp/sink/kafkalog"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

// A Watching runs a watch file with the adapters for its rows.
type Watching struct {
	WatchFile

	Service // Warned shows each text once

	Follow     bool // wait for new rows, and do not stop
	Events     score.Events
	Counted    func(by *score.Predictor, t watch.Test) // called with the test after it has counted rows
	RoundEnded func(failed int)                        // called with the number of files that could not be counted
}

// A Watched is the test of the current certificate on new rows.
type Watched struct {
	By     *score.Predictor
	Test   watch.Test
	Failed int // number of files that could not be counted
}

// Run counts rows until ctx is done or, without Follow, no row is left. It returns the test of the
// model that is current then.
func (w *Watching) Run(ctx context.Context) (last Watched, err error) {
	store, state, err := sinklake.OpenWatch(w.State, w.FS)
	if err != nil {
		return last, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	s := &Scoring{ScoreFile: w.scoring(), Service: w.Service, Events: w.Events, testing: true}
	pointers, end, err := w.pointers(ctx, s)
	if err != nil {
		return last, err
	}
	defer func() { err = errors.Join(err, end()) }()
	follower := s.follower(pointers, nil, "another folder for the state")
	defer follower.Close()
	follower.Continue(state.Subject)
	var testOf func(*score.Predictor) (watch.Test, error)
	if w.OnTopics() {
		testOf, err = w.records(ctx, s, follower, watch.Config[score.Records]{Store: store, State: state, Delta: w.Delta(), Counted: w.Counted})
	} else {
		last.Failed, testOf, err = w.lake(ctx, s, follower, watch.Config[ingestlake.StoredColumns]{Store: store, State: state, Delta: w.Delta(), Counted: w.Counted})
	}
	if err == nil {
		last.By, err = follower.Follow(ctx, nil)
	}
	if err == nil {
		last.Test, err = testOf(last.By)
	}
	return last, err
}

// Last returns the latest test in the state, shown until the current model is known; false if none.
func (w *Watching) Last() (watch.Test, bool) {
	s, err := sinklake.ReadWatch(durable.OS{}, w.State)
	if err != nil || len(s.Tests) == 0 {
		return watch.Test{}, false // opening the state will report it
	}
	return s.Tests[len(s.Tests)-1], true
}

// Alarms are warnings of the alarm that a watch with its state next to a certificate has raised about it.
func Alarms(certificate, id string, c certify.Certificate) []string {
	s, err := sinklake.ReadWatch(durable.OS{}, filepath.Dir(certificate))
	if err != nil || s.Test(id).Raised(c) == "" {
		return nil // a damaged state stops the watch
	}
	return []string{"ALARM: " + strings.Replace(s.Test(id).Raised(c), "these rows", "the rows that watch has counted", 1) + ". Intervals of its certificate, too, hold only if the alarm is wrong (hint: docs/howto/monitor.md says what ends an alarm)"}
}

// adopting shows what the state says of a model that becomes current, before a row comes: no restart hides an
// alarm, and another model ends it.
type adopting struct {
	score.Events
	of     *Watching
	testOf func(*score.Predictor) (watch.Test, error)
	before *score.Predictor
	last   watch.Test // of the model before; at first the last one in the state
}

func (e *adopting) Adopted(by *score.Predictor) {
	e.Events.Adopted(by)
	if e.before != nil {
		e.last, _ = e.testOf(e.before)
	}
	t, err := e.testOf(by)
	if err == nil { // otherwise the first row shows the error
		e.of.Counted(by, t)
	}
	if e.before = by; e.of.Delay > 0 && e.last.Certificate != "" && e.last.Certificate != by.ID && e.last.New()+t.New() == 0 {
		e.of.Warned("a model was replaced before a file of its time was as old as delay demands: nothing has tested it, and if that goes on, nothing ever tests a model (hint: let models stay current for longer than delay, or shorten delay)")
	}
}

// pointers returns the pointers of the file, or the artifact that arguments name.
func (w *Watching) pointers(ctx context.Context, s *Scoring) (score.Pointers, func() error, error) {
	if w.Files.Certificate == "" {
		return s.pointers()
	}
	one, err := ReadArtifacts(ctx, w.Files.Model, w.Files.Certificate)
	if err == nil && one.Certificate.Counts.Units != nil { // then the promise is about units
		w.Unit.Column = one.Certificate.Counts.Units.Columns
		s.Passthrough = w.Unit.Column
	}
	return onePointer(one), func() error { return nil }, err
}

// onePointer is an artifact that is always current.
type onePointer score.Artifact

func (p onePointer) Current(context.Context) (pipeline.Current, error) {
	return pipeline.Current{ArtifactRef: pipeline.ArtifactRef{ID: p.ID, Model: p.Digest}, Predictor: certify.PredictorMean}, nil
}

func (p onePointer) Artifact(context.Context, pipeline.Current) (score.Artifact, error) {
	return score.Artifact(p), nil
}

// watchedDue is the rule for storing the counts of files. Each time the whole state is written.
var watchedDue = score.Due{Rows: 1 << 20, Every: time.Second}

func (w *Watching) lake(ctx context.Context, s *Scoring, f *score.Follower, cfg watch.Config[ingestlake.StoredColumns]) (failed int, testOf func(*score.Predictor) (watch.Test, error), err error) {
	files := &watchedFiles{of: w, counted: map[string]bool{}, digests: map[string]string{}, known: map[string]string{}}
	for _, entry := range cfg.State.Files {
		files.note(entry)
	}
	cfg.Known = files.knownTo
	cfg.Again = func(p score.Piece[ingestlake.StoredColumns]) bool {
		files.mu.Lock()
		defer files.mu.Unlock()
		return files.counted[files.digests[p.File.Path]]
	}
	if cfg.Unit = w.Unit.Column; cfg.Unit != nil {
		cfg.UnitOf = ingestlake.UnitOf
	}
	cfg.Where = func(p score.Piece[ingestlake.StoredColumns], _ ingestlake.StoredColumns, _ int) string {
		return p.File.Path
	}
	cfg.Left = func(p score.Piece[ingestlake.StoredColumns], rows map[string]int64) {
		var all []string
		for _, why := range slices.Sorted(maps.Keys(rows)) {
			all = append(all, fmt.Sprintf("%s (%s)", words.Count(rows[why], "row"), why))
		}
		w.Said(fmt.Sprintf("%s: not counted: %s", p.File.Path, strings.Join(all, ", ")))
	}
	cfg.AddPosition = func(s *watch.State, p score.Piece[ingestlake.StoredColumns], _ ingestlake.StoredColumns) {
		s.Files = append(s.Files, files.count(p.File)...)
	}
	out := watch.NewWriter(cfg)
	last, _ := w.Last()
	l := score.Loop[ingestlake.StoredColumns]{
		Follower: f, Reader: s.reading(ingestlake.Unpredicted{Labels: true, Passthrough: s.Passthrough}, !w.Follow), Writer: out,
		Events: &adopting{w.Events, w, out.Test, nil, last}, Has: files.has, AtOnce: 1, Due: watchedDue, Once: !w.Follow, RoundEnded: w.RoundEnded, After: time.After,
	}
	failed, err = l.Rounds(ctx, s.Every())
	return failed, out.Test, err
}

// countAgain says how to count the rows that a topic has now.
const countAgain = "to count the rows that are there now, remove watch.json from the folder state, or name another one"

func (w *Watching) records(ctx context.Context, s *Scoring, f *score.Follower, cfg watch.Config[score.Records]) (testOf func(*score.Predictor) (watch.Test, error), err error) {
	rows, client, err := s.unpredictedRecords(!w.Follow)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	rows.Labels, rows.Warning = true, func(string) {} // a missing certificate for other partitions does not matter here
	if _, err := client.Partitions(ctx, rows.Topic); err != nil {
		return nil, err
	}
	if err := rows.Same(ctx); err != nil {
		return nil, err
	}
	log := cmp.Or(cfg.State.Log, &watch.Log{Topic: rows.Topic, ID: rows.Identity.Topic, Cluster: rows.Identity.Cluster, Offsets: map[int]int64{}})
	if log.Topic != rows.Topic {
		return nil, fmt.Errorf("%w: the state in %s is of topic %q: name another folder for %q", job.ErrConfig, w.State, log.Topic, rows.Topic)
	}
	if err := rows.Identity.Same(broker.Identity{Cluster: log.Cluster, Topic: log.ID}, rows.Topic, "the one that "+w.State+" has counted"); err != nil {
		return nil, fmt.Errorf("%w (hint: %s)", err, countAgain)
	}
	rows.From(log.Offsets)
	cfg.Known = func(_ context.Context, p score.Piece[score.Records]) (func(score.Records, int) string, error) {
		_, has := p.By.End(rows.Topic, 0)
		if err := rows.Identity.Same(broker.Identity(p.By.Source), rows.Topic, "that of certificate "+p.By.ID); has && err != nil {
			return nil, fmt.Errorf("%v (hint: name a model of the rows that are there now)", err) //nolint:errorlint // its hint is another one
		}
		if !has {
			w.Warned(fmt.Sprintf("certificate %.12s…: its sample has no offsets of %s, so that all rows of the topic count as if they came later, also those that the sample may have had from elsewhere", p.By.ID, rows.Topic))
		}
		return func(records score.Records, i int) string {
			partition, offset, _ := records.Position(i)
			end, _ := p.By.End(rows.Topic, partition)
			return words.If(offset < end || !p.By.SpeaksOf(rows.Topic, partition), "known")
		}, nil
	}
	cfg.Where = func(_ score.Piece[score.Records], records score.Records, row int) string {
		partition, offset, _ := records.Position(row)
		return fmt.Sprintf("partition %d of %s, offset %d", partition, rows.Topic, offset)
	}
	cfg.AddPosition = func(s *watch.State, _ score.Piece[score.Records], records score.Records) {
		s.Log = cmp.Or(s.Log, log)
		maps.Copy(s.Log.Offsets, records.Ends())
	}
	out := watch.NewWriter(cfg)
	last, _ := w.Last()
	l := score.Loop[score.Records]{Follower: f, Reader: rows, Writer: out, Events: &adopting{w.Events, w, out.Test, nil, last}, AtOnce: rows.Workers, Due: sinklog.TopicDue, Once: !w.Follow, After: time.After}
	_, err = l.Run(ctx)
	if gone, ok := errors.AsType[*kafkalog.GoneError](err); ok {
		err = fmt.Errorf("%w (hint: offsets %d and below of partition %d of %s were not counted and are gone. %s)", err, gone.Start-1, gone.Partition, gone.Topic, countAgain)
	} else if errors.Is(err, broker.ErrAnother) {
		err = fmt.Errorf("%w (hint: %s)", err, countAgain)
	}
	return out.Test, err
}

// watchedFiles knows which files have new rows.
type watchedFiles struct {
	of *Watching

	mu      sync.Mutex
	counted map[string]bool   // counted files: names, and the texts in the state
	digests map[string]string // by path: digest of the values of a file that is not stored yet
	known   map[string]string // results of isKnown, by path, digest and certificate
}

// has reports whether a file was counted, or is too young to have its labels.
func (f *watchedFiles) has(file score.File) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.counted[file.Name+" "+file.Digest] || f.of.Delay == 0 {
		return f.counted[file.Name+" "+file.Digest], nil
	}
	info, err := os.Stat(file.Path)
	young := err == nil && time.Since(info.ModTime()) < time.Duration(f.of.Delay)
	if young && !f.of.Follow {
		f.of.Said(file.Path + " is younger than delay: not counted yet")
	}
	return young, err
}

// knownTo returns why the rows of a file are not new for the certificate, "" if they are.
func (f *watchedFiles) knownTo(ctx context.Context, p score.Piece[ingestlake.StoredColumns]) (_ func(ingestlake.StoredColumns, int) string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	of := p.File.Path + p.File.Digest + p.By.ID
	why, found := f.known[of]
	if !found {
		if why, err = f.isKnown(ctx, p.File, p.By); err != nil {
			return nil, err
		}
		f.known[of] = why
	}
	return func(ingestlake.StoredColumns, int) string { return why }, nil
}

// isKnown returns why rows are not new: the file is older than the pointer, was counted, has a
// counted file's name, or is one of the dataset. For new rows it returns "".
func (f *watchedFiles) isKnown(ctx context.Context, file score.File, by *score.Predictor) (string, error) {
	info, err := os.Stat(file.Path)
	if err != nil {
		return "", err
	}
	sample, err := f.manifest(by)
	if err != nil {
		return "", err
	}
	res := f.of.scoring().Resources()
	choice := dataset.Choice{Features: by.Model.Meta.Inputs(), Encoded: by.Model.Meta.Encode, Target: by.Model.Meta.Target.Name, Mark: true, Decoders: res.Workers, Pages: res.PageMemory()}
	src, err := ingestlake.Open(ctx, ingestlake.Config{Paths: []string{file.Path}, Sample: sample.Files, Choice: choice.WithLabels(by.Certificate.Sample)})
	if err != nil {
		return "", by.Model.Meta.Lacks(err)
	}
	digest, err := pipeline.RowsDigest(ctx, src, res.Workers)
	if err != nil {
		return "", err
	}
	f.digests[file.Path] = digest.String()
	switch {
	case f.counted[digest.String()]:
		return "counted before", nil
	case info.ModTime().Before(by.Since):
		return "older than the model", nil
	case f.counted[file.Name]: // it may contain counted rows
		f.of.Warned(file.Path + " was written again since it was read: its rows are not counted (hint: put the new ones alone into a file of another name, where counted ones would count again; delay waits for labels that come later)")
		delete(f.digests, file.Path) // another file with these rows counts
		return "in a file that was written again", nil
	}
	holds, err := sample.Holds(ctx, src, res.Workers)
	return words.If(holds, "of training"), err
}

// manifest returns the manifest of a certificate. Without one it is empty, which assumes that rows came
// after the model.
func (f *watchedFiles) manifest(by *score.Predictor) (pipeline.Manifest, error) {
	folder, name := f.of.Model.Folder, sinklake.ManifestName(by.ID)
	if f.of.Files.Certificate != "" {
		folder = objects.Dir(f.of.Files.Certificate)
	}
	list, err := sinklake.NewOutput(folder, f.of.FS).GetManifest(by.Certificate, by.ID)
	if folder == "" || errors.Is(err, fs.ErrNotExist) {
		f.of.Warned(fmt.Sprintf("certificate %.12s…: there is no %s next to it, so that files of its sample would be counted as if they came later", by.ID, name))
		return list, nil
	}
	return list, err
}

// count records a file as counted, and returns what identifies it in the state.
func (f *watchedFiles) count(file score.File) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := []string{file.Name + " " + file.Digest}
	if digest := f.digests[file.Path]; digest != "" && !f.counted[digest] {
		all = append(all, digest)
	}
	for _, digest := range all {
		f.note(digest)
	}
	delete(f.digests, file.Path)
	return all
}

// note records an entry of the state about a file: a name and a digest, or a digest of values.
func (f *watchedFiles) note(entry string) {
	f.counted[entry] = true
	if at := strings.LastIndexByte(entry, ' '); at >= 0 {
		f.counted[entry[:at]] = true
	}
}
