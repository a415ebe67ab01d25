package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/allocated"
	"github.com/pacsgp/pacsgp/internal/fatal"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline/dataset"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// said checks that a job has what a decoded YAML value says: no number is cut to
// size, no section is dropped. Types that read their values themselves are left
// out.
func said(t *testing.T, path string, got reflect.Value, want any) {
	t.Helper()
	if want == nil || reflect.PointerTo(got.Type()).Implements(reflect.TypeFor[yamlfile.Formed]()) {
		return
	}
	if got.Kind() == reflect.Pointer {
		if got.IsNil() {
			t.Errorf("%s is missing, the file says %v", path, want)
			return
		}
		got = got.Elem()
	}
	differs := false
	switch got.Kind() {
	case reflect.Struct:
		section, ok := want.(map[string]any)
		differs = !ok
		if source, of := reflect.TypeAssert[SourceSection](got); of && !ok { // a path alone
			differs = len(source.Paths) != 1 || fmt.Sprint(want) != source.Paths[0] && reflect.TypeOf(want).Kind() == reflect.String
		}
		for key, value := range section {
			field, ok := maps.Collect(yamlfile.Keys(got.Type()))[key]
			if !ok {
				t.Errorf("%s has no key %q", path, key)
				continue
			}
			said(t, path+"."+key, got.FieldByIndex(field.Index), value)
		}
	case reflect.Slice:
		list, ok := want.([]any)
		if !ok && got.Len() == 1 { // one alone
			list, ok = []any{want}, true
		}
		differs = !ok || len(list) != got.Len()
		for i := 0; !differs && i < len(list); i++ {
			said(t, fmt.Sprintf("%s[%d]", path, i), got.Index(i), list[i])
		}
	case reflect.Int, reflect.Int64:
		differs = fmt.Sprint(want) != fmt.Sprint(got.Int())
	case reflect.Uint64:
		differs = fmt.Sprint(want) != fmt.Sprint(got.Uint())
	case reflect.Bool:
		differs = want != got.Bool()
	default:
	}
	if differs {
		t.Errorf("%s is %v, the file says %v", path, got, want)
	}
}

// One word stands for the paper's grid.
func TestGridOfThePaper(t *testing.T) {
	for text, want := range map[string]job.GridDecl{
		"grid: paper\n": job.PaperGrid, "grid:\ntarget: y\n": {}, "target: y\n": {},
	} {
		c, read := parsed([]byte(text), noVariables)
		if read.Faults != nil || c.job().Grid != want {
			t.Errorf("%q: %+v (%v), want %+v", text, c.job().Grid, read.Faults, want)
		}
	}
}

// Any text is an error in words or a job that has what the text says, in memory that is in proportion to it.
func FuzzJobFile(f *testing.F) {
	examples, err := filepath.Glob(filepath.Join("..", "..", "examples", "*.yaml"))
	if err != nil || len(examples) == 0 {
		f.Fatalf("%d examples, %v", len(examples), err)
	}
	for _, name := range examples {
		b, err := os.ReadFile(name)
		fatal.If(f, err)
		f.Add(b)
	}
	for _, text := range []string{
		"---\n", "a: &a [x]\nb: *a\n", "train: {seed: 1, 1}\n", "train: {passes: 2,5}\n",
		"inducing: 10.7\n", "train: {seed: 18446744073709551616}\n", "delta: 0.01\n---\ndelta: 0.2\n", "scaling: none",
		"target: y\n---", "---\ntarget: y\n---\n---", "target: ${X}\n", "output: '${X}/${Y}' # ${Z}\n", "${X}: 1\n", "&${X} a: *b\n", "loss: {epsilon: 0,1}\n",
		"duplicates: {limit: 100 %}\n", "workers: 9000000000000000000\n", "train: {passes: 1e300}\n", "target: \"\\x1b\\u202e\"\n", "? [a]\n: b\n", "a: !!binary x\n", "memory: 512\n",
		"source: A", "kernel: A", strings.Repeat("[", 100), strings.Repeat("- ", 100), "memory: 512MiB\ncheckpoint: 30s\nworkers: 3\nrequire: 0.5\n", "%YAML 1.2\n---\ntarget: |\n  y\n", "loss: {epsilon: {std: 0.6}, unit: \"°C\"}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, read := parsed(text, noVariables)
		allocated.Within(t, 1<<12*uint64(len(text))+1<<20, func() { parsed(text, noVariables) })
		for _, f := range read.Faults {
			if strings.TrimSpace(f.Text) == "" {
				t.Errorf("%#v has no words", f)
			}
		}
		if read.Faults != nil {
			return
		}
		var file map[string]any
		if err := yaml.Unmarshal([]byte(read.Root.String()), &file); err != nil {
			return // the library cannot read what it prints
		}
		said(t, "the job", reflect.ValueOf(c), file)
		// Behind a second line of dashes the library finds nothing.
		if again, read := parsed(append([]byte("# a comment\n---\n"), text...), noVariables); read.Faults == nil && !cmp.Equal(c, again, cmp.Exporter(func(reflect.Type) bool { return true }), cmp.Comparer(sameNumber)) {
			t.Errorf("after a comment the job is another one:\n%s", cmp.Diff(c, again, cmp.Exporter(func(reflect.Type) bool { return true }), cmp.Comparer(sameNumber)))
		}
		_ = c.job()
	})
}

