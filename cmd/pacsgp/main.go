// Pacsgp fits a sparse Gaussian process to rows of files or a topic, and publishes it with a
// certificate: a bound, with a stated confidence, on its misses in new rows of the same source.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/sink/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	spareMemory()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	w := system{
		stdout: os.Stdout, stderr: os.Stderr, lookup: os.LookupEnv,
		fs: durable.OS{}, terminal: terminalWidth(os.Stderr), style: styleOf(os.Stdout),
		log: newLogging(), demo: theDemo,
	}
	afterSignal(ctx, func() {
		w.log.fail(os.Stderr, w.terminal, fmt.Errorf("%w, and stopped after %v: nothing half-written is left, a checkpoint from before stays", pipeline.ErrInterrupted, patience))
		os.Exit(exitInterrupted)
	})
	err := run(ctx, os.Args[1:], w)
	stop()
	if err == nil {
		return
	}
	w.log.fail(os.Stderr, w.terminal, err)
	os.Exit(status(err))
}

// patience is how long a process may, after a signal, finish and save a step of training. Then it
// is ended, which loses nothing: files appear whole or not at all.
const patience = 20 * time.Second

// afterSignal calls end if the process is still alive patience after the end of ctx.
func afterSignal(ctx context.Context, end func()) {
	context.AfterFunc(ctx, func() { time.AfterFunc(patience, end) })
}

// spareMemory sets GOGC, unless the user does. Training has a dozen large matrices and allocates
// few new ones: a heap of twice their size would waste memory.
func spareMemory() {
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(30)
	}
}

// run runs the command that args name. It writes no control characters to a terminal.
func run(ctx context.Context, args []string, w system) error {
	out, log := report.NewEscaper(w.stdout), report.NewEscaper(w.stderr)
	w.paper, w.screen = w.stdout, w.stderr
	w.stdout, w.stderr = out, log
	err := dispatch(ctx, args, w)
	_ = log.Flush() // the run goes on if the terminal is broken
	if lost := out.Flush(); lost != nil && (err == nil || errors.Is(err, pipeline.ErrNotCertified)) {
		err = fmt.Errorf("standard output: %w", lost)
	}
	return err
}

// A reworded error is an error with its text replaced.
type reworded struct {
	error
	text string
}

func (r reworded) Error() string { return r.text }

func (r reworded) Unwrap() error { return r.error }

// dispatch parses args and runs the command that they name.
func dispatch(ctx context.Context, args []string, w system) error {
	root := &cobra.Command{
		Use:   "pacsgp",
		Short: "Sparse Gaussian processes with a certificate, from files or topics",
		Long: "pacsgp fits a sparse Gaussian process to rows in Parquet files or on a Kafka topic, and publishes it with a " +
			"certificate: an upper bound on the share of new rows that it will miss. Anyone who has the model, the " +
			"certificate and the rows can check it.\n\n" +
			"Exit status: 0 certified, 1 failure, 2 wrong usage, 3 finished without the required certificate " +
			"(vacuous, void, or above what the job requires), 78 bad configuration, 130 interrupted.",
		Version:       config.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate(versionLine())
	w.log.flags(root)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		err := w.log.check()
		cmd.Flags().Visit(func(f *pflag.Flag) {
			if f.Value.Type() == "string" && f.Value.String() == "" { // the value of an unset variable
				err = cmp.Or(err, config.Argument(fmt.Errorf("--%s is empty: give a value, or leave the flag out", f.Name)))
			}
		})
		return err
	}
	root.SetArgs(args)
	root.SetOut(w.stdout)
	root.SetErr(w.stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return config.Argument(err) })
	root.AddCommand(
		demoCommand(w), trainCommand(w), streamCommand(w), verifyCommand(w), predictCommand(w), //nolint:contextcheck // cobra hands it to RunE
		passCommand(w), certifyCommand(w), //nolint:contextcheck // cobra hands it to RunE
		scheduleCommand(w), promoteCommand(w), scoreCommand(w), watchCommand(w), //nolint:contextcheck // cobra hands it to RunE
		topicsCommand(w), pullCommand(w), //nolint:contextcheck // cobra hands it to RunE
		inspectCommand(w), planCommand(w), splitCommand(w), lintCommand(w), schemaCommand(w), consoleCommand(w), versionCommand(w), //nolint:contextcheck // cobra hands it to RunE
	)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		report.WriteWrapped(w.stdout, "", cmp.Or(cmd.Long, cmd.Short), w.style)
		_, _ = fmt.Fprint(w.stdout, "\n"+cmd.UsageString())
	})
	err := root.ExecuteContext(ctx)
	if errors.Is(err, context.Canceled) {
		return pipeline.ErrInterrupted // without where it was interrupted
	}
	if err != nil && strings.HasPrefix(err.Error(), "unknown command") {
		return config.Argument(errors.New(strings.Join(strings.Fields(err.Error()), " "))) // cobra's text has several lines
	}
	return err
}
