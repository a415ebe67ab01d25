package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/ingest"
	"github.com/pacsgp/pacsgp/pipeline"
)

// A configuration is a job file: one YAML document. Its keys are those of the
// structs below; any other key is an error.
type configuration struct {
	Source   sourceConfig  `yaml:"source"`
	Target   string        `yaml:"target"`
	Features []string      `yaml:"features"`
	Exclude  []string      `yaml:"exclude"`
	Loss     lossConfig    `yaml:"loss"`
	Delta    *float64      `yaml:"delta"`
	Kernel   kernelConfig  `yaml:"kernel"`
	Grid     gridConfig    `yaml:"grid"`
	Inducing oneOrMore     `yaml:"inducing"`
	Scaling  scalingConfig `yaml:"scaling"`
	Roles    rolesConfig   `yaml:"roles"`
	Copies   copiesConfig  `yaml:"copies"`
	BadRows  badRowsConfig `yaml:"bad_rows"`
	Train    trainConfig   `yaml:"train"`

	Guarantees guaranteesConfig `yaml:"guarantees"`

	Sweep []alternativeConfig `yaml:"sweep"`

	Output     string        `yaml:"output"`
	Publish    publishConfig `yaml:"publish"`
	Attempts   string        `yaml:"attempts"`
	Limit      float64       `yaml:"limit"`
	Judge      string        `yaml:"judge"`
	Strict     bool          `yaml:"strict"`
	Workers    int           `yaml:"workers"`
	Memory     byteSize      `yaml:"memory"`
	Checkpoint span          `yaml:"checkpoint"`
}

type sourceConfig struct {
	Paths pathList    `yaml:"paths"`
	Kafka kafkaConfig `yaml:"kafka"`

	file string // that the section stands in
}

// pathList is a list of files, folders and patterns.
type pathList []string

// UnmarshalYAML reads the list. The library would take nothing for "", which is the
// folder of the job file, and a number for its digits.
func (p *pathList) UnmarshalYAML(node ast.Node) error {
	if node.Type() == ast.NullType {
		return nil
	}
	list, ok := node.(*ast.SequenceNode)
	if !ok {
		return fault(node, "want a list, as in [a, b]")
	}
	for _, one := range list.Values {
		var path string
		switch one.(type) {
		case *ast.StringNode, *ast.LiteralNode:
			if err := yaml.NodeToValue(one, &path); err != nil {
				return err
			}
		}
		if path == "" {
			return fault(one, "want a path; one that looks like a number stands in quotes")
		}
		*p = append(*p, path)
	}
	return nil
}

type lossConfig struct {
	Kind    string  `yaml:"kind"`
	Epsilon epsilon `yaml:"epsilon"`
	Below   float64 `yaml:"below"`
	Above   float64 `yaml:"above"`
	Unit    string  `yaml:"unit"`
}

type kernelConfig struct {
	Family    nameList `yaml:"family"`
	Isotropic bool     `yaml:"isotropic"`
}

// nameList is a text or a list of texts.
type nameList []string

// UnmarshalYAML reads the two forms.
func (n *nameList) UnmarshalYAML(node ast.Node) error {
	nodes := []ast.Node{node}
	if list, ok := node.(*ast.SequenceNode); ok {
		nodes = list.Values
	}
	*n = nameList{}
	for _, one := range nodes {
		text, ok := one.(*ast.StringNode)
		if !ok {
			return fault(one, "want a name or a list of names")
		}
		*n = append(*n, text.Value)
	}
	return nil
}

type gridConfig struct {
	Min   *float64 `yaml:"min"`
	Max   *float64 `yaml:"max"`
	Step  *float64 `yaml:"step"`
	Prior string   `yaml:"prior"`
	Width float64  `yaml:"width"`
}

type scalingConfig struct {
	Mode     string                  `yaml:"mode"`
	Features map[string]affineConfig `yaml:"features"`
	Target   *affineConfig           `yaml:"target"`
}

type affineConfig struct {
	Centre float64 `yaml:"centre"`
	Scale  float64 `yaml:"scale"`
}

type rolesConfig struct {
	By        string        `yaml:"by"`
	Reference int64         `yaml:"reference"`
	Key       string        `yaml:"key"`
	Holdout   holdoutConfig `yaml:"holdout"`
}

type trainConfig struct {
	Mode   string  `yaml:"mode"`
	Batch  int     `yaml:"batch"`
	Buffer int     `yaml:"buffer"`
	Passes float64 `yaml:"passes"`
	Time   span    `yaml:"time"`
	Seed   uint64  `yaml:"seed"`
}

