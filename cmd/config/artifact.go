package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/objects"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/pass"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
	"github.com/pacsgp/pacsgp/pipeline/score"
	"github.com/pacsgp/pacsgp/sink"
	"github.com/pacsgp/pacsgp/sink/kafkalog"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
	"github.com/pacsgp/pacsgp/sink/sign"
)

// MaxCertificate bounds a certificate, in either form. One about 1,000 columns has
// some 200 KB.
const MaxCertificate = 16 << 20

// ReadModel reads the model of a reference, and returns the SHA-256 of its bytes with it.
func ReadModel(ctx context.Context, reference string) (pass.Model, string, error) {
	data, err := ReadArtifact(ctx, reference)
	if err != nil {
		return pass.Model{}, "", err
	}
	return sink.ModelIn(reference, data)
}

// ReadCertificate reads the certificate of a reference, a JSON document or a Parquet row, and
// returns its id with it: the SHA-256 of the document.
func ReadCertificate(ctx context.Context, reference string) (certify.Certificate, string, error) {
	data, err := ReadArtifact(ctx, reference)
	if err == nil && len(data) > MaxCertificate {
		err = fmt.Errorf("%s: it is a model; want its certificate", reference)
	}
	if err != nil {
		return certify.Certificate{}, "", err
	}
	return sink.CertificateIn(reference, data)
}

// ReadArtifacts reads a model and its certificate.
func ReadArtifacts(ctx context.Context, model, certificate string) (a score.Artifact, err error) {
	if a.Model, a.Digest, err = ReadModel(ctx, model); err == nil {
		a.Certificate, a.ID, err = ReadCertificate(ctx, certificate)
	}
	return a, err
}

// SignedBy returns which key, of a file or folder of trusted ones, has signed the certificate of a
// reference with this id; "" if none is demanded. Signatures are next to it.
func SignedBy(ctx context.Context, reference, id string, c certify.Certificate, trusted string) (string, error) {
	if trusted == "" {
		return "", nil
	}
	signatures, err := sinklake.Signatures(nil, objects.Dir(reference), id)
	if err != nil {
		return "", err
	}
	return signedBy(ctx, id, c, signatures, trusted)
}

func signedBy(ctx context.Context, id string, c certify.Certificate, signatures [][]byte, trusted string) (string, error) {
	keys, err := sign.ReadTrusted(trusted)
	if err != nil {
		return "", Argument(fmt.Errorf("--trusted: %w", err))
	}
	by, err := keys.Check(ctx, id, c.Model.Digest, signatures)
	if err != nil {
		err = fmt.Errorf("%w: %w", job.ErrRefused, err)
	}
	return by, err
}

// ReadArtifact returns the bytes of a certificate or a model, at most the size of a
// certificate or that of the model's own footer.
func ReadArtifact(ctx context.Context, reference string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := objects.NewView().Open(ctx, reference)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	size := f.Size()
	if size > MaxCertificate {
		if err := sink.CheckModelSize(f, size); err != nil {
			return nil, fmt.Errorf("%s: it has %d bytes, more than a certificate (%d MiB), and is no model: %w", reference, size, MaxCertificate>>20, err)
		}
	}
	data := make([]byte, size)
	if _, err := f.ReadAt(data, 0); err != nil {
		return nil, fmt.Errorf("%s: it has changed while it was read: %w", reference, err)
	}
	return data, nil
}

// TrustedKeys is what the flag --trusted means.
const TrustedKeys = "public `keys`, a file or a folder of some: demand a signature by one of them"

// Trust reads the value of that flag. A variable of a script that is not set would trust anybody.
func Trust(keys *string) func(string) error {
	return func(path string) error {
		if *keys = path; path == "" {
			return errors.New("want public keys; leave the flag out to demand no signature")
		}
		return nil
	}
}

// ArtifactPaths are the model and the certificate that arguments begin with, and the arguments after
// them. An output directory stands for what is current there.
func ArtifactPaths(ctx context.Context, args []string) (model, certificate string, rest []string, err error) {
	model, certificate, folder, err := CurrentPaths(ctx, args[0])
	if len(args) > 1 && (!folder || err != nil) {
		if _, err := os.Stat(filepath.Join(args[1], CurrentFile)); err == nil {
			return "", "", nil, Argument(fmt.Errorf("%s is an output directory: name it first, and then the data %s", args[1], args[0]))
		}
	}
	if folder || err != nil {
		return model, certificate, args[1:], err
	}
	if len(args) < 2 {
		return "", "", nil, Argument(fmt.Errorf("%s: want MODEL and CERTIFICATE, or an output directory with %s", args[0], CurrentFile))
	}
	return args[0], args[1], args[2:], MayBeModel(args[0])
}

// A publishConfig declares the location of artifacts next to the output directory.
type publishConfig struct {
	Kafka topicsConfig `yaml:"kafka"`
}

// A topicsConfig declares the topics of artifacts.
type topicsConfig struct {
	Name   string      `yaml:"name"`
	Topics topicPrefix `yaml:"topics"`
}

// A topicPrefix begins the names of the topics of artifacts; empty means pacsgp.
type topicPrefix string

func (p topicPrefix) topics() kafkalog.Topics {
	if p == "" {
		return kafkalog.Topics{}
	}
	return kafkalog.Topics{Certificates: string(p) + "-certificates", Models: string(p) + "-models", Current: string(p) + "-current"}
}

