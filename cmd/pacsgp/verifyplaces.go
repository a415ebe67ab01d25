package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/pipeline"
)

// checkPlaces holds what files say of where their rows stood in a topic, as those of a spool
// do, against the segments of a certificate. Rows that are of the topic no file can show:
// whoever gives the certificate may have written the files too.
func (v *verified) checkPlaces(ctx context.Context, from config.Origin, res pipeline.Resources) error {
	var paths []string
	switch from := from.(type) {
	case config.Lake:
		paths = from
	case sampleOrigin:
		paths = from.Lake
	default: // a replay reads the rows where they stand
		return nil
	}
	files, _, err := ingestlake.Files(ctx, paths)
	if err != nil {
		return err
	}
	told := kafkalog.PlacesTold(files)
	if len(told) == 0 {
		return nil
	}
	columns := strings.Join(told, ", ")
	segments := v.certificate.Sample.Segments
	if len(segments) == 0 {
		v.unplaced = fmt.Sprintf("of which topic and partitions the rows are: the data have columns that tell it (%s), and the certificate names no segments, so that its sentences speak of no topic", columns)
		return nil
	}
	if err := kafkalog.CheckPlaces(ctx, files, told, segments, res.PageMemory()); err != nil {
		return err
	}
	v.found.Checked = append(v.found.Checked, fmt.Sprintf("the columns %s of the data say of each row what the certificate's %s say", columns, certify.Count(int64(len(segments)), "segment")))
	return nil
}
