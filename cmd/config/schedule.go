package config

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/pacsgp/pacsgp/certify"
	ingestlake "github.com/pacsgp/pacsgp/ingest/lake"
	"github.com/pacsgp/pacsgp/internal/durable"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
)

// A ScheduleFile is a schedule file: one YAML document.
type ScheduleFile struct {
	Poll  yamlfile.Duration `yaml:"poll"`
	Serve Serve             `yaml:"serve"`
	Jobs  []ScheduledJob    `yaml:"jobs"`
}

// A ScheduledJob is a job as a schedule file declares it.
type ScheduledJob struct {
	Name     string            `yaml:"name"`
	Job      string            `yaml:"job"`
	Triggers []Trigger         `yaml:"triggers"`
	Files    filesConfig       `yaml:"files"`
	Retries  int               `yaml:"retries"`
	Backoff  yamlfile.Duration `yaml:"backoff"`
	Time     yamlfile.Duration `yaml:"time"`
	Promote  Promotion         `yaml:"promote"`
}

// A Trigger has exactly one of: a cron expression with a zone, an interval, a number of new rows,
// of new files, or of new offsets of a topic.
type Trigger struct {
	Cron  string            `yaml:"cron"`
	Zone  string            `yaml:"zone"`
	Every yamlfile.Duration `yaml:"every"`
	Rows  atLeast           `yaml:"rows"`
	Files atLeast           `yaml:"files"`
	Lag   atLeast           `yaml:"lag"`
}

// due returns the trigger for a scheduler. Its key names it in the record: a changed trigger counts as a new one.
func (t Trigger) due() schedule.Trigger {
	switch {
	case t.Cron != "":
		moments, _ := schedule.Cron(t.Cron, t.Zone) // check has found no error
		return schedule.Trigger{Key: "cron " + t.Cron + " " + t.Zone, Moments: moments}
	case t.Every != 0:
		return schedule.Trigger{Key: "every " + time.Duration(t.Every).String(), Moments: schedule.Interval(t.Every)}
	case t.Rows != 0:
		return schedule.Trigger{Key: fmt.Sprintf("rows %d", t.Rows), Rows: int64(t.Rows)}
	case t.Lag != 0:
		return schedule.Trigger{Key: fmt.Sprintf("lag %d", t.Lag), Offsets: int64(t.Lag)}
	default:
		return schedule.Trigger{Key: fmt.Sprintf("files %d", t.Files), Files: int64(t.Files)}
	}
}

// A filesConfig declares the files of a run: all, new ones, or those of the last period.
type filesConfig struct {
	Which schedule.Which    `yaml:"-"`
	Last  yamlfile.Duration `yaml:"last"`
	Key   string            `yaml:"key"`
}

const wantFiles = "want all, new, or {last: 30d, key: day} by a date in the paths"

func (f *filesConfig) Form() (yamlfile.Form, string) {
	return yamlfile.Word(&f.Which, schedule.FilesAll, schedule.FilesNew), wantFiles
}

// A ScheduledTask is a runnable job of a schedule.
type ScheduledTask struct {
	*schedule.Job // the job as a scheduler runs it

	Task Task
	Time time.Duration // time limit of a run; 0 means none
}

// ReadSchedule reads a schedule file and its jobs, and reports all faults. Outputs are on fsys.
// software identifies the program in certificates.
func ReadSchedule(ctx context.Context, path string, env Environment, fsys durable.FS, software string) (ScheduleFile, []*ScheduledTask, error) {
	c, tasks, err := checkSchedule(ctx, path, env)
	if err != nil {
		return c, nil, err
	}
	var jobs []*ScheduledTask
	for i, t := range tasks {
		jobs = append(jobs, scheduled(c.Jobs[i], t, fsys, software))
	}
	return c, jobs, nil
}

// Every returns the time between two checks of what is due.
func (c ScheduleFile) Every() time.Duration { return cmp.Or(time.Duration(c.Poll), defaultPoll) }

// checkSchedule reads a schedule file with its jobs, and finds all faults without reading rows.
// Without faults it returns a task for each job.
func checkSchedule(ctx context.Context, path string, env Environment) (ScheduleFile, []Task, error) {
	c, t, err := readConfiguration[ScheduleFile](path, env.Lookup)
	if err != nil {
		return c, nil, err
	}
	var faults yamlfile.Faults
	folder := filepath.Dir(path)
	c.Serve.check(&faults)
	faults.Unless(len(c.Jobs) > 0, "jobs", "name at least one, with its job and triggers")
	var tasks []Task
	names := map[string]bool{}
	outputs := map[string]string{}
	for i := range c.Jobs {
		at, j := fmt.Sprintf("jobs[%d]", i), &c.Jobs[i]
		faults.Unless(certify.Name("job", j.Name) == nil, at+".name", "%q: want a name for the certificates", j.Name)
		faults.Unless(!names[j.Name], at+".name", "%q is the name of two jobs", j.Name)
		names[j.Name] = true
		j.check(at, &faults)
		relativePaths(folder, &j.Job)
		if j.Job == "" {
			faults.Add(at+".job", "name the job file")
			continue
		}
		p, err := ReadJob(ctx, j.Job, env, Overrides{scheduled: true})
		if err != nil {
			if ctx.Err() != nil {
				return c, nil, ctx.Err()
			}
			faults.Within(at+".job", err)
			continue
		}
		j.checkTask(at, p, &faults)
		other, taken := outputs[p.Output]
		faults.Unless(!taken, at+".job", "its output is that of %s; give each job its own", other)
		other, taken = outputs[p.Rejected.To.path]
		faults.Unless(!taken || p.Rejected.To.path == "", at+".job", "its rejected.to is that of %s, and each run replaces the file", other)
		outputs[p.Output], outputs[p.Rejected.To.path] = at, at
		p.Job.Repeated = true
		tasks = append(tasks, p)
	}
	return c, tasks, t.Merge(faults)
}