// Whatever a variable holds, it is one value, or the job is refused.
func FuzzVariable(f *testing.F) {
	for _, value := range []string{"", "y", "a: b", "y\nrequire: 0.5", "\"", "' # x", "{a: 1}", "[a, b]", "*a", "&a", "!!str", "---", "1e300", "~", "null", "${V}", "\x00", "\u202e", "- a", "| x", "\\n", "<<"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		lookup := func(string) (string, bool) { return value, true }
		c, read := parsed([]byte("target: ${V}\noutput: 'a/${V}/b'\nfeatures: [${V}, x]\nsource: {paths: [p/${V}]} # ${V}\n"), lookup)
		if read.Faults != nil {
			return
		}
		want := JobFile{Target: c.Target, Output: "a/" + value + "/b", Features: []string{c.Target, "x"}, Source: SourceSection{Paths: []string{"p/" + value}}}
		if diff := cmp.Diff(want, c, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
			t.Errorf("%q (-want +got):\n%s", value, diff)
		}
		if c.Target != value && len(value) > 400 {
			t.Errorf("%q became %q", value, c.Target)
		}
	})
}

func noVariables(string) (string, bool) { return "", false }

func sameNumber(a, b float64) bool { return a == b || a != a && b != b }

// What may be a share may be in percent.
func TestSharesInPercent(t *testing.T) {
	for text, want := range map[string]float64{"1 %": 0.01, "1%": 0.01, "0.3 %": 0.003, "0.05": 0.05, "1e-6": 1e-6, "'5 %'": 0.05} {
		c, read := parsed([]byte("delta: "+text+"\nrequire: "+text+"\n"), noVariables)
		var flag Share
		err := flag.Set(strings.Trim(text, "'"))
		if read.Faults != nil || err != nil || c.job().Delta != want || c.Require.Limit != want || float64(flag) != want {
			t.Errorf("%s: delta %v, require %v, flag %v (%v, %v), want %v", text, c.job().Delta, c.Require.Limit, flag, read.Faults, err, want)
		}
	}
}

// A share in percent is the number that is written with the point two digits to the left.
func TestDuplicatesInTheJobFile(t *testing.T) {
	for text, want := range map[string]job.DuplicatesDecl{
		"":                               {},
		"duplicates: {limit: 0}":         {Policy: "limit"},
		"duplicates: {limit: 1 %}":       {Policy: "limit", Limit: 0.01},
		"duplicates: {limit: \"0.3 %\"}": {Policy: "limit", Limit: 0.003},
		"duplicates: {limit: 0.003}":     {Policy: "limit", Limit: 0.003},
		"duplicates: drop":               {Policy: "drop"},
		"duplicates: keep":               {Policy: "keep"},
	} {
		c, read := parsed([]byte("target: y\n"+text+"\n"), noVariables)
		if read.Faults != nil || c.job().Duplicates != want {
			t.Errorf("%q gives %+v, %v, want %+v", text, c.job().Duplicates, read.Faults, want)
		}
	}
}

