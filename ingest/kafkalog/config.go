package kafkalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/twmb/avro"

	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// formatJSON is the format of records that are one JSON object each.
const formatJSON = "json"

// Formats are the formats of records. The first one is the default.
var Formats = []string{formatJSON, FormatAvro}

// A decoder makes a row of a record's value.
type decoder interface {
	// read appends the row to columns. Bad values become cells of faults: see [ingest.Fault].
	read(value []byte, columns [][]float64) error
}

// decoder returns a decoder for one goroutine. ctx ends its requests to a registry.
func (cfg Config) decoder(ctx context.Context, known *schemas) (decoder, error) {
	names := cfg.decoded()
	if cfg.Format != FormatAvro {
		return newJSONReader(names), nil
	}
	r := newAvroReader(names)
	if known != nil {
		r.registry = func(id uint32) (*avro.Schema, error) { return known.find(ctx, id) }
		return r, nil
	}
	var err error
	if r.declared, err = parseAvro(cfg.Schema, &avro.SchemaCache{}); err == nil {
		err = wantRecord(r.declared)
	}
	return r, err
}

// schemas returns a cache of the registry's schemas, nil without a registry.
func (cfg Config) schemas() *schemas {
	if cfg.Registry == nil {
		return nil
	}
	return &schemas{from: cfg.Registry, known: map[uint32]knownSchema{}}
}

// Config describes a window of a topic and its spool.
type Config struct {
	Client     *broker.Client
	Topic      string
	Partitions []int // nil means all
	From, To   Position
	Rows       int64         // if not 0, the window closes with so many rows, not at To
	Group      string        // of consumers, for the position Committed
	Format     string        // of the records: one of Formats; "" means formatJSON
	Schema     string        // with [FormatAvro]: the schema of all records, or ""
	Registry   *Schemas      // with [FormatAvro]: the schemas whose ids begin the records, or nil
	Columns    []string      // features and target
	Encoded    job.Encodings // of features, of which some may be missing
	// Tolerant spools rejected rows with NaN for each bad value, and a record that cannot be read as one
	// row of NaN. Else the first of them is an error.
	Tolerant bool
	// DeadLetters keeps the records with rejected rows next to the rows: see [Window.DeadLetters].
	DeadLetters bool
	// Identity identifies the topic of the offsets in From and To; zero means unknown.
	Identity broker.Identity
	Folder   string // of the spool
	Limit    int64  // bytes of the spool; 0 means no limit
	Quota    *Quota // shared with the spools of other windows, or nil
	// Progress is called often, from several goroutines, with the number of rows so far.
	Progress func(rows int64)

	segmentRows int        // 0 means maxSegmentRows
	fetchBytes  int32      // 0 means the client's default
	files       durable.FS // nil means [durable.OS]
	// fills, if not nil, returns Progress for a spool that has so many rows.
	fills func(rows int64) func(rows int64)
}

// maxSegmentRows is the largest number of rows of a segment.
const maxSegmentRows = 1 << 16

// tailsAtOnce is the number of partitions that are read at a time, each with a segment in memory.
const tailsAtOnce = 4

func (cfg Config) withDefaults() (Config, error) {
	var faults []error
	demand := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf("kafka: "+format, args...))
		}
	}
	cfg.Format = cmp.Or(cfg.Format, formatJSON)
	avro := cfg.Schema != "" || cfg.Registry != nil
	demand(topicName.MatchString(cfg.Topic), "%q is no name of a topic", cfg.Topic)
	demand(slices.Contains(Formats, cfg.Format), "format %q is none of %q", cfg.Format, Formats)
	demand((cfg.Format == FormatAvro) == avro && (cfg.Schema == "" || cfg.Registry == nil), "the format avro, and no other one, has a schema or a registry of schemas")
	demand(cfg.Rows >= 0, "a window of %d rows", cfg.Rows)
	demand(len(cfg.Columns) > 0, "no column is named; records of a topic do not say which ones they all have, so name the features")
	for i, name := range cfg.Columns {
		demand(name != "" && !slices.Contains(cfg.Columns[:i], name), "column %q is named twice, or has no name", name)
	}
	if cfg.Rows > 0 {
		cfg.To = Position{Time: broker.Latest}
	}
	cfg.segmentRows = cmp.Or(cfg.segmentRows, maxSegmentRows)
	if cfg.files == nil {
		cfg.files = durable.OS{}
	}
	return cfg, errors.Join(faults...)
}

// decoded returns the columns within the records' values.
func (cfg Config) decoded() []string {
	return slices.DeleteFunc(slices.Clone(cfg.Columns), func(name string) bool { return slices.Contains(placeColumns, name) })
}

// topicName is the form of the names that Kafka takes.
var topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// Committed as the time of a position means the committed offset of [Config.Group], or the earliest
// one.
const Committed = -100

// A Position is the begin or the end of a window in each partition.
type Position struct {
	// Time means the first record at or after it, in milliseconds since 1970. Negative times are
	// [broker.Earliest], [broker.Latest] and [Committed].
	Time    int64
	Offsets map[int]int64 // by partition; if not nil, they replace Time
}

// Columns of a spool with the position of a row.
const (
	columnTopic     = "$topic"
	columnPartition = "$partition"
	columnOffset    = "$offset"
	columnTime      = "$timestamp"
)

// columnReason has the reasons of rejected rows, null for others; a spool without any does not have it.
const columnReason = "$reason"

var placeColumns = []string{columnTopic, columnPartition, columnOffset, columnTime}
