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
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// The kinds of Kubernetes' manifests: keys, and the types of their values, as far as the
// examples use them.
const kinds = `
v1 ConfigMap:
  data: {job.yaml: string, schedule.yaml: string, score.yaml: string}
v1 Service:
  spec: {clusterIP: string, publishNotReadyAddresses: bool, selector: {app: string}, ports: [{name: string, port: uint64}]}
policy/v1 PodDisruptionBudget:
  spec: {maxUnavailable: uint64, selector: {matchLabels: {app: string}}}
apps/v1 StatefulSet:
  spec:
    serviceName: string
    replicas: uint64
    podManagementPolicy: string
    selector: {matchLabels: {app: string}}
    template: &pod
      metadata: {labels: {app: string}}
      spec:
        restartPolicy: string
        terminationGracePeriodSeconds: uint64
        securityContext: {runAsNonRoot: bool, runAsUser: uint64, fsGroup: uint64, seccompProfile: {type: string}}
        containers:
          - name: string
            image: string
            args: [string]
            ports: [{name: string, containerPort: uint64}]
            resources: {requests: {cpu: string, memory: string}, limits: {cpu: string, memory: string}}
            securityContext: {allowPrivilegeEscalation: bool, readOnlyRootFilesystem: bool, capabilities: {drop: [string]}}
            livenessProbe: {httpGet: {path: string, port: string, scheme: string}, periodSeconds: uint64, failureThreshold: uint64}
            readinessProbe: {httpGet: {path: string, port: string, scheme: string}, periodSeconds: uint64}
            volumeMounts: [{name: string, mountPath: string, readOnly: bool}]
        volumes:
          - name: string
            emptyDir: {}
            configMap: {name: string}
            secret: {secretName: string, defaultMode: uint64}
            persistentVolumeClaim: {claimName: string}
    volumeClaimTemplates:
      - metadata: {name: string}
        spec: {accessModes: [string], resources: {requests: {storage: string}}}
batch/v1 Job:
  spec:
    completionMode: string
    completions: uint64
    parallelism: uint64
    backoffLimit: uint64
    podFailurePolicy: &failures {rules: [{action: string, onExitCodes: {containerName: string, operator: string, values: [uint64]}}]}
    template: *pod
batch/v1 CronJob:
  spec:
    schedule: string
    timeZone: string
    concurrencyPolicy: string
    startingDeadlineSeconds: uint64
    jobTemplate:
      spec:
        backoffLimit: uint64
        activeDeadlineSeconds: uint64
        podFailurePolicy: *failures
        template: *pod
`

// misfits are the places at which a value is not of a form.
func misfits(at string, value, form any) (found []string) {
	switch form := form.(type) {
	case map[string]any:
		section, ok := value.(map[string]any)
		if !ok {
			return []string{at}
		}
		for key, below := range section {
			found = append(found, misfits(at+"."+key, below, form[key])...)
		}
	case []any:
		list, ok := value.([]any)
		if !ok {
			return []string{at}
		}
		for _, one := range list {
			found = append(found, misfits(at, one, form[0])...)
		}
	default:
		if fmt.Sprintf("%T", value) != form {
			return []string{at}
		}
	}
	return found
}

// at is what stands at a path of a document, as in spec.containers.0.name.
func at(t *testing.T, value any, path string) any {
	t.Helper()
	for key := range strings.SplitSeq(path, ".") {
		if list, ok := value.([]any); ok {
			i, err := strconv.Atoi(key)
			fatal.If(t, err)
			value = list[i]
		} else {
			value = value.(map[string]any)[key]
		}
	}
	return value
}

// manifests are the documents of a file by their kinds. Every key is one that its kind has.
func manifests(t *testing.T, file string) map[string]map[string]any {
	t.Helper()
	forms, found := map[string]map[string]any{}, map[string]map[string]any{}
	fatal.If(t, yaml.Unmarshal([]byte(kinds), &forms))
	for text := range bytes.SplitSeq(readFile(t, filepath.Join("..", "..", "examples", file)), []byte("\n---\n")) {
		var all map[string]any
		fatal.If(t, yaml.Unmarshal(text, &all))
		kind := fmt.Sprint(all["kind"])
		form, ok := forms[fmt.Sprint(all["apiVersion"])+" "+kind]
		if _, twice := found[kind]; !ok || twice {
			t.Fatalf("%s: a manifest of the kind %v, %s", file, all["apiVersion"], kind)
		}
		form["apiVersion"], form["kind"], form["metadata"] = "string", "string", map[string]any{"name": "string", "labels": map[string]any{"app": "string"}}
		if wrong := misfits(kind, all, form); wrong != nil {
			t.Errorf("%s: %q are no keys of this kind, or not of their types", file, wrong)
		}
		found[kind] = all
	}
	return found
}