// ArtifactTopics are the topics of artifacts.
type ArtifactTopics struct {
	Cluster Cluster
	Topics  kafkalog.Topics
	Name    string
	group   string // its offsets are committed with the artifact; "": none
	sign    sign.KeyFile
}

// artifactTopics are those of the section, or nil.
func (c JobFile) artifactTopics(faults *yamlfile.Faults) *ArtifactTopics {
	const key = "publish.kafka"
	k, group := c.Publish.Kafka, c.Source.Kafka.Group
	if c.Source.scheduled {
		group = ""
	}
	if reflect.ValueOf(k).IsZero() {
		faults.Unless(group == "", "source.kafka.group", "its offsets are committed with what is published, so declare publish.kafka")
		return nil
	}
	s := &ArtifactTopics{
		Cluster: c.Kafka, Topics: k.Topics.topics(), Name: k.Name, group: group, sign: sign.KeyFile(c.Sign),
	}
	faults.Unless(!strings.HasPrefix(k.Name, "score/") && !strings.HasPrefix(k.Name, "sequence/") && !partitionName.MatchString(k.Name), key+".name", "names that begin with score/ or sequence/, or end in a slash and a number, are reserved")
	faults.Unless(k.Name != "" && !strings.ContainsAny(k.Name, "\n\r") && len(k.Name) <= 200 && !IsID(k.Name), key+".name", "name the model, under which consumers find the current one")
	return s
}

// partitionName is how the pointers of a shared group end.
var partitionName = regexp.MustCompile(`/[0-9]+$`)

// Publisher publishes next to the output; nil: nothing.
func (p Task) Publisher() pipeline.Publisher {
	if p.PublishTo == nil {
		return nil
	}
	return &publisher{ArtifactTopics: p.PublishTo, source: p.Source, required: p.Require.Of}
}

// IsID reports whether a text has the form of the id of a certificate.
func IsID(text string) bool { return len(text) == 64 && strings.Trim(text, "0123456789abcdef") == "" }

// MakeTopics makes the topics of a job, of one partition and as many replicas as the cluster has by
// default.
func (p Task) MakeTopics(ctx context.Context, report func(topic string, made bool)) (err error) {
	const partitions, replicas = 1, -1
	var cluster Cluster
	from, _ := p.Source.(*Topic)
	deadLetters := from != nil && from.DeadLetters != ""
	switch {
	case p.PublishTo != nil:
		cluster = p.PublishTo.Cluster
	case deadLetters:
		cluster = from.Cluster
	default:
		return fmt.Errorf("%w: publish.kafka: the job publishes to no topic", job.ErrConfig)
	}
	client, err := cluster.Client()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	if p.PublishTo != nil {
		if err := kafkalog.Create(ctx, client, p.PublishTo.Topics, partitions, replicas, report); err != nil {
			return err
		}
	}
	if deadLetters {
		made, err := client.CreateTopic(ctx, from.DeadLetters, partitions, replicas, nil)
		if err != nil {
			return err
		}
		report(from.DeadLetters, made)
	}
	return nil
}

// DefaultTopics are those of the default names, on brokers as in kafka-1:9092,kafka-2:9092.
func DefaultTopics(brokers string, warning func(string)) *ArtifactTopics {
	return &ArtifactTopics{Cluster: Cluster{Brokers: strings.Split(brokers, ","), Patience: yamlfile.Duration(20 * time.Second), Warning: warning}}
}

// Promote makes a published certificate the current one of a name, and returns it with the id of the one
// before.
func (s *ArtifactTopics) Promote(ctx context.Context, id, name string, required pipeline.Required) (c certify.Certificate, before string, err error) {
	if !IsID(id) {
		return c, "", Argument(fmt.Errorf("%s: want the whole id of a published certificate", id))
	}
	client, err := s.Cluster.Client()
	if err != nil {
		return c, "", err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	a, err := kafkalog.NewPointers(client, s.Topics, name).Artifact(ctx, pipeline.Current{ArtifactRef: pipeline.ArtifactRef{ID: id}})
	if err == nil {
		err = certify.Recompute(a.Certificate)
	}
	if err == nil {
		err = schedule.Promotable(ctx, a.Certificate, a.Model, id, required)
	}
	if err == nil {
		before, err = kafkalog.Promote(ctx, kafkalog.Config{Client: client, Topics: s.Topics, Name: name}, a.Certificate, id, required)
	}
	return a.Certificate, before, err
}

// Pull writes the artifact of a name or id into a directory, and returns the paths of its files. That of a name
// is current there.
func (s *ArtifactTopics) Pull(ctx context.Context, fsys durable.FS, name, output string) (paths []string, err error) {
	client, err := s.Cluster.Client()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	at := pipeline.Current{ArtifactRef: pipeline.ArtifactRef{ID: name}}
	if !IsID(name) {
		if at, err = kafkalog.NewPointers(client, s.Topics, name).Current(ctx); err != nil {
			return nil, err
		}
	}
	a, err := kafkalog.Pull(ctx, client, s.Topics, at.ID)
	if err != nil {
		return nil, err
	}
	if paths, err = sinklake.PutFiles(ctx, fsys, output, a); err != nil || IsID(name) {
		return paths, err
	}
	c, err := certify.Parse(a.Document)
	if err != nil {
		return nil, err
	}
	out := OutputIn(output, fsys)
	release, err := out.Hold()
	if err != nil {
		return nil, err
	}
	at.Model = c.Model.Digest
	err = pipeline.PointTo(out, c, at.ArtifactRef, at.Predictor, time.Now())
	return append(paths, filepath.Join(output, CurrentFile)), errors.Join(err, release())
}
