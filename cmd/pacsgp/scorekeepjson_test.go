package main

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A kept member that is named twice, whichever way its name is written, or is no UTF-8, is
// null and the reason of its row, on a topic and in files. Members are kept of a row that
// has another fault.
func TestScoreKeepsNoDoubtfulMember(t *testing.T) {
	t.Parallel()
	s := topicOf(t, seededTopics(t), 20, "")
	const twice, bytes = `member "id" occurs twice`, `no JSON: member "id" is no UTF-8`
	records := []struct{ text, want string }{
		{`{"id": 1, "x1": 0.5, "x2": 0.5, "id": 2}`, twice + " null"},
		{`{"id": 1, "x1": 0.5, "x2": 0.5, "id": 1}`, twice + " null"},
		{`{"id": 1, "x1": 0.5, "x2": 0.5, "\u0069d": 2}`, twice + " null"},
		{`{"id": null, "x1": 0.5, "x2": 0.5, "id": null}`, twice + " null"},
		{"{\"x1\": 0.5, \"x2\": 0.5, \"id\": \"\xff\"}", bytes + " null"},
		{"{\"id\": [1, {\"a\": \"\xc3\"}], \"x1\": 0.5, \"x2\": 0.5}", bytes + " null"},
		{"{\"id\": {\"\xff\": 1}, \"x1\": 0.5, \"x2\": 0.5}", bytes + " null"},
		{`{"id": "ü", "x1": 0.5, "x2": null}`, `x2 is null "ü"`},
		{`{"id": "ü", "x1": 0.5, "x2": 0.5}`, `"ü"`},
	}
	var texts, want []string
	for _, r := range records {
		texts, want = append(texts, r.text), append(want, r.want)
	}
	s.send(t, texts...)
	succeed(t, "score", "-c", s.score, "--once")
	succeed(t, "score", "-c", s.toLake(t, "to-lake", "scored", ""), "--once")
	for place, all := range map[string][]predictedRecord{"a topic": s.found(t, "predictions"), "files": s.foundInFiles(t, "scored")} {
		slices.SortStableFunc(all, func(a, b predictedRecord) int { return int(a.Offset - b.Offset) })
		var got []string
		for _, p := range all {
			if p.key != "more" {
				continue
			}
			id, text := string(p.ID), ""
			if p.ID == nil {
				id = "null"
			}
			if p.Reason != nil {
				text = *p.Reason + " "
			}
			if (p.Reason != nil) != (p.Mean == nil) {
				t.Errorf("%s: a mean and a reason: %+v", place, p)
			}
			got = append(got, fmt.Sprint(text, id))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", place, diff)
		}
	}
}
