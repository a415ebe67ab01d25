package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/sink/verifytest"
)

// Both verifiers come to one verdict, with the same doubts and exit status, about every
// file and every certificate: first about those that once told them apart, then about
// mutants.
func TestTwoReadersOneVerdict(t *testing.T) {
	verifytest.Need(t)
	mutants := 100
	if *soak {
		mutants = 5000 // of files, and as many of certificates
	}
	dir := t.TempDir()
	corpus(t, "lake", filepath.Join(dir, "lake"))
	named := retrained(t, dir, jobFile{"features": "[a, k, q, t]", "train": "{passes: 1}", "inducing": "8"})
	tolerant := retrained(t, dir, jobFile{"bad_rows": "{tolerance: 0.2}", "copies": "drop", "train": "{passes: 1}", "inducing": "8"})
	content := retrained(t, dir, jobFile{"features": "[a, k, q, t, s.v]", "roles": "{by: content}", "bad_rows": "{tolerance: 0.2}", "train": "{passes: 1}", "inducing": "8"})
	grouped := retrained(t, dir, jobFile{"features": "[a, k, q, t]", "groups": "{column: z, values: [site 0, site 1]}", "guarantees": "[pac-bayes, holdout, groups]", "roles": "{holdout: 30 %}", "train": "{passes: 1}", "inducing": "8"})
	all := []artifact{named, tolerant, content, grouped}
	fatal.If(t, os.Remove(filepath.Join(named.out, "manifest-"+named.id+".json"))) // one of them finds its files by the manifest
	t.Run("cases", func(t *testing.T) {
		folder := t.TempDir()
		said := corpus(t, "cases", named.lake, folder)
		compareReaders(t, slices.Concat(said, said, said, said), func(i int) []string {
			a := all[i/len(said)]
			return []string{a.model, a.certificate, filepath.Join(folder, strconv.Itoa(i%len(said)))}
		})
	})
	t.Run("a sample of fewer rows than the ledger", func(t *testing.T) {
		text, err := os.ReadFile(content.certificate)
		fatal.If(t, err)
		rows := regexp.MustCompile(`("sample":\s*\{[^{}]*"rows":\s*)[0-9]+`)
		forged := filepath.Join(t.TempDir(), "forged.json")
		fatal.If(t, os.WriteFile(forged, rows.ReplaceAll(text, []byte("${1}12")), 0o600))
		if found := rows.Find(text); found == nil {
			t.Fatal("the certificate states no rows of its sample")
		}
		compareReaders(t, []string{"12 rows"}, func(int) []string { return []string{content.model, forged} })
	})
	atOnce := mutants / 10 // one of the two certificates after the other
	for first := 0; first < mutants; first += atOnce {
		n, seed := strconv.Itoa(min(atOnce, mutants-first)), strconv.Itoa(first)
		t.Run("files from "+seed, func(t *testing.T) {
			folder := t.TempDir()
			said := corpus(t, "mutants", named.lake, folder, seed, n)
			compareReaders(t, said, func(i int) []string {
				a := all[i%len(all)]
				return []string{a.model, a.certificate, filepath.Join(folder, strconv.Itoa(i))}
			})
		})
		t.Run("certificates from "+seed, func(t *testing.T) {
			of := []artifact{named, content}[first/atOnce%2]
			folder := t.TempDir()
			row := strings.TrimSuffix(of.certificate, ".json") + ".parquet"
			said := corpus(t, "certificates", of.certificate, row, folder, seed, n)
			compareReaders(t, said, func(i int) []string {
				return []string{of.model, filepath.Join(folder, strconv.Itoa(i)), of.lake}[:3-i%2]
			})
		})
	}
}

// corpus runs the script that makes files, and returns what it says of each.
func corpus(t *testing.T, args ...string) []string {
	t.Helper()
	script := filepath.Join(verifytest.Root(t), "cmd", "pacsgp", "testdata", "readers", "corpus.py")
	out, status := verifytest.Python(t, append([]string{script}, args...)...)
	if status != 0 {
		t.Fatalf("%q: %s", args, out)
	}
	var said []string
	for line := range strings.Lines(out) {
		var text string
		fatal.If(t, json.Unmarshal([]byte(line), &text))
		said = append(said, text)
	}
	return said
}

// compareReaders runs both verifiers on the arguments of each case.
func compareReaders(t *testing.T, said []string, args func(i int) []string) {
	t.Helper()
	var calls [][]string
	for i := range said {
		calls = append(calls, append([]string{"verify"}, args(i)...))
	}
	accepted := 0
	for i, other := range verifytest.Verify(t, calls) {
		mine := pacsgp(t, append(calls[i], "--json")...)
		var found verdictDocument
		if mine.status != exitFailure {
			fatal.If(t, json.Unmarshal([]byte(mine.stdout), &found))
			accepted++
		}
		same := mine.status == other.Status && found.Verdict == other.Verdict && slices.Equal(found.Doubts, other.Doubts) && slices.Equal(found.NotChecked, other.NotChecked)
		if !same && (mine.status != exitFailure || other.Status != exitFailure) {
			t.Errorf("%d: %s\npacsgp: status %d, %q %q %q %s\nPython: status %d, %q %q %q %s", i, said[i], mine.status, found.Verdict, found.Doubts, found.NotChecked,
				strings.TrimSpace(mine.message), other.Status, other.Verdict, other.Doubts, other.NotChecked, other.Refused)
		}
	}
	t.Logf("%d cases, %d accepted by both", len(said), accepted)
}
