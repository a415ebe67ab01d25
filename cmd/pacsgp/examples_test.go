package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/pacsgp/pacsgp/cmd/config"
	"github.com/pacsgp/pacsgp/internal/fatal"
)

// The kinds of Kubernetes' manifests: keys, and the types of their values, as far as the
// examples use them.
const kinds = `
v1 ConfigMap:
  data: {job.yaml: string}
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
        podFailurePolicy: {rules: [{action: string, onExitCodes: {containerName: string, operator: string, values: [uint64]}}]}
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

// A kubeObject is what the tests look at in a document.
type kubeObject struct {
	APIVersion string            `yaml:"apiVersion"`
	Kind       string            `yaml:"kind"`
	Data       map[string]string `yaml:"data"`
	Spec       struct {
		Template    podTemplate `yaml:"template"`
		JobTemplate struct {
			Spec struct {
				PodFailurePolicy struct {
					Rules []struct {
						OnExitCodes struct {
							ContainerName string `yaml:"containerName"`
							Values        []int  `yaml:"values"`
						} `yaml:"onExitCodes"`
					} `yaml:"rules"`
				} `yaml:"podFailurePolicy"`
				Template podTemplate `yaml:"template"`
			} `yaml:"spec"`
		} `yaml:"jobTemplate"`
	} `yaml:"spec"`
}

type podTemplate struct {
	Spec struct {
		TerminationGracePeriodSeconds int `yaml:"terminationGracePeriodSeconds"`
		Containers                    []struct {
			Name           string   `yaml:"name"`
			Args           []string `yaml:"args"`
			LivenessProbe  probe    `yaml:"livenessProbe"`
			ReadinessProbe probe    `yaml:"readinessProbe"`
		} `yaml:"containers"`
	} `yaml:"spec"`
}

type probe struct {
	HTTPGet struct{ Path, Scheme string } `yaml:"httpGet"`
}

// manifests are the documents of a file by their kinds. Every key is one that its kind has.
func manifests(t *testing.T, file string) map[string]kubeObject {
	t.Helper()
	forms, found := map[string]map[string]any{}, map[string]kubeObject{}
	fatal.If(t, yaml.Unmarshal([]byte(kinds), &forms))
	for text := range bytes.SplitSeq(readFile(t, filepath.Join("..", "..", "examples", file)), []byte("\n---\n")) {
		var m kubeObject
		var all map[string]any
		fatal.If(t, errors.Join(yaml.Unmarshal(text, &m), yaml.Unmarshal(text, &all)))
		form, ok := forms[m.APIVersion+" "+m.Kind]
		if _, twice := found[m.Kind]; !ok || twice {
			t.Fatalf("%s: a manifest of the kind %q, %q", file, m.APIVersion, m.Kind)
		}
		form["apiVersion"], form["kind"], form["metadata"] = "string", "string", map[string]any{"name": "string", "labels": map[string]any{"app": "string"}}
		if wrong := misfits(m.Kind, all, form); wrong != nil {
			t.Errorf("%s: %q are no keys of this kind, or not of their types", file, wrong)
		}
		found[m.Kind] = m
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
	writeFile(t, path, []byte(found["ConfigMap"].Data["job.yaml"]))
	accepted(t, path)
	pod := found["StatefulSet"].Spec.Template.Spec
	c := pod.Containers[0]
	if c.Args[0] != "stream" || c.Args[2] != "/job/job.yaml" || pod.TerminationGracePeriodSeconds <= 50 {
		t.Errorf("the container runs %q and has %d s to stop", c.Args, pod.TerminationGracePeriodSeconds)
	}
	for path, probe := range map[string]probe{"/livez": c.LivenessProbe, "/readyz": c.ReadinessProbe} {
		if probe.HTTPGet.Path != path || probe.HTTPGet.Scheme != "HTTPS" {
			t.Errorf("the probe of %s is %v", path, probe)
		}
	}
}

// The exit statuses that the CronJob does not try again are those that would come again.
func TestCronJob(t *testing.T) {
	run := manifests(t, "schedule/cronjob.yaml")["CronJob"].Spec.JobTemplate.Spec
	rule, c := run.PodFailurePolicy.Rules[0].OnExitCodes, run.Template.Spec.Containers[0]
	if want := []int{exitUsage, exitNotCertified, exitConfig}; c.Args[0] != "train" || rule.ContainerName != c.Name || !slices.Equal(rule.Values, want) {
		t.Errorf("%q: the rule for failures is %+v, want the statuses %v", c.Args, rule, want)
	}
}

// accepted demands a job that a stream takes.
func accepted(t *testing.T, path string) {
	t.Helper()
	w := testSystem(&bytes.Buffer{}, &bytes.Buffer{}, plain(), nil)
	p, err := loadJob(t.Context(), path, w, config.Overrides{}, func(string) bool { return false })
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
		t.Skip("no promtool: PACSGP_PROMTOOL is not set; make test sets it")
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
