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
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
	"github.com/pacsgp/pacsgp/sink/report"
)

func topicsCommand(w system) *cobra.Command {
	return onJob(w, &cobra.Command{
		Use:   "topics job.yaml",
		Short: "Make the topics that a job publishes to",
		Long: "Make the topics that a job names, if they are missing: those of certificates, models, pointers (compacted) " +
			"and rejected rows.",
	}, nil, func(ctx context.Context, p config.Task) error {
		return p.MakeTopics(ctx, func(topic string, made bool) {
			_, _ = fmt.Fprintf(w.stdout, "%s: %s\n", topic, map[bool]string{true: "made", false: "was there"}[made])
		})
	})
}

func pullCommand(w system) *cobra.Command {
	var output, from string
	cmd := &cobra.Command{
		Use:   "pull NAME|ID -o DIRECTORY --kafka JOB.yaml|BROKERS",
		Short: "Get a published artifact from its topics",
		Long: "Write the current model and certificate of NAME, or those of the certificate ID, as files of an output " +
			"directory, and check every hash. To name brokers, write --kafka kafka-1:9092,kafka-2:9092.",
		Args: between(1, 1, "NAME or ID"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
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
	outputFlag(cmd, &output, "directory")
	cmd.Flags().StringVar(&from, "kafka", "", "a job file, or brokers")
	return cmd
}

// artifactTopicsOf returns the topics of --kafka: those of a job file, or default names on brokers.
func artifactTopicsOf(ctx context.Context, w system, from string) (*config.ArtifactTopics, error) {
	switch {
	case from == "":
		return nil, config.Argument(errors.New("--kafka: name a job file, or brokers as in kafka-1:9092"))
	case strings.HasSuffix(from, ".yaml") || strings.HasSuffix(from, ".yml"):
		p, err := loadJob(ctx, from, w, config.Overrides{})
		if err == nil && p.PublishTo != nil {
			p.PublishTo.Require = p.Require
		} else if err == nil {
			err = fmt.Errorf("%w: %s: publish.kafka is not declared", job.ErrConfig, from)
		}
		return p.PublishTo, err
	default:
		return config.DefaultTopics(from, newDisplay(w).warning), nil
	}
}

func promoteCommand(w system) *cobra.Command {
	who := certify.PredictorMean
	var from string
	cmd := &cobra.Command{
		Use:   "promote ID (DIR | NAME --kafka JOB.yaml|BROKERS)",
		Short: "Make another certified model the current one",
		Long: "Make a certificate of an output directory current, for example to roll back, or make a certificate on " +
			"topics the current one of NAME. The certificate must follow from its model, and certify something.",
		Args: between(2, 2, "ID and DIR, or ID and NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if who != certify.PredictorMean && who != certify.PredictorDraw {
				return config.Argument(fmt.Errorf("--require: %q is neither %s nor %s", who, certify.PredictorMean, certify.PredictorDraw))
			}
			return promote(cmd.Context(), w, from, args[0], args[1], who)
		},
	}
	cmd.Flags().StringVar(&from, "kafka", "", "the topics: a job file, or brokers")
	cmd.Flags().StringVar((*string)(&who), "require", string(certify.PredictorMean), "what must be certified:\nprediction or draw")
	return cmd
}

// promote moves the pointer of the name to on topics or, if topics is "", of the folder to. id
// may be the beginning of an id. It prints which certificate is current.
func promote(ctx context.Context, w system, topics, id, to string, who certify.Predictor) (err error) {
	var c certify.Certificate
	var before string
	if topics != "" {
		var s *config.ArtifactTopics
		if s, err = artifactTopicsOf(ctx, w, topics); err == nil {
			c, before, err = s.Promote(ctx, id, to, who)
		}
		if err == nil && s.Require.Limit > 0 && c.About(s.Require.Of).Bound > s.Require.Limit {
			newDisplay(w).warning(fmt.Sprintf("its bound, %s%s, is above what the job requires, %s", words.Bound(c.Loss.Shares(), c.About(s.Require.Of).Bound), pipeline.OffBy(c.Loss), words.PercentDeclared(s.Require.Limit)))
		}
	} else if err = config.Local(to); err == nil {
		if id, err = config.CertificateIn(to, id); err == nil {
			out := config.OutputIn(to, w.fs)
			if c, before, err = schedule.Promote(ctx, out, id, who, time.Now()); err == nil {
				warnOfRefusal(newDisplay(w), out, id)
				newDisplay(w).warnings(config.Alarms(filepath.Join(to, config.CurrentFile), id, c))
			}
		}
		to = filepath.Join(to, config.CurrentFile)
	}
	if err != nil {
		return err
	}
	newDisplay(w).warnings(report.ModelWarnings(c))
	_, err = fmt.Fprintf(w.stdout, "%s: now %.12s, before %.12s\n", to, id, before)
	return err
}

// warnOfRefusal warns if the record of a certificate's run has exit status 3.
func warnOfRefusal(show *display, out *config.Output, id string) {
	runs, err := out.Runs()
	if err != nil {
		return
	}
	for r := range runs {
		if schedule.Certificate(r) == id && r.Exit != nil && *r.Exit == exitNotCertified {
			show.warning(fmt.Sprintf("its run has ended with %d: %s", *r.Exit, r.Reason()))
			return
		}
	}
}