// epsilon is a number in raw units, or {std: number}.
type epsilon struct {
	raw, std float64
	given    bool // even if as 0
}

// UnmarshalYAML reads the two forms.
func (e *epsilon) UnmarshalYAML(node ast.Node) error {
	e.given = node.Type() != ast.NullType
	if err := yaml.NodeToValue(node, &e.raw); err == nil {
		return nil
	}
	var form struct {
		Std *float64 `yaml:"std"`
	}
	if err := yaml.NodeToValue(node, &form, yaml.Strict()); err != nil || form.Std == nil {
		return fault(node, "epsilon: want a number in the target's units, or {std: number}")
	}
	e.std = *form.Std
	return nil
}

// parseEpsilon reads the flag's form: a number, or a number followed by "std".
func parseEpsilon(s string) (epsilon, error) {
	number, inStd := strings.CutSuffix(s, "std")
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	switch {
	case err != nil:
		return epsilon{}, fmt.Errorf("%q: want a number in the target's units, or a number of standard deviations as in 0.6std", s)
	case inStd:
		return epsilon{std: x, given: true}, nil
	default:
		return epsilon{raw: x, given: true}, nil
	}
}

// positive reads a number above 0.
func positive(node ast.Node) (float64, error) {
	var x float64
	if err := yaml.NodeToValue(node, &x); err != nil || !(x > 0) {
		return 0, fault(node, "want a number above 0")
	}
	return x, nil
}

// oneOrMore is a number or a list of numbers.
type oneOrMore []int

// UnmarshalYAML reads the two forms.
func (o *oneOrMore) UnmarshalYAML(node ast.Node) error {
	nodes := []ast.Node{node}
	if list, ok := node.(*ast.SequenceNode); ok {
		nodes = list.Values
	}
	*o = nil
	if len(nodes) == 0 {
		return fault(node, "want a whole number or a list of whole numbers; leave the key out for the default")
	}
	for _, n := range nodes {
		v, err := wholeNumber(n, false)
		if err != nil {
			return fault(n, "want a whole number or a list of whole numbers")
		}
		*o = append(*o, int(v))
	}
	return nil
}

const wantTime = "want a time such as 90s, 15m or 2h"

// span is a time with its unit: a plain number would be taken for seconds by
// its writer and for nanoseconds by Go.
type span time.Duration

// UnmarshalYAML reads the time.
func (s *span) UnmarshalYAML(node ast.Node) error {
	var text string
	err := yaml.NodeToValue(node, &text)
	d, parsed := time.ParseDuration(text)
	if err != nil || parsed != nil {
		return fault(node, wantTime)
	}
	*s = span(d)
	return nil
}

// byteSize is a number of bytes with an optional unit: 512MiB, 2GB.
type byteSize int64

var sizePattern = regexp.MustCompile(`^([0-9]+) *(|B|[KMGT]i?B)$`)

// UnmarshalYAML reads the size.
func (b *byteSize) UnmarshalYAML(node ast.Node) error {
	var s string
	if err := yaml.NodeToValue(node, &s); err != nil {
		return fault(node, "want a size such as 512MiB")
	}
	size, err := parseSize(s)
	if err != nil {
		return fault(node, err.Error())
	}
	*b = size
	return nil
}

// fault is an error at a place in the job file.
func fault(node ast.Node, text string) error {
	return &yaml.SyntaxError{Message: text, Token: node.GetToken()}
}

func parseSize(s string) (byteSize, error) {
	m := sizePattern.FindStringSubmatch(s)
	if m == nil {
		return 0, fmt.Errorf("%q is no size: want for instance 512MiB or 2GB", s)
	}
	n, err := strconv.ParseInt(m[1], 10, 40)
	if err != nil {
		return 0, fmt.Errorf("%q is no size: the number is too large", s)
	}
	if n == 0 {
		return 0, fmt.Errorf("%q is no memory; leave it out for the default", s)
	}
	if m[2] == "" {
		return 0, fmt.Errorf("%q has no unit: write %sMiB if that is meant, or %sB", s, s, s)
	}
	base := int64(1000)
	if strings.Contains(m[2], "i") {
		base = 1024
	}
	if unit := strings.TrimRight(m[2], "iB"); unit != "" {
		for range strings.Index("KMGT", unit) + 1 {
			if n > math.MaxInt64/base {
				return 0, fmt.Errorf("%q is no size: the number is too large", s)
			}
			n *= base
		}
	}
	return byteSize(n), nil
}

