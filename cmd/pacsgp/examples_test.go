package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

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
		if os.Getenv("CI") == "true" {
			t.Fatal("no promtool: PACSGP_PROMTOOL is not set")
		}
		t.Skip("no promtool: PACSGP_PROMTOOL is not set; make test-all sets it")
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