// A file that comes while a job runs is in none of its passes; keys of paths stay columns.
func TestListedOnce(t *testing.T) {
	dir := t.TempDir()
	g, err := NewGenerator()
	fatal.If(t, err)
	for _, day := range []string{"day=1", "day=2"} {
		fatal.If(t, g.WriteLake(t.Context(), filepath.Join(dir, day), 2, 0, 40))
	}
	rows := Task{Source: Lake{[]string{dir}}}.Rows()
	want := dataset.Choice{Features: []string{"x1", "day"}, Target: "y"}
	first, err := rows.Open(t.Context(), want)
	fatal.If(t, err)
	fatal.If(t, g.WriteLake(t.Context(), filepath.Join(dir, "day=0"), 1, 0, 40))
	again, err := rows.Open(t.Context(), want)
	fatal.If(t, err)
	if n := len(first.Shards()); n != 4 || len(again.Shards()) != n {
		t.Fatalf("%d shards, and later %d", n, len(again.Shards()))
	}
	for i, shard := range first.Shards() {
		if got := again.Shards()[i]; got.Name != shard.Name || got.Rows != shard.Rows {
			t.Errorf("shard %d is %+v, and was %+v", i, got, shard)
		}
	}
}

// keys is a file as the tests vary it: key and value in YAML. A key without a value is left out.
type keys map[string]string

// tiny is a small job of files.
func tiny(change keys) keys {
	k := keys{
		"source": "{paths: [lake]}", "target": "y", "loss": "{epsilon: 0.7}", "delta": "0.05",
		"inducing": "12", "train": "{passes: 2}", "output": "out",
	}
	maps.Copy(k, change)
	return k
}

// write writes job.yaml into dir and returns its path.
func (k keys) write(t testing.TB, dir string) string {
	t.Helper()
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(k)) {
		if k[key] != "" {
			fmt.Fprintf(&text, "%s: %s\n", key, k[key])
		}
	}
	return writeFile(t, filepath.Join(dir, "job.yaml"), text.String())
}

// writeFile writes a file and returns its path.
func writeFile(t testing.TB, path, text string) string {
	t.Helper()
	fatal.If(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// with is an environment with these variables.
func with(variables map[string]string) Environment {
	return Environment{Lookup: func(name string) (string, bool) { value, ok := variables[name]; return value, ok }, Warning: func(string) {}}
}

// parsed is the text of a job file, decoded.
func parsed(text []byte, lookup func(string) (string, bool)) (JobFile, *yamlfile.File) {
	return yamlfile.Parse[JobFile](kinds[1].Kind, "job.yaml", text, lookup)
}

// faultsOf are the faults of a file, in an error.
func faultsOf(t testing.TB, err error) (all []yamlfile.Fault) {
	t.Helper()
	for _, each := range yamlfile.Separate(err) {
		f, ok := errors.AsType[yamlfile.Fault](each)
		if !ok {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}

// What is replayed is the topic of the verifier: a certificate that names another
// one, or another partition, is refused.
func TestReplayIsOfTheOwnTopic(t *testing.T) {
	own := &Topic{KafkaSection: KafkaSection{TopicSection: TopicSection{Topic: "flights"}, Partitions: []int{0, 2}}}
	for _, c := range []struct {
		segment certify.Segment
		refused bool
	}{
		{certify.Segment{Topic: "flights", Partition: 2, End: 5, Rows: 5}, false},
		{certify.Segment{Topic: "flights", Partition: 1, End: 5, Rows: 5}, true},
		{certify.Segment{Topic: "rehearsal", Partition: 0, End: 5, Rows: 5}, true},
	} {
		_, err := own.Replay(certify.Certificate{Evidence: certify.Evidence{Sample: certify.Sample{Segments: []certify.Segment{c.segment}}}})
		if errors.Is(err, job.ErrRefused) != c.refused {
			t.Errorf("%+v: %v, want refused: %v", c.segment, err, c.refused)
		}
	}
}

// Spools of other windows are found under every name of an output.
func TestOtherSpools(t *testing.T) {
	output := filepath.Join(t.TempDir(), "out[1")
	own, other := filepath.Join(output, spoolPrefix+"a"), filepath.Join(output, spoolPrefix+"b")
	fatal.If(t, os.MkdirAll(own, 0o755))
	fatal.If(t, os.Mkdir(other, 0o755))
	k := &Topic{}
	k.Config.Folder = own
	if got := k.others(output); !slices.Equal(got, []string{other}) {
		t.Errorf("others are %q, want %q", got, other)
	}
}
