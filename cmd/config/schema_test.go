package config

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml/ast"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
)

// printed is a schema in JSON.
func printed(t *testing.T, kind string) []byte {
	t.Helper()
	text, err := json.Marshal(Schema(kind))
	fatal.If(t, err)
	return text
}

// printedSchema is what the command prints, compiled.
func printedSchema(t *testing.T, kind string) *jsonschema.Schema {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(printed(t, kind)))
	fatal.If(t, err)
	compiler := jsonschema.NewCompiler()
	fatal.If(t, compiler.AddResource("job.json", value))
	compiled, err := compiler.Compile("job.json")
	fatal.If(t, err)
	return compiled
}

// plainValue is what an editor sees of a part of a job.
func plainValue(node ast.Node) any {
	switch n := node.(type) {
	case *ast.NullNode:
		return nil
	case *ast.BoolNode:
		return n.Value
	case *ast.IntegerNode, *ast.FloatNode:
		return json.Number(n.GetToken().Value)
	case *ast.SequenceNode:
		list := []any{}
		for _, one := range n.Values {
			// goccy/go-yaml takes host:port for a key within braces; others do not.
			if pair := yamlfile.Entries(one); len(pair) == 1 && pair[0].Key.GetToken().Position.Column+len(pair[0].Key.GetToken().Value)+1 == pair[0].Value.GetToken().Position.Column {
				list = append(list, pair[0].Key.GetToken().Value+":"+pair[0].Value.GetToken().Value)
				continue
			}
			list = append(list, plainValue(one))
		}
		return list
	case *ast.MappingNode, *ast.MappingValueNode:
		section := map[string]any{}
		for _, entry := range yamlfile.Entries(n) {
			section[entry.Key.GetToken().Value] = plainValue(entry.Value)
		}
		return section
	default:
		return n.GetToken().Value
	}
}

