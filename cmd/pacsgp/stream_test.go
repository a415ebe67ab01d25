package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/pacsgp/pacsgp/certify"
)

// smallLines are the rows of [smallLake] as lines of JSON.
func smallLines(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	for _, r := range recordsOf(t, "", 0, 180) {
		out.Write(append(r.Value, '\n'))
	}
	return out.String()
}

// TestStream: a job on standard input gives the model and the certificate that its kept
// spool gives as a lake; it is verified with that, or with the same rows sent again, and
// not with others.
func TestStream(t *testing.T) {
	lines := smallLines(t)
	dir := t.TempDir()
	piped := func(spool string) jobFile {
		return jobFile{"source": `{paths: "-", spool: {` + spool + `}}`, "features": "[x1, in.x2]"}
	}
	job := tiny(piped("folder: kept, keep: true")).write(t, dir)
	pacsgpFed(t, lines, "train", "-c", job).says(t, 0, "Check it", filepath.Join(dir, "kept"))
	out := filepath.Join(dir, "out")
	r := record(t, out)
	model, certificate := filepath.Join(out, r.Model), filepath.Join(out, r.Certificate)
	if strings.Contains(string(readFile(t, certificate)), "segments") {
		t.Error("the certificate names segments, which a stream has not")
	}
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	pacsgp(t, "verify", model, certificate, filepath.Join(dir, "kept"), "--judge", "draw").says(t, 0, "verified: ")
	pacsgpFed(t, lines, "verify", model, certificate, "--source", job, "--judge", "draw").says(t, 0, "verified: ")
	pacsgpFed(t, strings.Replace(lines, `"y":`, `"y":0.5,"z":`, 1), "verify", model, certificate, "--source", job).says(t, exitFailure, "sample digest")
	pacsgpFed(t, "", "verify", model, certificate, "--source", job).says(t, exitFailure, "nothing came")
	withoutTarget := strings.ReplaceAll(lines, `"y"`, `"z"`)
	pacsgpFed(t, withoutTarget, "predict", model, certificate, "--source", job, "-o", filepath.Join(dir, "p.parquet")).says(t, 0, "180 rows, 0 of them")
	if got := pacsgpFed(t, lines, "plan", "-c", job); strings.Contains(got.stdout, "row groups") {
		t.Errorf("plan has a table of no files: %s", got.stdout)
	} else {
		got.says(t, 0, "180")
	}
	if left := names(t, temporary); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}

	pacsgpFed(t, lines+"{", "train", "-c", tiny(piped("folder: half, keep: true")).write(t, dir)).says(t, exitFailure, "line 181: ")
	if left := names(t, dir); slices.Contains(left, "half") {
		t.Error("half a stream was kept")
	}
	lake := t.TempDir()
	succeed(t, "train", "-c", tiny(jobFile{"source": fmt.Sprintf("{paths: [%q]}", filepath.Join(dir, "kept")), "features": "[x1, in.x2]"}).write(t, lake))
	if r2 := record(t, filepath.Join(lake, "out")); r2.Certificate != r.Certificate || r2.Model != r.Model {
		t.Errorf("the spool as a lake gave %s and %s, want %s and %s", r2.Certificate, r2.Model, r.Certificate, r.Model)
	}

	again := t.TempDir()
	job = tiny(piped("")).write(t, again)
	pacsgpFed(t, lines+"{\"x1\":", "train", "-c", job).says(t, exitFailure, "line 181: ")
	pacsgpFed(t, lines, "train", "-c", job).says(t, 0, "--source "+job)
	if left := names(t, filepath.Join(again, "out")); slices.ContainsFunc(left, func(n string) bool { return strings.HasPrefix(n, "_stream") }) {
		t.Errorf("the spool was left in %q", left)
	}
	if r2 := record(t, filepath.Join(again, "out")); r2.Certificate != r.Certificate {
		t.Errorf("without keep the certificate is %s, want %s", r2.Certificate, r.Certificate)
	}
	pacsgpFed(t, lines, "train", "-c", job, "--no-pass").says(t, exitUsage, "a stream is read once")
}

// TestStreamThatDrifts: rows in an order, as of a source that drifts, are no independent ones. Their
// window is published all the same; its certificate and the log say what speaks against it.
func TestStreamThatDrifts(t *testing.T) {
	t.Parallel()
	address := cluster(t, kfake.SeedTopics(3, "rows")).ListenAddrs()[0]
	var records []*kgo.Record
	for i := range 120 {
		records = append(records, &kgo.Record{Topic: "rows", Partition: int32(i % 3), Value: fmt.Appendf(nil, `{"x1":%d,"in":{"x2":%d},"y":%d}`, i%29, i%31, i)})
	}
	send(t, address, records...)
	job := serviceJob(t, address, t.TempDir(), jobFile{"loss": "{epsilon: 40}"})
	succeed(t, "topics", "-c", job)
	r := startService(t, "-c", job)
	c := awaitCertificates(t, address, 1, r)[0]
	r.find(t, "(near rows are more alike)")
	r.end(t)
	if !c.Dependence.Suspicious || !(c.Dependence.Correlation > 0.8) || c.Assumptions[0].ID != certify.AssumeIndependentRows || c.Assumptions[0].Status != certify.AssumptionAssumed {
		t.Errorf("neighbouring rows are %+v, and %+v", c.Dependence, c.Assumptions[0])
	}
}