// readConfiguration reads a job file. Unknown keys and wrong types are errors
// with line and column; ${VAR} in a value is replaced by the variable that lookup
// finds.
func readConfiguration(ctx context.Context, path string, lookup func(string) (string, bool)) (configuration, *ast.File, origins, error) {
	raw, err := readSmall(path, "a job", maxJobBytes)
	if err != nil {
		return configuration{}, nil, nil, fmt.Errorf("%w: %w", pipeline.ErrConfig, err)
	}
	c, tree, from, err := parseUntil(ctx, raw, lookup)
	if ctx.Err() != nil {
		return c, nil, nil, ctx.Err()
	}
	if err == nil && tree == nil {
		return c, nil, nil, fmt.Errorf("%w: %s is empty; docs/job.md shows the smallest job", pipeline.ErrConfig, path)
	}
	if err != nil {
		// Without the excerpt that the library can show: a value may be secret.
		return c, nil, nil, fmt.Errorf("%w: %s: %s", pipeline.ErrConfig, path, yaml.FormatError(withoutValue(inWords(err, tree), from), false, false))
	}
	return c, tree, from, nil
}

// withoutValue is an error about a value, which it does not show if variables of
// the environment are in it. What only says what it wants shows none.
func withoutValue(err error, from origins) error {
	at, ok := errors.AsType[yaml.Error](err)
	if !ok || strings.HasPrefix(at.GetMessage(), "want ") {
		return err
	}
	names := from.of(at.GetToken())
	if names == "" {
		return err
	}
	return &yaml.SyntaxError{Message: unseen(names), Token: at.GetToken()}
}

// inWords says what the YAML library says about a value in words that need no Go.
func inWords(err error, tree *ast.File) error {
	var mismatch *yaml.TypeError
	var unknown *yaml.UnknownFieldError
	var node *yaml.UnexpectedNodeTypeError
	switch {
	case errors.As(err, &node):
		want := "keys with values"
		if node.Expected == ast.SequenceType {
			want = "a list, as in [a, b]"
		}
		return &yaml.SyntaxError{Message: "want " + want, Token: node.Token}
	case errors.As(err, &mismatch):
		return &yaml.SyntaxError{Message: "want " + wanted(mismatch.DstType), Token: mismatch.Token}
	case errors.As(err, &unknown) && within(nodeOf(tree, "sweep"), unknown.Token) && isKey(unknown.Token.Value):
		return &yaml.SyntaxError{Message: fmt.Sprintf("an alternative does not take the key %q here; docs/job.md lists what it takes", unknown.Token.Value), Token: unknown.Token}
	case errors.As(err, &unknown):
		return &yaml.SyntaxError{Message: unknown.Message + didYouMeanKey(unknown.Token) + "; docs/job.md lists the keys", Token: unknown.Token}
	default:
		return err
	}
}

// within reports whether a part of a job holds a token.
func within(part ast.Node, t *token.Token) bool {
	if part == nil || t == nil {
		return false
	}
	at := origins{{t.Position.Line, t.Position.Column}: "here"}
	return at.under(part) != ""
}

// isKey reports whether a word is a key of the job or of one of its sections.
func isKey(word string) bool {
	var in func(t reflect.Type) bool
	in = func(t reflect.Type) bool {
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if name != "" && (name == word || f.Type.Kind() == reflect.Struct && in(f.Type)) {
				return true
			}
		}
		return false
	}
	return in(reflect.TypeFor[configuration]())
}

// didYouMeanKey suggests a key of the job for one that is none: one that is
// written much like it, or the same one where it belongs.
func didYouMeanKey(unknown *token.Token) string {
	if unknown == nil {
		return ""
	}
	var names []string
	paths := map[string]string{}
	var add func(prefix string, t reflect.Type)
	add = func(prefix string, t reflect.Type) {
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if _, taken := paths[name]; name == "" || taken {
				continue
			}
			names, paths[name] = append(names, name), prefix+name
			if f.Type.Kind() == reflect.Struct {
				add(prefix+name+".", f.Type)
			}
		}
	}
	add("", reflect.TypeFor[configuration]())
	if strings.ContainsFunc(unknown.Value, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "" // a suggestion would hide what is wrong with it
	}
	suggestion := ingest.DidYouMean(unknown.Value, names)
	for _, name := range names {
		if strings.Contains(suggestion, strconv.Quote(name)) {
			return strings.Replace(suggestion, strconv.Quote(name), paths[name], 1)
		}
	}
	return ""
}

