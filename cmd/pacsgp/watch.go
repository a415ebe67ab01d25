package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/words"
	"github.com/pacsgp/pacsgp/pipeline"
	"github.com/pacsgp/pacsgp/pipeline/score"
	"github.com/pacsgp/pacsgp/pipeline/watch"
	"github.com/pacsgp/pacsgp/sink/report"
)

func watchCommand(w system) *cobra.Command {
	var path, state string
	var alarm config.Share
	var follow, asJSON bool
	cmd := &cobra.Command{
		Use:   "watch (DIR | MODEL CERTIFICATE) DATA ... --state DIR | -c FILE",
		Short: "Test a published model on labelled rows that came after it",
		Long: "Predict labelled rows that came after a model was trained, count misses, and say what they prove: how " +
			"often the model misses such rows, on average, and whether they contradict the certificate. With a " +
			"watch file, watch reads rows of a topic, or follows the current model of an output. Each file and offset counts once, " +
			"even if the command is killed and run again. docs/howto/monitor.md explains the rest.\n\n" +
			"Exit status 3: the rows contradict the certified bound.",
		Args: between(0, 1<<20, "(DIR | MODEL CERTIFICATE) DATA ..."),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := watchFile(cmd.Context(), w, path, args)
			if err != nil {
				return err
			}
			c.State = cmp.Or(state, c.State)
			if cmd.Flags().Changed("alarm") {
				c.Alarm = &alarm
			}
			if path == "" && c.State == "" {
				return config.Argument(errors.New("--state: name the directory for the counts, such as that of the model"))
			}
			if err := c.Check(); err != nil {
				return err
			}
			return runWatch(cmd.Context(), w, c, follow, asJSON)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&path, "config", "c", "", "the watch file (YAML)")
	f.StringVar(&state, "state", "", "the directory that stores what was counted")
	f.Func("alarm", "`probability` of a false alarm (default 0.01)", alarm.Set)
	f.BoolVar(&follow, "follow", false, "go on as rows arrive")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// watchFile reads the watch file at path, or makes one of arguments.
func watchFile(ctx context.Context, w system, path string, args []string) (c config.WatchFile, err error) {
	switch {
	case path != "" && len(args) > 0:
		return c, config.Argument(errors.New("-c: MODEL, CERTIFICATE and DATA are given too; want one of them"))
	case path != "":
		return config.ReadWatch(ctx, path, w.environment())
	case len(args) == 0:
		return c, config.Argument(errors.New("want (DIR | MODEL CERTIFICATE) DATA ..., or a watch file by -c"))
	}
	if c.Files.Model, c.Files.Certificate, c.Source.Paths, err = config.ArtifactPaths(ctx, args); err != nil {
		return c, err
	}
	_, err = config.OriginOf(c.Source.Paths)
	return c, err
}

// runWatch counts the rows that exist and, if follow is set, new rows as they arrive.
func runWatch(ctx context.Context, w system, c config.WatchFile, follow, asJSON bool) error {
	show := newDisplay(w)
	defer show.end()
	e := &watchEvents{fileFaults: fileFaults{meters: watchMeters(), show: show, verb: "counted", every: c.Every()}, follow: follow, since: time.Now()}
	e.failedFiles()
	watching := config.Watching{
		WatchFile: c, Service: config.Service{FS: w.fs, Said: show.event, Warned: show.warnOnce},
		Follow: follow, Events: e, Counted: e.counted, RoundEnded: e.round,
	}
	if t, ok := watching.Last(); ok { // so that the server shows an alarm from its start
		e.measure(t)
	}
	if follow {
		watching.Patience = config.ServicePatience
	}
	return operate(ctx, show, c.Serve, e.registry, func() error { return c.Ready(ctx, e.why.get()) }, []string{c.Model.Folder}, follow, func() error {
		last, err := watching.Run(ctx)
		if err != nil {
			return err
		}
		return watched(w, last, asJSON)
	})
}

// watchedDocument is the JSON output of watch.
type watchedDocument struct {
	Certificate string  `json:"certificate"`
	Statement   string  `json:"statement"`
	Rows        int64   `json:"rows"`            // with a label; for units, only those of ended units
	Units       int64   `json:"units"`           // units that have ended
	Loss        float64 `json:"loss"`            // mean over rows or units, rounded up; 0 if there are none
	Bound       float64 `json:"bound"`           // on the expected loss, on average over these rows or units
	Delta       float64 `json:"delta"`           // probability that the bound fails
	Unlabelled  int64   `json:"rows_unlabelled"` // rows in which only the target breaks the row rules
	Bad         int64   `json:"rows_rejected"`   // other rows that break the row rules
	Known       int64   `json:"rows_known"`      // rows that are not new
	Open        int64   `json:"rows_open"`       // rows of units that have not ended
	Late        int64   `json:"rows_late"`       // rows of units that had already ended or have rows of two models
	Certified   float64 `json:"certified_bound"` // the bound that the alarm tests
	Status      string  `json:"bound_status"`    // certified; "" if there is no bound to test
	Evidence    float64 `json:"evidence"`        // evidence against the bound; 1/alarm_delta raises the alarm
	AlarmDelta  float64 `json:"alarm_delta"`
	Alarm       string  `json:"alarm"` // why the alarm was raised; "" if it was not
}

// watched prints the result of the test. An alarm or failed files are an error.
func watched(w system, last config.Watched, asJSON bool) error {
	t := last.Test
	r, err := t.Report(last.By.Certificate)
	if err != nil {
		return err
	}
	if asJSON {
		doc := watchedDocument{
			last.By.ID, r.Statement, t.Labelled(), 0, 0, r.Bound, last.By.Certificate.Delta.Declared, t.Unlabelled, t.Bad, t.Known,
			t.Open, t.Late, t.Alarm.Bound, "", t.Alarm.Worth, t.Alarm.Delta, r.Alarm,
		}
		if doc.Certified < 1 {
			doc.Status = string(last.By.Certificate.About(certify.PredictorMean).Status)
		}
		if t.Unit != nil {
			doc.Units = t.Losses.Count()
		}
		if doc.Rows > 0 {
			doc.Loss = t.Losses.Upper()
		}
		err = printJSON(w.stdout, doc)
	} else {
		report.WriteWrapped(w.stdout, "", r.Statement, w.style)
	}
	if err == nil && r.Alarm != "" { // also if files failed: the alarm is not reported again
		err = pipeline.NotCertified("alarm: %s (hint: %s)", r.Alarm, watch.Ends)
	}
	if last.Failed > 0 {
		err = errors.Join(err, fmt.Errorf("%s could not be counted", words.Count(int64(last.Failed), "file")))
	}
	return err
}

// watchEvents reports what watch does, in the log and in metrics.
type watchEvents struct {
	fileFaults
	follow bool

	mu      sync.Mutex // guards the fields below
	by      string     // id of the certificate that is tested
	since   time.Time  // when the last line about rows was logged
	rows    string     // the next line about rows; "" if nothing has changed
	alarmed string     // id of the certificate whose alarm was reported
}

func (e *watchEvents) Adopted(by *score.Predictor) {
	e.why.set(nil)
	e.show.event(fmt.Sprintf("new rows test certificate %.12s…", by.ID))
	e.mu.Lock()
	defer e.mu.Unlock()
	e.by = by.ID
}

// Predicted logs counted files; counted logs what their rows show.
func (e *watchEvents) Predicted(what score.Done) {
	if len(what.Files) == 0 { // for files, round does this
		e.why.set(nil)
	}
	for _, f := range what.Files {
		e.show.event(fmt.Sprintf("%s: %s", f.Path, words.Count(f.Rows, "row")))
	}
}

// counted logs the state of a test at most every sumEvery. It logs an alarm at once with follow, else the end of the
// command does. Metrics are about the model that is tested now.
func (e *watchEvents) counted(by *score.Predictor, t watch.Test) {
	r, err := t.Report(by.Certificate)
	if err != nil {
		e.show.warnOnce(err.Error())
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if by.ID == e.by {
		e.measure(t)
		e.set("pacsgp_watch_bound", r.Bound)
	}
	e.rows = r.Statement
	alarm := e.follow && t.Alarm.Raised > 0 && e.alarmed != by.ID
	if e.log(alarm); alarm {
		e.alarmed = by.ID
		e.add("pacsgp_watch_alarms_total", 1)
		e.show.warning(fmt.Sprintf("ALARM, certificate %.12s…: %s (hint: docs/howto/monitor.md says what ends an alarm)", by.ID, r.Alarm))
	}
}

// round logs what was counted since the last line, even if no more rows arrive.
func (e *watchEvents) round(failed int) {
	e.fileFaults.round(failed)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.log(false)
}

// log logs the next line about rows, if the last one is at least sumEvery ago or now is set.
func (e *watchEvents) log(now bool) {
	if e.rows == "" || !now && time.Since(e.since) < sumEvery {
		return
	}
	e.show.event(e.rows)
	e.since, e.rows = time.Now(), ""
}

func watchMeters() meters {
	m := newMeters()
	m.gauge("pacsgp_watch_rows", "Rows of the test of the current certificate, by what they are.", "outcome")
	m.gauge("pacsgp_watch_units", "Units of the test that have ended; 0 where rows are counted.")
	m.gauge("pacsgp_watch_loss", "Mean loss of predictions on the labelled rows, or the units, of the test.")
	m.gauge("pacsgp_watch_bound", "Bound on the expected loss, on average over these rows or units.")
	m.gauge("pacsgp_watch_evidence", "Evidence of these rows against the bound of the certificate: 1 at the beginning, and the inverse of alarm where the alarm is raised.")
	m.gauge("pacsgp_watch_alarm", "1 if the alarm of the current certificate was raised, else 0.")
	m.counter("pacsgp_watch_alarms_total", "Alarms that this process has reported, of all certificates.")
	m.set("pacsgp_watch_bound", 1)
	return m
}

func (e *watchEvents) measure(t watch.Test) {
	rows := map[string]int64{"labelled": t.Labelled(), "unlabelled": t.Unlabelled, "rejected": t.Bad, "known": t.Known}
	if t.Unit != nil {
		rows["open"], rows["late"] = t.Open, t.Late
		e.set("pacsgp_watch_units", float64(t.Losses.Count()))
	}
	for outcome, n := range rows {
		e.set("pacsgp_watch_rows", float64(n), outcome)
	}
	loss := 0.0
	if t.Losses.Count() > 0 {
		loss = t.Losses.Upper()
	}
	e.set("pacsgp_watch_loss", loss)
	e.set("pacsgp_watch_evidence", t.Alarm.Worth)
	e.set("pacsgp_watch_alarm", float64(min(t.Alarm.Raised, 1)))
}
