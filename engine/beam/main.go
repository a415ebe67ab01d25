// Pacsgp-beam does what pacsgp train and predict do, with an engine that runs Apache Beam: prism, in this
// process, unless flags name another one. Model, certificate and predictions are the same.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/report"
)

const usage = `usage: pacsgp-beam train job.yaml [flags]      train, have the last pass made, and publish
       pacsgp-beam certify job.yaml [flags]    the same after pacsgp train --no-pass
       pacsgp-beam predict (DIR | MODEL CERTIFICATE) DATA ... -o FOLDER [flags]
flags are those of Apache Beam (pacsgp-beam -help), such as
  --runner flink --endpoint HOST:PORT --environment_type PROCESS ...
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err == nil {
		return
	}
	escaped := report.NewEscaper(os.Stderr)
	for line := range strings.Lines(err.Error()) {
		_, _ = fmt.Fprintln(escaped, "pacsgp-beam:", strings.TrimSuffix(line, "\n"))
	}
	_ = escaped.Flush()
	os.Exit(status(err))
}

func status(err error) int {
	if _, usage := errors.AsType[config.ArgumentError](err); usage {
		return 2
	}
	if errors.Is(err, pipeline.ErrInterrupted) {
		return 130
	}
	return pipeline.ExitStatus(err)
}

// run runs the command. In a process that an engine has started, it runs a worker and does not return.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flag.Usage = func() {
		_, _ = io.WriteString(stderr, usage)
		flag.PrintDefaults()
	}
	names, err := parse(args)
	if err != nil {
		return err
	}
	if *provisionEndpoint != "" {
		if err := boot(ctx); err != nil {
			return err
		}
		signal.Reset() // Beam's worker ignores ctx
	}
	register()
	beam.Init()
	if *jobopts.Async {
		return config.Argument(errors.New("--async: what the engine makes is published here, afterwards"))
	}
	if *jobopts.WorkerBinary == "" { // else Beam may build one from sources, which are not there
		if *jobopts.WorkerBinary, err = os.Executable(); err != nil {
			return err
		}
	}
	if err := misplaced(names, flag.CommandLine); err != nil {
		return err
	}
	c := console{stdout, stderr}
	switch args := names[min(1, len(names)):]; {
	case len(args) == 1 && (names[0] == "train" || names[0] == "certify"):
		return certified(ctx, args[0], c, names[0] == "train")
	case len(args) > 0 && names[0] == "predict":
		return predict(ctx, args, c)
	}
	return config.Argument(errors.New(strings.TrimSpace(usage)))
}

// certified runs the commands train (if train is set) and certify.
func certified(ctx context.Context, path string, c console, train bool) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	d, err := newDriver(ctx, path, c.stdout, c.stderr)
	if err != nil {
		return err
	}
	if train {
		if err := d.train(ctx); err != nil {
			return err
		}
	}
	return d.certify(ctx)
}

// misplaced returns an error if a flag belongs to another command.
func misplaced(names []string, given *flag.FlagSet) (err error) {
	given.Visit(func(f *flag.Flag) {
		if ours := f.Name == "o" || f.Name == "trusted" || f.Name == "interval"; ours && len(names) > 0 && names[0] != "predict" {
			err = config.Argument(fmt.Errorf("-%s is a flag of predict, not of %s", f.Name, names[0]))
		}
	})
	return err
}

// parse parses the flags among args, in any position, and returns the other arguments.
func parse(args []string) (others []string, err error) {
	for {
		if err := flag.CommandLine.Parse(args); err != nil {
			return nil, config.Argument(err)
		}
		if args = flag.Args(); len(args) == 0 {
			return others, nil
		}
		others, args = append(others, args[0]), args[1:]
	}
}