// wanted names the values that a key takes.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Float64:
		return "a number"
	case reflect.Int, reflect.Uint64:
		return "a whole number"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	case reflect.Slice:
		return "a list, as in [a, b]"
	default:
		return "keys with values"
	}
}

// job is the part of the configuration that decides the result.
func (c configuration) job() pipeline.Job {
	scaling := pipeline.Scaling{Mode: pipeline.ScalingMode(c.Scaling.Mode)}
	for name, a := range c.Scaling.Features {
		if scaling.Features == nil {
			scaling.Features = map[string]pipeline.Affine{}
		}
		scaling.Features[name] = pipeline.Affine{Name: name, Centre: a.Centre, Scale: a.Scale}
	}
	if a := c.Scaling.Target; a != nil {
		scaling.Target = &pipeline.Affine{Name: c.Target, Centre: a.Centre, Scale: a.Scale}
	}
	return pipeline.Job{
		Target: c.Target, Features: c.Features, Exclude: c.Exclude,
		Loss: pipeline.LossDecl{
			Kind: certify.LossKind(c.Loss.Kind), Epsilon: c.Loss.Epsilon.raw, EpsilonStd: c.Loss.Epsilon.std,
			Below: c.Loss.Below, Above: c.Loss.Above, Unit: c.Loss.Unit,
		},
		Delta:    c.delta(),
		Kernel:   pipeline.KernelDecl{Family: c.Kernel.Family, Isotropic: c.Kernel.Isotropic},
		Grid:     c.Grid.declared(),
		Inducing: c.Inducing,
		Scaling:  scaling,
		Roles:    c.Roles.declared(),
		Copies:   pipeline.CopiesDecl(c.Copies),
		BadRows:  pipeline.BadRowsDecl{Tolerance: float64(c.BadRows.Tolerance)},
		Train: pipeline.TrainDecl{
			Mode: pipeline.TrainMode(c.Train.Mode), Batch: c.Train.Batch, Buffer: c.Train.Buffer,
			Passes: c.Train.Passes, Time: pipeline.Seconds(c.Train.Time), Seed: c.Train.Seed,
		},
		Guarantees: c.Guarantees,
		Sweep:      c.alternatives(),
	}
}

// declared writes by: hash as it is in a job, which is not at all.
func (r rolesConfig) declared() pipeline.RolesDecl {
	by := pipeline.RolesBy(r.By)
	if r.By == "hash" {
		by = pipeline.RolesByHash
	}
	return pipeline.RolesDecl{Key: r.Key, Holdout: float64(r.Holdout), By: by, Reference: r.Reference}
}

// delta is δ, or 0 if it is not given.
func (c configuration) delta() float64 {
	if c.Delta == nil {
		return 0
	}
	return *c.Delta
}

// sharpened says of a number that is given as 0 what is wrong with it: to the
// job's own check it looks like one that is missing.
func (c configuration) sharpened(fault error) error {
	e := c.Loss.Epsilon
	switch key, _ := keyOf(fault); {
	case key == "delta" && c.Delta != nil && *c.Delta == 0:
		return fmt.Errorf("%w: delta: 0 is not between 0 and 1, both excluded", pipeline.ErrConfig)
	case key == "loss.epsilon" && e.given && e.raw == 0 && e.std == 0:
		return fmt.Errorf("%w: loss.epsilon: 0 is not positive", pipeline.ErrConfig)
	default:
		return fault
	}
}

// declared fills in what the grid leaves out, key by key.
func (g gridConfig) declared() pipeline.GridDecl {
	or := func(x *float64, value float64) float64 {
		if x == nil {
			return value
		}
		return *x
	}
	d := pipeline.DefaultGrid
	return pipeline.GridDecl{
		Min: or(g.Min, d.Min), Max: or(g.Max, d.Max), Step: or(g.Step, d.Step), Prior: g.Prior, Width: g.Width,
	}
}

func (c configuration) resources() pipeline.Resources {
	return pipeline.Resources{Workers: c.Workers, Memory: int64(c.Memory), Checkpoint: time.Duration(c.Checkpoint)}
}