// The schema takes the examples, and what the pages show of jobs.
func TestSchemaTakesExamples(t *testing.T) {
	compiled := map[string]*jsonschema.Schema{KindJob: printedSchema(t, KindJob), KindSchedule: printedSchema(t, KindSchedule), KindScore: printedSchema(t, KindScore), KindWatch: printedSchema(t, KindWatch)}
	takes := func(name, text string, fragment bool) {
		t.Helper()
		_, read := parsed([]byte(text), func(name string) (string, bool) { return "${" + name + "}", true })
		job, ok := plainValue(read.Root).(map[string]any)
		if !ok {
			t.Errorf("%s: no sections: %v", name, read.Faults)
			return
		}
		of, _ := kindWhere(func(k kind) bool { return job[k.key] != nil })
		kind := of.Name
		if fragment && kind == KindJob {
			for key, value := range map[string]any{"source": map[string]any{"paths": []any{"lake"}}, "target": "y"} {
				if _, said := job[key]; !said {
					job[key] = value
				}
			}
		}
		if err := compiled[kind].Validate(job); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	examples, err := filepath.Glob(filepath.Join("..", "..", "examples", "*.yaml"))
	if err != nil || len(examples) == 0 {
		t.Fatalf("%d examples, %v", len(examples), err)
	}
	more, err := filepath.Glob(filepath.Join("..", "..", "examples", "schedule", "[^c]*.yaml")) // without that of cron
	fatal.If(t, err)
	examples = append(examples, more...)
	offline := Environment{Lookup: with(nil).Lookup, Warning: func(string) {}, Offline: true} // the demo makes the rows of some
	for _, path := range examples {
		faults := faultsOf(t, Check(t.Context(), path, offline))
		if slices.ContainsFunc(faults, func(f yamlfile.Fault) bool { return !strings.Contains(f.Text, "no variable") }) {
			t.Errorf("%s: %v", path, faults)
		}
		text, err := os.ReadFile(path)
		fatal.If(t, err)
		takes(path, string(text), false)
	}
	blocks := 0
	pages := []string{"../../docs/tutorial.md", "../../README.md"}
	for _, kind := range []string{"howto", "reference"} {
		more, err := filepath.Glob("../../docs/" + kind + "/*.md")
		fatal.If(t, err)
		pages = append(pages, more...)
	}
	for _, page := range pages {
		text, err := os.ReadFile(filepath.FromSlash(page))
		fatal.If(t, err)
		for i, block := range strings.Split(string(text), "```yaml\n")[1:] {
			block, _, _ = strings.Cut(block, "```")
			if strings.HasPrefix(block, "apiVersion:") { // of Kubernetes
				continue
			}
			takes(page+" block "+strconv.Itoa(i+1), block, true)
			blocks++
		}
	}
	if blocks < 12 {
		t.Errorf("%d blocks in the pages", blocks)
	}
}

// otherNumbers are numbers of YAML that people write otherwise, which no schema tells.
var otherNumbers = regexp.MustCompile("octal|hexadecimal|underscored")

// The schema takes the forms that lint takes, and refuses those of testdata/messages.golden that
// lint cannot read.
func TestSchemaAndLintAgree(t *testing.T) {
	compiled := printedSchema(t, KindJob)
	for _, good := range []keys{
		{"inducing": "[10, 20]"},
		{"inducing": "7"},
		{"loss": "{epsilon: {std: 0.6}, unit: minutes}"},
		{"loss": "{kind: band, below: 1, above: 2}"},
		{"loss": "{kind: relative-zero-one, epsilon: 10 %}"},
		{"kernel": "[matern-3/2, matern-5/2]"},
		{"kernel": "matern-5/2"},
		{"grid": "paper"},
		{"groups": "g"},
		{"groups": "{g: [AA, WN]}"},
		{"unit": "[day, station]"},
		{"fill": "{x1: 0, x2: [median, flag]}"},
		{"guarantees": "pac-bayes"},
		{"guarantees": "[pac-bayes, holdout]"},
		{"split": "{holdout: 10 %}"},
		{"split": "{holdout: 0.2, key: a}"},
		{"duplicates": "{limit: 1 %}"},
		{"duplicates": "{limit: 0.003}"},
		{"duplicates": "{limit: 0 %}"},
		{"duplicates": "drop"},
		{"rejected": "{limit: 0.1 %, to: elsewhere.parquet}"},
		{"memory": "512MiB"},
		{"checkpoint": "1m30s"},
		{"train": "{seed: 18446744073709551615, time: 1.5h}"},
		{"require": "draw"},
		{"require": "0.5"},
		{"require": "{prediction: 10 %}"},
		{"delta": "1 %"},
		{"delta": "${A_NUMBER}"},
		{"workers": "${A_COUNT}"},
		{"memory": "${A_SIZE}"},
		{"target": "${A_NAME}"},
		{"features": "[x1, 3, 2.5]"},
		{"scaling": "none", "features": "[a]"},
	} {
		value, read := readForSchema(t, good, map[string]string{"A_NUMBER": "0.1", "A_COUNT": "3", "A_SIZE": "1GB", "A_NAME": "y"})
		if read.Faults != nil {
			t.Errorf("lint: %v: %v", good, read.Faults)
		}
		if err := compiled.Validate(value); err != nil {
			t.Errorf("schema: %v: %v", good, err)
		}
	}
	_, files := wrongFiles(t)
	for _, bad := range files {
		if bad.kind != KindJob || strings.Contains(bad.file, "${") || otherNumbers.MatchString(bad.title) {
			continue
		}
		value, read := readForSchema(t, tiny(changes(bad.file)), bad.variables)
		if read.Faults != nil && value != nil && compiled.Validate(value) == nil {
			t.Errorf("the schema takes %s %s, of which lint says %v", bad.title, bad.file, read.Faults)
		}
	}
}

func readForSchema(t *testing.T, change keys, given map[string]string) (any, *yamlfile.File) {
	t.Helper()
	text, err := os.ReadFile(tiny(change).write(t, t.TempDir()))
	fatal.If(t, err)
	_, read := parsed(text, func(name string) (string, bool) { value, ok := given[name]; return value, ok })
	_, shown := parsed(text, func(name string) (string, bool) { return "${" + name + "}", true })
	if shown.Root == nil {
		return nil, read
	}
	return plainValue(shown.Root), read
}

// leaves calls f for the keys of a schema, with the words that a key takes, if it takes
// words.
func leaves(key string, s map[string]any, f func(key string, words []any)) {
	forms, _ := s["anyOf"].([]any)
	var words []any
	for _, form := range append([]any{s}, forms...) {
		form, _ := form.(map[string]any)
		if enum, ok := form["enum"].([]any); ok {
			words = enum
		}
		if items, ok := form["items"].(map[string]any); ok && (key == "jobs" || key == "jobs.triggers") {
			leaves(key, items, f)
		}
		properties, _ := form["properties"].(map[string]any)
		for name, below := range properties {
			leaves(yamlfile.Join(key, name), below.(map[string]any), f)
		}
	}
	f(key, words)
}

// Each key is described on the page, which describes no other; the words that a key takes
// are those that lint takes, and words are declared for keys alone.
func TestSchemaSaysWhatKeysAre(t *testing.T) {
	ofWords := map[string]bool{}
	for _, kind := range []string{KindJob, KindSchedule, KindScore, KindWatch} {
		t.Run(kind, func(t *testing.T) { keysAreSaid(t, kind, ofWords) })
	}
	for key := range choices {
		if !ofWords[key] {
			t.Errorf("the words of %q are of no key", key)
		}
	}
}

func keysAreSaid(t *testing.T, kind string, ofWords map[string]bool) {
	var shown map[string]any
	fatal.If(t, json.Unmarshal(printed(t, kind), &shown))
	said, all := saidKeys(t, kind), map[string]bool{}
	leaves("", shown, func(key string, words []any) {
		all[key], ofWords[key] = true, ofWords[key] || words != nil
		known := slices.ContainsFunc(slices.Collect(maps.Keys(said)), func(other string) bool {
			return other == key || strings.HasPrefix(key, other+".") || strings.HasPrefix(other, key+".") || key == ""
		})
		if !known {
			t.Errorf("the page has no row for %q", key)
		}
		if kind != KindJob || key == "" {
			return
		}
		for _, word := range append(slices.Clone(words), "no-such-word") {
			change, value := key, word.(string)
			for strings.Contains(change, ".") {
				at := strings.LastIndexByte(change, '.')
				change, value = change[:at], "{"+change[at+1:]+": "+value+"}"
			}
			_, err := ReadJob(t.Context(), tiny(keys{change: value}).write(t, t.TempDir()), with(nil), Overrides{})
			faults := faultsOf(t, err)
			refused := slices.ContainsFunc(faults, func(f yamlfile.Fault) bool {
				return strings.HasPrefix(f.Text, key+": \""+word.(string)+"\" is n") || f.Key == "kernel" && strings.Contains(f.Text, word.(string))
			})
			if want := word == "no-such-word" && words != nil; refused != want && !slices.Contains([]string{"guarantees", "duplicates", "stream.promote", "require"}, key) { // these read their words themselves
				t.Errorf("%s: %v: refused: %v (%v)", key, word, refused, faults)
			}
		}
	})
	for key := range said {
		if !all[key] {
			t.Errorf("the page describes %q, which is no key", key)
		}
	}
}

var (
	nameInTable = regexp.MustCompile("`([a-z_.\\[\\]]+)`")
	keyTable    = regexp.MustCompile("^\\| key(?: of `([a-z_.]+)`)? \\|")
)

// saidKeys are the keys in the tables of the page about a kind of file.
func saidKeys(t *testing.T, kind string) map[string]bool {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", kind+".md"))
	fatal.If(t, err)
	said, section, inTable := map[string]bool{}, "", false
	joined := func(section, key string) string { return strings.TrimPrefix(section+"."+key, ".") }
	for line := range strings.Lines(string(page)) {
		if head := keyTable.FindStringSubmatch(line); head != nil {
			section, inTable = head[1], true
		}
		if inTable = inTable && strings.HasPrefix(line, "|"); !inTable || !strings.HasPrefix(line, "| `") {
			continue
		}
		above := ""
		for i, name := range nameInTable.FindAllStringSubmatch(strings.Split(line, " |")[0], -1) {
			key := strings.TrimPrefix(strings.ReplaceAll(name[1], "[]", ""), ".")
			if at := strings.LastIndexByte(key, '.'); i == 0 && at > 0 {
				above = key[:at]
			} else if at < 0 {
				key = joined(above, key) // in the section of the first key
			}
			said[joined(section, key)] = true
		}
	}
	return said
}
