package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"

	"github.com/pacsgp/pacsgp/cmd/config"
)

// Every document of the manifests is one of its kind, to the last field, and the job in
// them is one that a stream takes.
func TestKubernetesManifests(t *testing.T) {
	kinds := map[string]func() any{
		"ConfigMap": func() any { return &corev1.ConfigMap{} }, "Service": func() any { return &corev1.Service{} },
		"StatefulSet": func() any { return &appsv1.StatefulSet{} }, "PodDisruptionBudget": func() any { return &policyv1.PodDisruptionBudget{} },
	}
	found := map[string]any{}
	for text := range bytes.SplitSeq(readFile(t, filepath.Join("..", "..", "examples", "operations", "kubernetes.yaml")), []byte("\n---\n")) {
		var head struct {
			Kind string `json:"kind"`
		}
		if err := yaml.Unmarshal(text, &head); err != nil {
			t.Fatal(err)
		}
		empty, ok := kinds[head.Kind]
		if !ok {
			t.Fatalf("a manifest of the kind %q", head.Kind)
		}
		object := empty()
		if err := yaml.UnmarshalStrict(text, object); err != nil {
			t.Errorf("%s: %v", head.Kind, err)
		}
		found[head.Kind] = object
	}
	if len(found) != len(kinds) {
		t.Errorf("%d kinds of manifests, want %d", len(found), len(kinds))
	}
	path := filepath.Join(t.TempDir(), "job.yaml")
	writeFile(t, path, []byte(found["ConfigMap"].(*corev1.ConfigMap).Data["job.yaml"]))
	accepted(t, path)
	pod := found["StatefulSet"].(*appsv1.StatefulSet).Spec.Template.Spec
	if c := pod.Containers[0]; c.Args[0] != "stream" || c.Args[2] != "/job/job.yaml" || *pod.TerminationGracePeriodSeconds <= 50 {
		t.Errorf("the container runs %q and has %d s to stop", c.Args, *pod.TerminationGracePeriodSeconds)
	}
	for path, probe := range map[string]*corev1.Probe{"/livez": pod.Containers[0].LivenessProbe, "/readyz": pod.Containers[0].ReadinessProbe} {
		if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != path || probe.HTTPGet.Scheme != corev1.URISchemeHTTPS {
			t.Errorf("the probe of %s is %v", path, probe)
		}
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
