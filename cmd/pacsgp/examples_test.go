package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/internal/fatal"
)

// The examples, and the files in the manifests of Kubernetes, are ones that commands take.
func TestExamplesAreTaken(t *testing.T) {
	examples := filepath.Join("..", "..", "examples")
	files := []string{filepath.Join(examples, "stream.yaml"), filepath.Join(examples, "demo.yaml"), filepath.Join(examples, "choose.yaml"), filepath.Join(examples, "schedule", "schedule.yaml"), filepath.Join(examples, "schedule", "schedule-topic.yaml")}
	for _, name := range []string{"kubernetes.yaml", "kubernetes-schedule.yaml", "kubernetes-score.yaml"} {
		dir, jobs := t.TempDir(), 0
		for text := range bytes.SplitSeq(readFile(t, filepath.Join(examples, "operations", name)), []byte("\n---\n")) {
			var manifest struct {
				Kind string            `yaml:"kind"`
				Data map[string]string `yaml:"data"`
			}
			fatal.If(t, yaml.Unmarshal(text, &manifest))
			if manifest.Kind == "" {
				t.Errorf("%s: a manifest without a kind", name)
			}
			for file, of := range manifest.Data {
				jobs++
				writeFile(t, filepath.Join(dir, file), []byte(strings.ReplaceAll(of, "/job/", dir+"/")))
				files = append(files, filepath.Join(dir, file))
			}
		}
		if jobs == 0 {
			t.Errorf("%s has no job", name)
		}
	}
	if a := pacsgp(t, append([]string{"lint", "--offline"}, files...)...); a.status != 0 {
		t.Errorf("status %d: %s%s", a.status, a.stdout, a.message)
	}
}

// Each query of the dashboard asks for metrics that docs/reference/metrics.md has; other tests hold that page
// against what services register.
func TestDashboard(t *testing.T) {
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	fatal.If(t, json.Unmarshal(readFile(t, filepath.Join("..", "..", "examples", "operations", "grafana.json")), &dashboard))
	name := regexp.MustCompile(`pacsgp_[a-z_]+`)
	documented := name.FindAllString(string(readFile(t, filepath.Join("..", "..", "docs", "reference", "metrics.md"))), -1)
	asked := map[string]bool{}
	for _, p := range dashboard.Panels {
		for _, q := range p.Targets {
			found := name.FindAllString(q.Expr, -1)
			for _, metric := range found {
				if asked[metric] = true; !slices.Contains(documented, metric) {
					t.Errorf("%s asks for %s, which no service has", p.Title, metric)
				}
			}
			if found == nil {
				t.Errorf("%s asks for nothing: %q", p.Title, q.Expr)
			}
		}
	}
	for _, metric := range []string{"pacsgp_scheduled_failing", "pacsgp_certificate_bound", "pacsgp_predictions_total", "pacsgp_watch_alarm"} {
		if !asked[metric] {
			t.Errorf("the dashboard has no %s", metric)
		}
	}
}

// promtool, of Debian's package prometheus, accepts rules and configuration.
func TestPrometheusFiles(t *testing.T) {
	promtool := os.Getenv("PACSGP_PROMTOOL")
	if promtool == "" {
		fatal.Missing(t, "no promtool: PACSGP_PROMTOOL is not set; make test-all sets it")
	}
	examples := filepath.Join("..", "..", "examples", "operations")
	for _, args := range [][]string{
		{"check", "rules", filepath.Join(examples, "alerts.yaml")},
		{"check", "config", "--syntax-only", filepath.Join(examples, "prometheus.yml")},
		{"test", "rules", filepath.Join("testdata", "alerts_test.yaml"), filepath.Join("testdata", "alerts_days_test.yaml")},
	} {
		if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %q: %v: %s", args, err, out)
		}
	}
}

