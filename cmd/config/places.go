package config

import (
	"context"
	"fmt"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/pipeline"
)

// CheckPlaces holds what files say of where their rows stood in a topic, as those of a spool
// do, against the segments of a certificate, and says what was found or, where it names none,
// what stays open; both are "" of rows that tell nothing. Rows that are of the topic no file
// can show: whoever gives the certificate may have written the files too.
func CheckPlaces(ctx context.Context, from Origin, segments []certify.Segment, res pipeline.Resources) (checked, open string, err error) {
	var paths []string
	switch from := from.(type) {
	case Lake:
		paths = from
	case sampleOrigin:
		paths = from.Lake
	default: // a replay reads the rows where they stand
		return "", "", nil
	}
	files, _, err := ingestlake.Files(ctx, paths)
	if err != nil {
		return "", "", err
	}
	told := kafkalog.PlacesTold(files)
	if len(told) == 0 {
		return "", "", nil
	}
	columns := strings.Join(told, ", ")
	if len(segments) == 0 {
		return "", fmt.Sprintf("of which topic and partitions the rows are: the data have columns that tell it (%s), and the certificate names no segments, so that its sentences speak of no topic", columns), nil
	}
	if err := kafkalog.CheckPlaces(ctx, files, told, segments, res.PageMemory()); err != nil {
		return "", "", err
	}
	return fmt.Sprintf("the columns %s of the data say of each row what the certificate's %s say", columns, certify.Count(int64(len(segments)), "segment")), "", nil
}