// check sets defaults of the schedule's own keys and adds faults in them.
func (j *ScheduledJob) check(at string, faults *yamlfile.Faults) {
	faults.Unless(len(j.Triggers) > 0, at+".triggers", "name at least one, as in [{cron: \"30 2 * * *\", zone: UTC}]")
	for k, t := range j.Triggers {
		kinds := 0
		for _, given := range []bool{t.Cron != "", t.Every != 0, t.Rows != 0, t.Files != 0, t.Lag != 0} {
			if given {
				kinds++
			}
		}
		where := fmt.Sprintf("%s.triggers[%d]", at, k)
		switch {
		case kinds != 1:
			faults.Add(where, "want one of cron, every, rows, files, lag")
		case t.Cron != "":
			faults.Unless(t.Zone != "", where+".zone", "name the time zone of the expression, as in Europe/Berlin or UTC")
			_, err := schedule.Cron(t.Cron, cmp.Or(t.Zone, "UTC"))
			faults.Unless(err == nil, where+".cron", "%v", err)
		case t.Zone != "":
			faults.Add(where+".zone", "it belongs to cron")
		case t.Every != 0:
			faults.Unless(t.Every >= yamlfile.Duration(time.Second), where+".every", "%v is less than a second", time.Duration(t.Every))
		}
	}
	if j.Files.Which == "" && j.Files != (filesConfig{}) { // the default depends on the job
		j.Files.Which = schedule.FilesLast
		faults.Unless(j.Files.Last > 0 && j.Files.Key != "", at+".files", wantFiles)
	}
	j.Backoff = cmp.Or(j.Backoff, yamlfile.Duration(time.Minute))
	j.Promote.check(at+".promote", faults)
	faults.Unless(j.Retries >= 0 && j.Retries <= 100, at+".retries", "%d is not in 0 to 100", j.Retries)
}

// checkTask adds the faults of a job that a schedule cannot run.
func (j *ScheduledJob) checkTask(at string, p Task, faults *yamlfile.Faults) {
	switch p.Source.(type) {
	case Lake:
		j.Files.Which = cmp.Or(j.Files.Which, schedule.FilesAll)
		for k, t := range j.Triggers {
			faults.Unless(t.Lag == 0, fmt.Sprintf("%s.triggers[%d].lag", at, k), "the rows come from files: write {rows: %d}", t.Lag)
		}
	case *Topic:
		faults.Unless(j.Files.Which == "" || j.Files.Which == schedule.FilesNew, at+".files", "windows of a topic always have new rows only: leave it out")
		j.Files.Which = schedule.FilesNew
		for k, t := range j.Triggers {
			faults.Unless(t.Rows == 0, fmt.Sprintf("%s.triggers[%d].rows", at, k), "the rows come from a topic: write {lag: %d}, which counts offsets", t.Rows)
			faults.Unless(t.Files == 0, fmt.Sprintf("%s.triggers[%d].files", at, k), "the rows come from a topic: write {lag: 100000}, which counts offsets")
		}
	default:
		faults.Add(at+".job", "its rows come from elsewhere than files or a topic")
	}
	faults.Unless(p.PublishTo == nil || j.Promote == (Promotion{}), at+".promote", "the job publishes to topics, where every certified model becomes current")
	faults.Unless(p.Job.Loss.EpsilonStd == 0, at+".job", "a tolerance in standard deviations differs from run to run, and certificates of different tolerances cannot be compared: give loss.epsilon in the target's units")
	faults.Unless(p.Job.Train.Time == 0, at+".job", "train.time: a resumed run must give the same certificate, and a time limit could change it: limit training by train.passes")
	faults.Unless(!p.Stream.declared(), at+".job", "stream: it is only for pacsgp stream: leave it out")
	faults.Unless(!p.Serve.Declared(), at+".job", "serve: it is only for pacsgp stream: leave it out")
}

// scheduled returns a job as a scheduler runs it.
func scheduled(entry ScheduledJob, t Task, fsys durable.FS, software string) *ScheduledTask {
	j := &schedule.Job{
		Name: entry.Name, Job: t.Job, Output: t.Destination(fsys),
		Files:   schedule.Files{Which: entry.Files.Which, Last: time.Duration(entry.Files.Last), Key: entry.Files.Key},
		Retries: entry.Retries, Backoff: time.Duration(entry.Backoff),
		Promote:  entry.Promote.rule(),
		Software: software, Elsewhere: t.PublishTo != nil, How: t.RunConfig(),
	}
	for _, trigger := range entry.Triggers {
		j.Triggers = append(j.Triggers, trigger.due())
	}
	switch from := t.Source.(type) {
	case Lake:
		j.Lake = ingestlake.Listing{Paths: from.Rows, Folder: t.Folder}
	case *Topic:
		j.Topic = from
	}
	return &ScheduledTask{Job: j, Task: t, Time: time.Duration(entry.Time)}
}
