package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/pacsgp/pacsgp/internal/allocated"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
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
			field, ok := keyField(got, key)
			if !ok {
				t.Errorf("%s has no key %q", path, key)
				continue
			}
			said(t, path+"."+key, field, value)
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

func keyField(v reflect.Value, key string) (reflect.Value, bool) {
	for name, f := range yamlfile.Keys(v.Type()) {
		if name == key {
			return v.FieldByIndex(f.Index), true
		}
	}
	return reflect.Value{}, false
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

// Any text is an error in words or a job that has what the text says, in memory
// that is in proportion to it.
func FuzzJobFile(f *testing.F) {
	examples, err := filepath.Glob(filepath.Join("..", "..", "examples", "*.yaml"))
	if err != nil || len(examples) == 0 {
		f.Fatalf("%d examples, %v", len(examples), err)
	}
	for _, name := range examples {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
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
