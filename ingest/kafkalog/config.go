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

// formatJSON is the format of records that are JSON objects.
const formatJSON = "json"

// Formats are the formats of records. The first is the default.
var Formats = []string{formatJSON, FormatAvro}

// A decoder decodes a record's value into a row.
type decoder interface {
	// read appends the row to columns. A bad value becomes a cell with an [ingest.Fault].
	read(value []byte, columns [][]float64) error
}

// decoder returns a decoder for one goroutine. The end of ctx cancels its requests to a registry.
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
	if r.declared, err = parseAvro(cfg.Schema, &avro.SchemaCache{}, map[string]avroType{}); err == nil {
		err = wantRecord(r.declared)
	}
	return r, err
}

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
	Rows       int64         // if not 0, the window closes at this number of rows, not at To
	Group      string        // consumer group, for the position Committed
	Format     string        // of the records: one of Formats; "" means formatJSON
	Schema     string        // with [FormatAvro] and no Registry: the schema of all records
	Registry   *Schemas      // with [FormatAvro] and no Schema: the schemas whose ids begin the records
	Columns    []string      // features and target
	Encoded    job.Encodings // encodings of features, some of which allow missing values
	// Tolerant spools rejected rows, with NaN for each bad value and all NaN if the record cannot
	// be read. Without Tolerant the first rejected row is an error.
	Tolerant bool
	// DeadLetters also spools the records with rejected rows: see [Window.DeadLetters].
	DeadLetters bool
	// Identity identifies the topic of the offsets in From and To; zero means unknown.
	Identity broker.Identity
	Folder   string // of the spool
	Limit    int64  // largest size of the spool in bytes; 0 means no limit
	Quota    *Quota // shared with the spools of other windows; nil means no quota
	// Progress, if not nil, is called from several goroutines with the number of rows so far.
	Progress func(rows int64)

	segmentRows int        // 0 means maxSegmentRows
	fetchBytes  int32      // 0 means the client's default
	files       durable.FS // nil means [durable.OS]
	// fills, if not nil, gets the number of rows that the spool already has, and returns Progress.
	fills func(rows int64) func(rows int64)
}

// maxSegmentRows is the largest number of rows of a segment.
const maxSegmentRows = 1 << 16

// tailsAtOnce is how many partitions are read at a time. Each has one segment in memory.
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
	cfg.files = cmp.Or[durable.FS](cfg.files, durable.OS{})
	return cfg, errors.Join(faults...)
}

// decoded returns the columns that are decoded from record values.
func (cfg Config) decoded() []string {
	return slices.DeleteFunc(slices.Clone(cfg.Columns), func(name string) bool { return slices.Contains(placeColumns, name) })
}

// topicName matches valid names of Kafka topics.
var topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// Committed as the time of a position means the committed offset of [Config.Group], or the
// earliest offset if there is none.
const Committed = -100

// A Position is the begin or the end of a window in each partition.
type Position struct {
	// Time, in milliseconds since 1970, means the first record at or after that time. Negative
	// values are [broker.Earliest], [broker.Latest] and [Committed].
	Time    int64
	Offsets map[int]int64 // by partition; if not nil, Time is ignored
}

// Columns of a spool with a row's position.
const (
	columnTopic     = "$topic"
	columnPartition = "$partition"
	columnOffset    = "$offset"
	columnTime      = "$timestamp"
)

// columnReason has the reasons of rejected rows, null for other rows. It may be missing.
const columnReason = "$reason"

var placeColumns = []string{columnTopic, columnPartition, columnOffset, columnTime}