// TestCompose: the commands of docker-compose.yml, run by hand up to the training. Kafka's own
// programs are scripts here, by which the topic holds the first 7,000 rows, or nothing.
func TestCompose(t *testing.T) {
	var file struct {
		Services map[string]struct {
			Image   string   `yaml:"image"`
			Build   string   `yaml:"build"`
			Restart string   `yaml:"restart"`
			Command []string `yaml:"command"`
			Volumes []string `yaml:"volumes"`
			Network string   `yaml:"network_mode"`

			Healthcheck struct{ Test []string } `yaml:"healthcheck"`
		} `yaml:"services"`
		Volumes map[string]any `yaml:"volumes"`
	}
	root := filepath.Join("..", "..")
	fatal.If(t, yaml.Unmarshal(readFile(t, filepath.Join(root, "docker-compose.yml")), &file))
	tested := string(readFile(t, filepath.Join(root, ".ci", "kafka")))
	for name, service := range file.Services {
		if image, version, _ := strings.Cut(service.Image, ":"); image == "apache/kafka" && !strings.Contains(tested, "\nversion="+version+"\n") {
			t.Errorf("the image of %s is of version %s, which is not the one that .ci/kafka fetches", name, version)
		}
		if goes := slices.Contains([]string{"kafka", "stream", "prometheus"}, name); (service.Restart == "unless-stopped") != goes {
			t.Errorf("%s is restarted %q", name, service.Restart)
		}
		if service.Network != "" {
			t.Errorf("%s is in the network of %s, and ends with it", name, service.Network)
		}
		if check := strings.Join(service.Healthcheck.Test, " "); strings.Contains(check, "/opt/kafka") {
			t.Errorf("%s is checked by a program of the JVM, every few seconds: %s", name, check)
		}
		if service.Image == "pacsgp" {
			pacsgp(t, service.Command[0], "--help").says(t, 0)
		}
		for _, volume := range service.Volumes {
			from, _, _ := strings.Cut(volume, ":")
			_, declared := file.Volumes[from]
			if _, err := os.Stat(filepath.Join(root, from)); err != nil && !declared {
				t.Errorf("%s: there is no %s", name, from)
			}
		}
		if (service.Build != "") != (name == "topics") {
			t.Errorf("%s is built, or the image of all is not", name)
		}
	}
	if len(file.Services["kafka"].Volumes) == 0 {
		t.Error("the broker forgets its topics")
	}
	rows := func(have int) []string {
		dir := t.TempDir()
		for name, script := range map[string]string{
			"topics":           "true",
			"get-offsets":      fmt.Sprintf("echo demo-rows:0:%d; echo demo-rows:1:%d", have/2, have-have/2),
			"console-producer": "exec cat",
		} {
			fatal.If(t, os.WriteFile(filepath.Join(dir, "kafka-"+name+".sh"), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
		}
		args := slices.Clone(file.Services["rows"].Command)
		last := &args[len(args)-1]
		*last = strings.NewReplacer("$$", "$", "/opt/kafka/bin", dir).Replace(*last)
		sent, err := exec.CommandContext(t.Context(), args[0], args[1:]...).Output()
		fatal.If(t, err)
		return strings.Split(strings.TrimSpace(string(sent)), "\n")
	}
	all := rows(0)
	if rest := rows(7000); len(all) != 20000 || !slices.Equal(rest, all[7000:]) {
		t.Fatalf("%d rows, and %d behind the first 7,000", len(all), len(rest))
	}
	c := cluster(t)
	address := c.ListenAddrs()[0]
	createTopic(t, address, "demo-rows", 6)
	var records []*kgo.Record
	for i, row := range all[:2000] {
		records = append(records, &kgo.Record{Topic: "demo-rows", Partition: int32(i % 6), Value: []byte(row)})
	}
	send(t, address, records...)
	dir := t.TempDir()
	here := strings.NewReplacer("kafka:9092", address, "/examples", dir, "/work", dir)
	writeFile(t, filepath.Join(dir, "kafka.yaml"), []byte(here.Replace(string(readFile(t, filepath.Join(root, "examples", "kafka.yaml"))))))
	for _, service := range []string{"topics", "job"} {
		args := file.Services[service].Command
		if len(args) == 0 {
			t.Fatalf("docker-compose.yml has no command for %s", service)
		}
		for i := range args {
			args[i] = here.Replace(args[i])
		}
		if service == "job" {
			args[0] = "plan"
		}
		pacsgp(t, args...).says(t, 0)
	}
}

// Plan refuses what train refuses before it trains, as far as footers tell it, with
// the same status.
func TestPlanRefusesWhatTrainRefuses(t *testing.T) {
	long, moments, nothing := make([]int64, 40), make([]int64, 40), make([]any, 40)
	one, high, around := make([]float64, 40), make([]float64, 40), make([]float64, 40)
	for i := range long {
		long[i], moments[i], nothing[i] = 1<<53-int64(i), 1_700_000_000+int64(i), float64(i)
		high[i], around[i] = 1e15+float64(i), 1000+float64(i)
	}
	long[17], nothing[39] = 1<<53+1, nil
	for name, c := range map[string]struct {
		rows   table
		change jobFile
		status int
		words  string // of plan
	}{
		"integer beyond 2^53":   {lines(40).with("x2", long), nil, exitFailure, `column "x2" has numbers of more digits than a float64 holds`},
		"units by such":         {lines(40).with("k", long), jobFile{"unit": "k"}, exitFailure, "store the column as text if it names units"},
		"no target":             {lines(40).with("y", nothing), nil, exitFailure, "a target cannot be filled"},
		"too few targets":       {lines(40).with("y", nothing), jobFile{"rejected": "{limit: 1 %}"}, exitFailure, "files, or raise rejected.limit"},
		"five rows":             {lines(5), nil, exitFailure, "5 rows leave 0 prior rows"},
		"one value":             {lines(40).with("y", one), nil, exitFailure, "there is nothing to learn"},
		"too coarse":            {lines(40).with("y", high), nil, exitFailure, "subtract a constant near to it where the column is made"},
		"unix times":            {lines(40).with("y", moments), jobFile{"loss": "{epsilon: 60}"}, 0, ""},
		"too small a tolerance": {lines(40).with("y", around), jobFile{"loss": "{epsilon: 1e-9}"}, exitFailure, "declare a larger one"},
		"a share of the target": {lines(40).with("y", around), jobFile{"loss": "{kind: relative-zero-one, epsilon: 1 %}"}, 0, ""},
		"a name that reverses":  {lines(40).with("x\u202e3", one), nil, exitFailure, "rename it"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.rows.write(t, lakeFile(dir, 0))
			job := tiny(c.change).write(t, dir)
			plan, train := pacsgp(t, "plan", "-c", job), pacsgp(t, "train", "-c", job)
			if plan.status != c.status || !strings.Contains(plan.message, c.words) {
				t.Errorf("plan: status %d, want %d, and %q in %q", plan.status, c.status, c.words, plan.message)
			}
			if c.status != 0 && strings.Contains(train.log, `"msg":"train"`) {
				t.Errorf("it trains before it is refused: %s", train.log)
			}
			if train.status == exitNotCertified {
				train.status = 0 // it was not refused
			}
			if train.status != c.status {
				t.Errorf("train: status %d, want %d: %s", train.status, c.status, train.message)
			}
		})
	}
}

// Differences whose squares are 0 are no reason to say that a column has one value.
func TestSmallDifferencesAreNoSingleValue(t *testing.T) {
	small := make([]float64, 40)
	for i := range small {
		small[i] = float64(i) * 1e-200
	}
	dir := t.TempDir()
	lines(40).with("x2", small).write(t, lakeFile(dir, 0))
	pacsgp(t, "train", "-c", tiny(nil).write(t, dir)).says(t, exitFailure, `column "x2"`, "change its unit")
}