// Every document of the manifests is one of its kind, to the last field, and the job in
// them is one that a stream takes.
func TestKubernetesManifests(t *testing.T) {
	found := manifests(t, "operations/kubernetes.yaml")
	if len(found) != 4 {
		t.Errorf("%d kinds of manifests, want 4", len(found))
	}
	path := filepath.Join(t.TempDir(), "job.yaml")
	writeFile(t, path, []byte(at(t, found["ConfigMap"], "data").(map[string]any)["job.yaml"].(string)))
	accepted(t, path)
	pod := at(t, found["StatefulSet"], "spec.template.spec")
	args, stops := at(t, pod, "containers.0.args"), at(t, pod, "terminationGracePeriodSeconds").(uint64)
	if fmt.Sprint(args) != "[stream -c /job/job.yaml]" || stops <= 50 {
		t.Errorf("the container runs %q and has %d s to stop", args, stops)
	}
	for path, probe := range map[string]string{"/livez": "livenessProbe", "/readyz": "readinessProbe"} {
		get := at(t, pod, "containers.0."+probe+".httpGet")
		if at(t, get, "path") != path || at(t, get, "scheme") != "HTTPS" {
			t.Errorf("the probe of %s is %v", path, get)
		}
	}
}

// The long-running scheduler and score have files that these commands take, and probes.
func TestServiceManifests(t *testing.T) {
	for _, command := range []string{"schedule", "score"} {
		found := manifests(t, "operations/kubernetes-"+command+".yaml")
		dir := t.TempDir()
		for name, text := range at(t, found["ConfigMap"], "data").(map[string]any) {
			writeFile(t, filepath.Join(dir, name), []byte(strings.ReplaceAll(text.(string), "/job/", dir+"/")))
		}
		w := testSystem(&bytes.Buffer{}, &bytes.Buffer{}, plain(), nil)
		path, err := filepath.Join(dir, command+".yaml"), error(nil)
		if command == "schedule" {
			_, _, err = loadSchedule(t.Context(), path, w)
		} else {
			_, err = loadScore(t.Context(), path, w)
		}
		c := at(t, found["StatefulSet"], "spec.template.spec.containers.0")
		args, ready := fmt.Sprint(at(t, c, "args")), at(t, c, "readinessProbe.httpGet.path")
		if err != nil || args != "["+command+" -c /job/"+command+".yaml]" || ready != "/readyz" || fmt.Sprint(at(t, found["StatefulSet"], "spec.replicas")) != "1" {
			t.Errorf("%s: %v, it runs %s, ready by %v", command, err, args, ready)
		}
	}
}

// Each query of the dashboard asks for metrics that docs/metrics.md has; other tests hold that page
// against what services register.
func TestDashboard(t *testing.T) {
	var dashboard struct {
		Panels []struct {
			ID      int
			Title   string
			Type    string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr, RefID string }
		}
	}
	fatal.If(t, json.Unmarshal(readFile(t, filepath.Join("..", "..", "examples", "operations", "grafana.json")), &dashboard))
	name := regexp.MustCompile(`pacsgp_[a-z_]+`)
	documented := name.FindAllString(string(readFile(t, filepath.Join("..", "..", "docs", "metrics.md"))), -1)
	asked, places := map[string]bool{}, map[string]bool{}
	for i, p := range dashboard.Panels {
		place := fmt.Sprint(p.GridPos.X, " ", p.GridPos.Y)
		if p.ID != i+1 || p.Title == "" || places[place] || p.GridPos.X+p.GridPos.W > 24 || (p.Type == "row") != (p.Targets == nil) {
			t.Errorf("panel %d: %+v", i, p)
		}
		places[place] = true
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
	for _, metric := range []string{"pacsgp_scheduled_failing", "pacsgp_scheduled_next_loss", "pacsgp_certificate_bound", "pacsgp_predictions_total", "pacsgp_watch_alarm"} {
		if !asked[metric] {
			t.Errorf("the dashboard has no %s", metric)
		}
	}
}

// The exit statuses that the CronJob does not try again are those that would come again.
func TestCronJob(t *testing.T) {
	run := at(t, manifests(t, "schedule/cronjob.yaml")["CronJob"], "spec.jobTemplate.spec")
	rule, c := at(t, run, "podFailurePolicy.rules.0.onExitCodes"), at(t, run, "template.spec.containers.0")
	want := fmt.Sprint([]int{exitUsage, exitNotCertified, exitConfig})
	if at(t, c, "args.0") != "train" || at(t, rule, "containerName") != at(t, c, "name") || fmt.Sprint(at(t, rule, "values")) != want {
		t.Errorf("%v: the rule for failures is %v, want the statuses %s", c, rule, want)
	}
}

// accepted demands a job that a stream takes.
func accepted(t *testing.T, path string) {
	t.Helper()
	w := testSystem(&bytes.Buffer{}, &bytes.Buffer{}, plain(), nil)
	p, err := loadJob(t.Context(), path, w, config.Overrides{}, nil)
	if err == nil {
		_, err = newService(p, w)
	}
	if err != nil {
		t.Errorf("%s: %v", path, err)
	}
}

func TestExampleOfAStream(t *testing.T) {
	accepted(t, filepath.Join("..", "..", "examples", "stream.yaml"))
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
		{"test", "rules", filepath.Join("testdata", "alerts_test.yaml")},
	} {
		if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %q: %v: %s", args, err, out)
		}
	}
}
