package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/digest"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/frame"
	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/sink/report"
)

// Flags in addition to those of Beam.
var (
	outputFlag   = flag.String("o", "", "of predict: the folder to write")
	intervalFlag = flag.Float64("interval", 0, "of predict: write the ends of an interval that covers so large a share of fresh rows, as in 0.9")
	trustedFlag  = func() *string {
		var keys string
		flag.Func("trusted", "of predict: "+config.TrustedKeys, func(path string) error {
			if keys = path; path == "" { // the value of an unset variable
				return errors.New("it is empty: give a value, or leave the flag out")
			}
			return nil
		})
		return &keys
	}()
)

// The record of predictions is in their folder. Readers of lakes skip its name.
const (
	recordName   = "_predictions.json"
	recordFormat = "pacsgp-predictions/1"
	mostRecord   = 1 << 20 // bytes
)

// A record describes the predictions in a folder.
type record struct {
	Format string          `json:"format"`
	Run    string          `json:"run"`    // SHA-256 of Of
	Of     json.RawMessage `json:"of"`     // what the predictions follow from: see [Scoring.follows]
	Shards int             `json:"shards"` // number of shards, with one file each
	Files  string          `json:"files"`  // SHA-256 of the names of the files, in order
	config.RowCounts
}

const shardFormat = "pacsgp-predicted/1"

// encode returns the shard as bytes for the engine.
func (s shard) encode() ([]byte, error) {
	text, err := json.Marshal(s)
	var out bytes.Buffer
	w := frame.NewWriter(&out, shardFormat)
	w.Text(string(text))
	err = errors.Join(err, w.Close())
	return out.Bytes(), err
}

func decodeShard(data []byte) (s shard, err error) {
	r := frame.NewReader(bytes.NewReader(data), int64(len(data)), shardFormat)
	text := r.Text(int64(len(data)))
	if err = r.Close(); err == nil {
		err = json.Unmarshal([]byte(text), &s)
	}
	return s, err
}

// digestOf returns the digest of file names.
func digestOf(names []string) string { return digest.Of([]byte(strings.Join(names, "\n"))) }

// complete reads the record of the predictions in a folder. It is an error unless the folder has exactly the
// files of the record.
func complete(folder, run string) (found record, err error) {
	data, err := durable.ReadSmall(filepath.Join(folder, recordName), "a record of predictions", mostRecord)
	if err == nil {
		err = json.Unmarshal(data, &found)
	}
	if err != nil {
		return found, err
	}
	if found.Format != recordFormat || found.Run != run {
		return found, fmt.Errorf("%s has predictions of another model, of other rows or of another program", folder)
	}
	all, err := durable.OS{}.List(folder)
	if err != nil {
		return found, err
	}
	var names []string
	for _, name := range all {
		if filepath.Ext(name) == ".parquet" {
			names = append(names, name)
		}
	}
	if len(names) != found.Shards || digestOf(names) != found.Files {
		return found, fmt.Errorf("%s has other files than those of its record: %d, for %d shards", folder, len(names), found.Shards)
	}
	return found, nil
}

// A location is a folder of predictions that appears as a whole. Only one process fills it at a time.
type location struct {
	folder, staging string
	lock            io.Closer
}

// hold locks a folder, which must not exist or be empty, and makes a staging folder for it. It removes what
// killed processes have left.
func hold(folder string) (*location, error) {
	parent, begin := filepath.Dir(folder), "."+filepath.Base(folder)+".new-"
	if found, err := (durable.OS{}).List(folder); len(found) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, config.Argument(fmt.Errorf("-o: %s is there and holds no predictions: name another folder", folder))
	}
	lock, err := durable.OS{}.Lock(filepath.Join(parent, "."+filepath.Base(folder)+".lock"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	p := &location{folder, filepath.Join(parent, begin+randomID()), lock}
	left := regexp.MustCompile("^" + regexp.QuoteMeta(begin) + "[0-9a-f]{12}$")
	names, err := durable.OS{}.List(parent)
	for _, name := range names {
		if left.MatchString(name) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(parent, name)))
		}
	}
	if err == nil {
		err = durable.OS{}.MkdirAll(p.staging)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return p, nil
}

