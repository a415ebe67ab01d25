package config

import (
	"slices"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// declared reports whether the section is there.
func (c Stream) declared() bool { return c != (Stream{}) }

// Shared reports whether members share the partitions.
func (c Stream) Shared() bool { return c.Group == GroupShared }

// check adds the faults of the section itself.
func (c Stream) check(faults *yamlfile.Faults) {
	faults.Unless(slices.Contains([]string{"", GroupSingle, GroupShared}, c.Group), "stream.group", "%q is neither "+GroupSingle+" nor "+GroupShared, c.Group)
	faults.Unless(c.SessionTimeout == nil || time.Duration(*c.SessionTimeout) >= time.Second, "stream.session_timeout", "want some seconds, as in 20s")
	faults.Unless(c.Keep == nil || *c.Keep >= 0, "stream.retain", "the number of windows is negative")
	c.Promote.check("stream.promote", faults)
}

// goesOn reports whether a job has keys of a stream. A job without them may be one too.
func (p Task) goesOn() bool {
	return p.Stream.declared() || p.Serve.Declared()
}

// DemandStream refuses a job that is no stream.
func (p Task) DemandStream() error {
	var faults yamlfile.Faults
	p.mustGoOn(&faults)
	return faults.Err(job.ErrConfig)
}

// mustGoOn adds the faults of a stream.
func (p Task) mustGoOn(faults *yamlfile.Faults) {
	faults.Unless(p.Rejected == "", "rejected.to", "a stream sends rejected rows to a topic, as in {kafka: rows-dead}: a file would be that of the last window")
	faults.Unless(p.Stream.Promote.Within == 0 || p.Job.Loss.EpsilonStd == 0, "stream.promote", "a tolerance in standard deviations is another one in each window, and certificates of different tolerances cannot be compared: give loss.epsilon in the target's units")
	faults.Unless(p.Job.Train.Time == 0, "train.time", "a resumed window must give the same certificate, and a time limit could change it: limit training by train.passes")
	faults.Unless(p.PublishTo != nil, "publish.kafka", "a stream publishes to topics; name the model")
	from, ok := p.Source.(*Topic)
	if !ok {
		faults.Add("source.kafka", "a stream reads a topic")
		return
	}
	const key = "source.kafka"
	size := from.KafkaSection.Rows
	faults.Unless(size > 0, key, "rows: how many has a window?")
	if size > 0 && len(p.Job.Features) > 0 {
		err := p.Job.Suits(slices.Concat(p.Job.Features, p.Job.NotAFeature(), []string{p.Job.Target}), size)
		faults.Unless(err == nil, key+".rows", "a window of so many rows is too small: %v", err)
	}
	faults.Unless(from.Group != "", key+".group", "name the group whose offsets say what has been certified")
	faults.Unless(from.From == "", key+".from", "a stream begins at the committed offsets of its group, or at the earliest one")
	faults.Unless(from.spool.Limit > 0, "source.spool.limit", "give the disk space for spools, as in 10GB; nothing is consumed while they are full")
	faults.Unless(from.spool.Folder == "", "source.spool.folder", "the spools of a stream are in its output")
	faults.Unless(!p.Stream.Shared() || from.Partitions == nil, key+".partitions", "leave it out: a shared group divides all partitions of the topic among its members")
	if from.Group != "" {
		if err := certify.SequenceName(from.Topic + "/" + from.Group); err != nil {
			faults.Add(key+".group", "%v", err)
		}
	}
}
