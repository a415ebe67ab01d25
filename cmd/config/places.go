package config

import (
	"context"
	"fmt"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline"
)

// CheckPlaces compares the places of rows in a topic, from columns of the files such as those of
// a spool, with the segments of a certificate. It returns the finding or, without segments, the
// open question; both are "" without such columns. No file proves that rows are of a topic:
// whoever wrote the certificate may have written the files too.
func CheckPlaces(ctx context.Context, from Origin, segments []certify.Segment, res pipeline.Resources) (checked, open string, err error) {
	var paths []string
	switch from := from.(type) {
	case Lake:
		paths = from
	case sampleOrigin:
		paths = from.Lake
	default: // a replay reads the rows at their places
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
		return "", fmt.Sprintf("the topic and the partitions of the rows: the data name them (columns %s), the certificate has no segments, and its sentences speak of no topic", columns), nil
	}
	if err := kafkalog.CheckPlaces(ctx, files, told, segments, res.PageMemory()); err != nil {
		return "", "", err
	}
	return fmt.Sprintf("the columns %s of the data say of each row what the certificate's %s say", columns, words.Count(int64(len(segments)), "segment")), "", nil
}