// publish renames the staging folder to the final one, in one step. Workers that are still running fail from now on.
func (p *location) publish() error {
	if err := os.Remove(p.folder); err != nil && !errors.Is(err, fs.ErrNotExist) { // it is empty
		return err
	}
	if err := os.Rename(p.staging, p.folder); err != nil {
		return err
	}
	return durable.SyncDir(durable.OS{}, filepath.Dir(p.folder))
}

// release unlocks the folder, and removes what is not published.
func (p *location) release() error { return errors.Join(os.RemoveAll(p.staging), p.lock.Close()) }

// A console has the outputs of a command.
type console struct{ stdout, stderr io.Writer }

// say writes a line to standard error.
func (c console) say(text string) {
	_, _ = fmt.Fprintf(c.stderr, "pacsgp-beam: %s\n", report.Escape(text))
}

// absolute makes paths absolute, for workers that run in other folders.
func absolute(paths ...*string) (err error) {
	for _, path := range paths {
		if objects.IsAddress(*path) {
			continue
		}
		whole, fault := filepath.Abs(*path)
		*path, err = whole, errors.Join(err, fault)
	}
	return err
}

// artifacts returns the model, the certificate and the data that the arguments name.
func artifacts(ctx context.Context, args []string) (model, certificate string, data []string, err error) {
	if model, certificate, data, err = config.ArtifactPaths(ctx, args); err != nil {
		return "", "", nil, err
	}
	if len(data) == 0 {
		return "", "", nil, config.Argument(errors.New("name the DATA"))
	}
	if _, err := config.OriginOf(data); err != nil {
		return "", "", nil, err
	}
	err = absolute(&model, &certificate)
	for i := range data {
		err = errors.Join(err, absolute(&data[i]))
	}
	return model, certificate, data, err
}

// into returns the absolute path of a folder for predictions. It is an error if a later reading of the data
// would find it.
func (s Scoring) into(folder string) (string, error) {
	err := absolute(&folder)
	if err == nil {
		err = config.MayCreate(folder, config.Lake{Rows: s.Data})
	}
	if found := (config.Lake{Rows: s.Data}).Finds(filepath.Join(folder, "shard.parquet")); err == nil && found != "" {
		err = fmt.Errorf("%s is inside the data %s; choose a location outside", folder, found)
	}
	if err != nil {
		err = config.Argument(fmt.Errorf("-o: %w", err))
	}
	return folder, err
}

// predict runs the command predict.
func predict(ctx context.Context, args []string, c console) error {
	if *outputFlag == "" {
		return config.Argument(errors.New("-o: name the folder to write"))
	}
	var s Scoring
	var err error
	if s.Model, s.Certificate, s.Data, err = artifacts(ctx, args); err != nil {
		return err
	}
	folder, err := s.into(*outputFlag)
	if err != nil {
		return err
	}
	s.Interval = *intervalFlag
	p, err := s.open(ctx, *trustedFlag)
	if err != nil {
		return err
	}
	if s.Of, err = s.follows(p); err != nil {
		return err
	}
	for _, text := range report.ModelWarnings(p.by.Certificate) {
		c.say(text)
	}
	found, err := complete(folder, s.run())
	switch {
	case err == nil:
		c.say(folder + " has these predictions already")
	case errors.Is(err, fs.ErrNotExist):
		if found, err = s.write(ctx, folder, len(p.rows.Shards())); err != nil {
			return err
		}
	default:
		return config.Argument(fmt.Errorf("-o: %w: remove it, or name another folder", err))
	}
	for _, text := range p.by.Warnings(found.RowCounts) {
		c.say(text)
	}
	out := report.NewEscaper(c.stdout)
	_, _ = io.WriteString(out, p.by.Words(folder, found.RowCounts))
	return out.Flush()
}

// write has the engine predict all shards, and publishes the predictions.
func (s Scoring) write(ctx context.Context, folder string, shards int) (found record, err error) {
	if shards == 0 {
		return found, fmt.Errorf("%w: there are no rows to predict", job.ErrData)
	}
	to, err := hold(folder)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, to.release()) }()
	if err := execute(ctx, scored(s, to.staging, dataset.Indices(shards), shards)); err != nil {
		return found, fmt.Errorf("nothing is written: %w", err)
	}
	if found, err = complete(to.staging, s.run()); err != nil {
		return found, err
	}
	now, err := s.open(ctx, "")
	if err == nil {
		err = s.same(now)
	}
	if err != nil {
		return found, err
	}
	return found, to.publish()
}
