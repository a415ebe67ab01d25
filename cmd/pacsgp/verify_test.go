package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// An artifact is what a run left, by path.
type artifact struct {
	dir, out, model, certificate, id string
	lake                             string
}

// train makes an artifact of the tiny job on the small lake.
func trained(t *testing.T) artifact {
	t.Helper()
	dir := t.TempDir()
	smallLake(t, dir)
	return retrained(t, dir, nil)
}

// retrained makes an artifact on the lake in dir.
func retrained(t *testing.T, dir string, change jobFile) artifact {
	t.Helper()
	out := t.TempDir()
	a := pacsgp(t, "train", "-c", tiny(change).write(t, dir), "-o", out)
	if a.status != 0 && a.status != exitNotCertified {
		t.Fatal(a.message)
	}
	r := record(t, out)
	return artifact{
		dir: dir, out: out, lake: filepath.Join(dir, "lake"),
		model: filepath.Join(out, r.Model), certificate: filepath.Join(out, r.Certificate), id: r.ID,
	}
}

// says demands the status, and these words on stdout or, if it failed, in the
// message, with nothing on stdout that sounds like success.
func (a answer) says(t *testing.T, status int, words ...string) {
	t.Helper()
	text := a.stdout
	if status != 0 {
		text = a.message
		for _, lie := range []string{"verified", "consistent", "certified"} {
			if strings.Contains(a.stdout, lie) {
				t.Errorf("status %d, and stdout says %q", a.status, a.stdout)
			}
		}
	}
	if a.status != status {
		t.Errorf("status %d, want %d: %s", a.status, status, a.message)
	}
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%q is missing in %q", word, text)
		}
	}
}

// leavesOpen demands the status of a certificate that nothing contradicts, and of which
// what was checked does not show enough.
func (a answer) leavesOpen(t *testing.T, words ...string) {
	t.Helper()
	if a.status != exitNotCertified {
		t.Errorf("status %d, want %d: %s", a.status, exitNotCertified, a.message)
	}
	for _, word := range words {
		if !strings.Contains(a.stdout+a.message, word) {
			t.Errorf("%q is missing in %q and %q", word, a.stdout, a.message)
		}
	}
}