// relativeTo makes the file's relative paths relative to the file's folder.
func (c *configuration) relativeTo(folder string) {
	c.Source.relativeTo(folder)
	c.Publish.Kafka.relativeTo(folder)
	for _, p := range []*string{&c.Output, &c.Attempts, &c.BadRows.To} {
		if *p != "" && !filepath.IsAbs(*p) && !isRemote(*p) {
			*p = filepath.Join(folder, *p)
		}
	}
}

// keyOf cuts a fault of a job into the key, with which its text starts, and the
// rest.
func keyOf(fault error) (key, rest string) {
	key, rest, _ = strings.Cut(strings.TrimPrefix(fault.Error(), pipeline.ErrConfig.Error()+": "), ":")
	return key, rest
}

// choicePlaced makes faults of a choice of columns faults of the job, with the
// place where the alternative (0: the job) makes that choice.
func choicePlaced(err error, place func(key string) string, alternative int) error {
	if _, ok := errors.AsType[*ingest.ChoiceError](err); !ok {
		return err
	}
	all := separate(err)
	for i, fault := range all[:min(len(all), mostFaults)] { // the others are not shown
		choice, ok := errors.AsType[*ingest.ChoiceError](fault)
		if !ok {
			continue
		}
		key := choice.Key
		if choice.Index >= 0 {
			key = fmt.Sprintf("%s[%d]", key, choice.Index)
		}
		at := place(fmt.Sprintf("sweep[%d].%s", alternative-1, key))
		for _, other := range []string{key, choice.Key} {
			if at == "" {
				at = place(other)
			}
		}
		all[i] = fmt.Errorf("%w: %s%s: %s", pipeline.ErrConfig, at, choice.Key, choice.Text)
	}
	return errors.Join(all...)
}

// separate are the errors that were joined into one, in their order.
func separate(err error) (all []error) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || errors.Join(joined.Unwrap()...).Error() != err.Error() { // other than a join it has words of its own
		return []error{err}
	}
	for _, fault := range joined.Unwrap() {
		all = append(all, separate(fault)...)
	}
	return all
}

// placed adds to each fault of a job where its key was set: by a flag, or in the
// file, with line and column if the key stands there.
func placed(err error, path string, tree *ast.File, from origins, changed func(string) bool) error {
	var faults []error
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	for i, fault := range joined.Unwrap() {
		if i == mostFaults { // the others are not shown, and finding a place takes long in a long file
			faults = append(faults, joined.Unwrap()[i:]...)
			break
		}
		key, rest := keyOf(fault)
		if flag, ok := flags[key]; ok && changed(flag) {
			faults = append(faults, fmt.Errorf("%w: --%s:%s", pipeline.ErrConfig, flag, rest))
			continue
		}
		names := from.under(nodeOf(tree, key))
		if names == "" { // what an alternative leaves out it has from the job
			names = from.under(nodeOf(tree, ofAlternative.ReplaceAllString(key, "")))
		}
		if names != "" && !takesText(key) {
			rest = " " + unseen(names)
		}
		faults = append(faults, fmt.Errorf("%w: %s: %s%s:%s", pipeline.ErrConfig, path, place(tree, key), key, rest))
	}
	return errors.Join(faults...)
}

// place is the line and column of a key, and a blank; empty if the file does not
// have the key.
func place(tree *ast.File, key string) string {
	node := nodeOf(tree, key)
	if node == nil {
		return ""
	}
	at := node.GetToken().Position
	return fmt.Sprintf("[%d:%d] ", at.Line, at.Column)
}

// nodeOf is the value of a key, nil if the file does not have it.
func nodeOf(tree *ast.File, key string) ast.Node {
	query, err := yaml.PathString("$." + key)
	if err != nil || tree == nil {
		return nil
	}
	node, err := query.FilterFile(tree)
	if err != nil {
		return nil
	}
	return node
}

var (
	listIndex     = regexp.MustCompile(`\[[0-9]+\]`)
	ofAlternative = regexp.MustCompile(`^sweep\[[0-9]+\]\.`)
)

// takesText reports whether a key of the job is set to a text or a list of texts,
// which a fault shows as it is or in quotes: so it is found and hidden.
func takesText(key string) bool {
	t := reflect.TypeFor[configuration]()
	for name := range strings.SplitSeq(listIndex.ReplaceAllString(key, ""), ".") {
		for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return false
		}
		field, ok := t.FieldByNameFunc(func(f string) bool {
			field, _ := t.FieldByName(f)
			tag, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
			return tag == name
		})
		if !ok {
			return false
		}
		t = field.Type
	}
	return t.Kind() == reflect.String || t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String
}
