package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rowsOfATopic is a score file for a topic.
func rowsOfATopic(options, output string) string {
	return fmt.Sprintf("model: out\nsource: {kafka: {brokers: ['a:1'], topic: rows, %s}}\noutput: %s", options, output)
}

// toATopic is a score file from files to a topic.
func toATopic(kafka, options string) string {
	return fmt.Sprintf("model: out\nsource: {paths: [new]}\noutput: {kafka: {%s}}\n%s", kafka, options)
}

func TestScoreFaults(t *testing.T) {
	dir, _, score := following(t, 1, 20)
	for text, want := range map[string]string{
		"model: out\nsource: {paths: [new]}\noutput: new/scored":                                                  "lies in the data",
		"model: out\nsource: {paths: [new]}":                                                                      "output: name the directory",
		"source: {paths: [new]}\noutput: scored":                                                                  "model: name the output directory",
		"model: out\noutput: scored":                                                                              "source.paths",
		"model: out\nsource: {paths: [new]}\noutput: scored\nkeep: [mean]":                                        "is a column of predictions",
		"model: out\nsource: {paths: [new]}\noutput: scored\nkeep: ['']":                                          "cannot be the name of a kept column",
		"model: out\nsource: {paths: [new]}\noutput: {kafka: p}":                                                  "output.kafka.brokers: name at least one",
		"model: out\nsource: {paths: [new]}\noutput: s\nexactly_once: true":                                       "exactly_once: it is about rows of a topic",
		"model: {kafka: {name: a}}\nsource: {paths: [new]}\noutput: s":                                            "model.kafka.brokers: name at least one",
		toATopic("topic: p", ""):                                                                                  "output.kafka.brokers: name at least one",
		toATopic("brokers: ['a:1']", ""):                                                                          "output.kafka.topic: name the topic",
		toATopic("topic: p, record: p, brokers: ['a:1']", ""):                                                     "output.kafka.record: p is the topic for the predictions",
		toATopic("topic: p, brokers: ['a:1']", "keep: [file]"):                                                    "is a column of predictions",
		toATopic("topic: p, brokers: ['a:1'], sasl: {user: u}", ""):                                               "output.kafka.sasl.mechanism",
		toATopic("topic: p, brokers: ['a:1']", "exactly_once: true"):                                              "exactly_once: it is about rows of a topic",
		toATopic("topic: p, brokers: ['a:1']", "session_timeout: 3s"):                                             "session_timeout: it is about the group",
		strings.Replace(toATopic("topic: p, patience: 3s", ""), "out", "{kafka: {name: m, brokers: ['a:1']}}", 1): "output.kafka.patience: it is given without brokers",
		rowsOfATopic("group: g", "{kafka: {topic: p, brokers: ['a:1']}}"):                                         "which source.kafka names",
		rowsOfATopic("group: g", "{kafka: {topic: p, record: r}}"):                                                "output.kafka.record: it is for predictions of files",
		rowsOfATopic("group: g", "{kafka: p}\nkeep: [offset]"):                                                    "is a column of predictions",
		rowsOfATopic("group: g", "{kafka: p}\nkeep: [$key]"):                                                      "is no member",
		rowsOfATopic("group: g, format: arrow", "{kafka: p}\nkeep: [a]"):                                          "none of records of the format arrow",
		rowsOfATopic("group: g", "{kafka: p}\nsession_timeout: 20ms"):                                             "session_timeout: 20ms",
		rowsOfATopic("group: g", "{kafka: rows}"):                                                                 "is the topic that the rows come from",
		rowsOfATopic("group: g", "{}"):                                                                            "output: name the topic for the predictions",
		rowsOfATopic("group: g", "scored\nkeep: [key]"):                                                           "is a column of predictions",
		rowsOfATopic("format: json", "{kafka: p}"):                                                                "source.kafka.group: name the group",
		toATopic("topc: p", ""):                                                                                   `unknown field "topc"; did you mean output.kafka.topic?`,
		rowsOfATopic("topc: g", "p"):                                                                              `unknown field "topc"; did you mean source.kafka.topic?`,
		"model: {kafka: {topic: {}}}\nsource: {paths: [new]}\noutput: s":                                          `unknown field "topic"; did you mean model.kafka.topics?`,
		"record: r\nsource: {paths: [new]}\nmodel: out\noutput: s":                                                `unknown field "record"; did you mean output.kafka.record?`,
		rowsOfATopic("group: g", "{kafka: p}\npoll: 3s"):                                                          "poll: it is about files",
	} {
		writeFile(t, score, []byte(text))
		if a := pacsgp(t, "score", "-c", score, "--once"); a.status != exitConfig || !strings.Contains(a.message, want) {
			t.Errorf("%q: status %d, %q; want %q", text, a.status, a.message, want)
		}
	}
	for _, text := range []string{
		"model: {kafka: {name: m, brokers: ['a:1']}}\nsource: {paths: [new]}\noutput: {kafka: p}\npoll: 1m",
		toATopic("topic: p, brokers: ['a:1'], record: done, patience: 1m, tls: {enabled: true}, sasl: {mechanism: plain, user: u, password_env: P}", "keep: [offset]"),
		rowsOfATopic("group: g", "{kafka: {topic: p}}"),
	} {
		writeFile(t, score, []byte(text))
		pacsgp(t, "lint", score).says(t, 0)
	}
	writeFile(t, score, []byte("model: nothing\nsource: {paths: [new]}\noutput: scored"))
	if err := os.Mkdir(filepath.Join(dir, "nothing"), 0o755); err != nil {
		t.Fatal(err)
	}
	pacsgp(t, "score", "-c", score, "--once").says(t, exitFailure, "nothing is current")
}
