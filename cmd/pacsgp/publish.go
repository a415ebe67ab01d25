package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink"
	"github.com/pacsgp/pacsgp/sink/kafkalog"
	sinklake "github.com/pacsgp/pacsgp/sink/lake"
)

func topicsCommand(w system) *cobra.Command {
	var path string
	var partitions, replicas int
	cmd := &cobra.Command{
		Use:   "topics -c job.yaml",
		Short: "Make the topics that a job publishes to",
		Long: "Make the three topics that publish.kafka of a job names, where they are not there: of\n" +
			"certificates and of models, which keep everything, and of pointers, which is compacted;\n" +
			"and the one that bad_rows.to names.",
		Args: exactly(0, "none, for the job file is given by -c"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadJob(cmd.Context(), path, w, config.Overrides{}, cmd.Flags().Changed)
			if err != nil {
				return err
			}
			return c.MakeTopics(cmd.Context(), partitions, replicas, func(topic string, made bool) {
				word := "was there"
				if made {
					word = "made"
				}
				_, _ = fmt.Fprintf(w.stdout, "%s: %s\n", topic, word)
			})
		},
	}
	cmd.Flags().StringVarP(&path, "config", "c", "", "the job file (YAML)")
	cmd.Flags().IntVar(&partitions, "partitions", 1, "of each topic")
	cmd.Flags().IntVar(&replicas, "replicas", -1, "of each partition (default: as the cluster has it)")
	return cmd
}

func pullCommand(w system) *cobra.Command {
	var output, from string
	cmd := &cobra.Command{
		Use:   "pull NAME|ID -o DIRECTORY --kafka JOB.yaml|BROKERS",
		Short: "Get a published artifact from its topics",
		Long: "Write the model and the certificate that a name points to now, or that have an id, as the\n" +
			"files that a job writes into its output directory, and check every hash. --kafka names a\n" +
			"job file whose publish.kafka says where the topics are, or brokers as in\n" +
			"kafka-1:9092,kafka-2:9092.",
		Args: exactly(1, "NAME or ID"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if output == "" {
				return usageError{errors.New("-o: name the directory to write to")}
			}
			s, err := shelfOf(cmd.Context(), w, from)
			if err != nil {
				return err
			}
			return pull(cmd.Context(), w, s, args[0], output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "the directory to write to")
	cmd.Flags().StringVar(&from, "kafka", "", "a job file, or brokers")
	return cmd
}

// shelfOf is what --kafka names: a job file, or brokers with topics of the usual names.
func shelfOf(ctx context.Context, w system, from string) (*config.Shelf, error) {
	switch {
	case from == "":
		return nil, usageError{errors.New("--kafka: name a job file, or brokers as in kafka-1:9092")}
	case strings.HasSuffix(from, ".yaml") || strings.HasSuffix(from, ".yml"):
		p, err := loadJob(ctx, from, w, config.Overrides{}, func(string) bool { return false })
		if err == nil && p.Shelf == nil {
			err = fmt.Errorf("%w: %s: publish.kafka is not declared", pipeline.ErrConfig, from)
		}
		return p.Shelf, err
	default:
		return &config.Shelf{Cluster: config.Cluster{Brokers: strings.Split(from, ","), Patience: yamlfile.Duration(20 * time.Second), Told: newDisplay(w).notice}}, nil
	}
}

// pull writes an artifact into a directory.
func pull(ctx context.Context, w system, s *config.Shelf, name, output string) (err error) {
	client, err := s.Cluster.Client()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	a, err := kafkalog.Pull(ctx, client, s.Topics, name)
	if err != nil {
		return err
	}
	c, err := certify.Parse(a.Document)
	if err != nil {
		return err
	}
	m, err := sink.DecodeModel(a.Model)
	if err != nil {
		return err
	}
	dir, err := sinklake.Open(output, w.fs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	sum, err := dir.PutModel(ctx, m)
	if err == nil && sum != c.Model.Digest {
		err = fmt.Errorf("%w: the model is not in the form that this version writes (SHA-256 %s, not %s)", pipeline.ErrRefused, sum, c.Model.Digest)
	}
	if err != nil {
		return err
	}
	id, err := dir.PutCertificate(ctx, c)
	if err != nil {
		return err
	}
	for _, file := range []string{sinklake.ModelName(sum), sinklake.CertificateName(id), sinklake.RowName(id)} {
		_, _ = fmt.Fprintln(w.stdout, filepath.Join(output, file))
	}
	return nil
}
