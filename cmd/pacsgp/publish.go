package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

func topicsCommand(w system) *cobra.Command {
	return onJob(w, &cobra.Command{
		Use:   "topics job.yaml",
		Short: "Make the topics that a job publishes to",
		Long: "Make the three topics that publish.kafka of a job names, where they are not there: of\n" +
			"certificates and of models, which keep everything, and of pointers, which is compacted;\n" +
			"and the one that rejected.to names.",
	}, nil, func(ctx context.Context, p config.Task) error {
		return p.MakeTopics(ctx, func(topic string, made bool) {
			word := "was there"
			if made {
				word = "made"
			}
			_, _ = fmt.Fprintf(w.stdout, "%s: %s\n", topic, word)
		})
	})
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
				return config.Argument(errors.New("-o: name the directory to write to"))
			}
			s, err := artifactTopicsOf(cmd.Context(), w, from)
			if err != nil {
				return err
			}
			paths, err := s.Pull(cmd.Context(), w.fs, args[0], output)
			for _, path := range paths {
				_, _ = fmt.Fprintln(w.stdout, path)
			}
			return err
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "the directory to write to")
	cmd.Flags().StringVar(&from, "kafka", "", "a job file, or brokers")
	return cmd
}

// artifactTopicsOf are those that --kafka names by a job file, or by brokers with topics of the
// default names.
func artifactTopicsOf(ctx context.Context, w system, from string) (*config.ArtifactTopics, error) {
	switch {
	case from == "":
		return nil, config.Argument(errors.New("--kafka: name a job file, or brokers as in kafka-1:9092"))
	case strings.HasSuffix(from, ".yaml") || strings.HasSuffix(from, ".yml"):
		p, err := loadJob(ctx, from, w, config.Overrides{})
		if err == nil && p.PublishTo == nil {
			err = fmt.Errorf("%w: %s: publish.kafka is not declared", job.ErrConfig, from)
		}
		return p.PublishTo, err
	default:
		return config.DefaultTopics(from, newDisplay(w).warning), nil
	}
}
