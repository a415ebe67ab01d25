package config

import (
	"cmp"
	"errors"
	"net"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// A Share is a probability or a difference of two, written as in 0.01 or 1 %.
type Share float64

const wantShare = "want a number, as in 0.01 or 1 %"

var sharePattern = regexp.MustCompile(`^([0-9]+(?:\.[0-9]*)?|\.[0-9]+) *(%?)$`)

// Form returns the form of a number, or of a share as text.
func (s *Share) Form() (yamlfile.Form, string) {
	text := schema{"type": "string", "pattern": sharePattern.String()}
	return yamlfile.Any(yamlfile.Number((*float64)(s)), yamlfile.Accept(text, func(node ast.Node) bool {
		text, ok := node.(*ast.StringNode)
		return ok && s.read(text.Value) == nil
	})), wantShare
}

// read parses a share, which may be a percentage.
func (s *Share) read(text string) error {
	if m := sharePattern.FindStringSubmatch(text); m != nil && m[2] == "%" {
		text = m[1] + "e-2" // read as decimals, so that 1 % is 0.01
	}
	if strings.ContainsAny(text, "_xX") {
		text = "" // of Go, such as 1_0 and 0x1p-4
	}
	x, err := strconv.ParseFloat(text, 64)
	*s = Share(x)
	return err
}

// Set parses a share from a flag. It must be above 0 and below 1.
func (s *Share) Set(text string) error {
	if err := s.read(text); err != nil || !(0 < *s && *s < 1) {
		return errors.New("want a number between 0 and 1, as in 0.9 or 90 %")
	}
	return nil
}

// fraction returns the form of a share below 1 and above 0, or also 0 if zero is set.
func fraction(to *float64, zero bool) yamlfile.Form {
	text := schema{"type": "string", "pattern": `^((0*[0-9]{1,2}(\.[0-9]*)?|\.[0-9]+) *%|0+(\.[0-9]*)?|\.[0-9]+)$`}
	s := schema{"anyOf": []schema{{"type": "number", "minimum": 0, "exclusiveMaximum": 1}, text}}
	if !zero {
		s["not"] = schema{"const": 0}
	}
	share := (*Share)(to)
	form, _ := share.Form()
	return yamlfile.Accept(s, func(node ast.Node) bool {
		return form.Read(node) == nil && (0 < *share || zero && *share == 0) && *share < 1
	})
}

// rejectedShare is the largest share of rows that may be rejected.
type rejectedShare float64

func (s *rejectedShare) Form() (yamlfile.Form, string) {
	return fraction((*float64)(s), true), "want the largest share of rows that may be rejected, below 100 %, as in 0.1 % or 0.001"
}

// heldOutShare is a share of the rows that is held out.
type heldOutShare float64

func (s *heldOutShare) Form() (yamlfile.Form, string) {
	return fraction((*float64)(s), false), "want a share of the rows, as in 10 % or 0.1"
}

// holdoutConfig is the share of rows to hold out, and whether these are the last rows.
type holdoutConfig struct {
	share heldOutShare
	last  bool
}

func (h *holdoutConfig) Form() (yamlfile.Form, string) {
	share, _ := h.share.Form()
	return yamlfile.Any(share, yamlfile.Under("last", share).Then(func() { h.last = true })),
		"want a share of the rows, as in 10 % or 0.1, or of the last ones, as in {last: 10 %}"
}

// duplicatesConfig is drop, keep, or a limit.
type duplicatesConfig job.DuplicatesDecl

func (c *duplicatesConfig) Form() (yamlfile.Form, string) {
	limit := yamlfile.Under("limit", fraction(&c.Limit, true)).Then(func() { c.Policy = job.DuplicatesLimited })
	return yamlfile.Any(yamlfile.Word(&c.Policy, job.DuplicatesDropped, job.DuplicatesKept), limit), "want drop, keep, or {limit: 1 %}"
}

// rejectedTo is the destination of rejected rows: a file, or a topic of dead letters.
type rejectedTo struct{ path, topic string }

func (b *rejectedTo) Form() (yamlfile.Form, string) {
	return yamlfile.Any(yamlfile.Text(&b.path), yamlfile.Under("kafka", yamlfile.Text(&b.topic))),
		"want a file, as in bad.parquet, or a topic, as in {kafka: rows-dead}"
}

// A Require names the claim that a run must certify, and the largest acceptable bound.
type Require struct {
	Of    certify.Predictor // "" means predictions
	Limit float64           // 0 means no limit
}

// Form returns the form of a claim, a bound, or {claim: bound}.
func (r *Require) Form() (yamlfile.Form, string) {
	bound := fraction(&r.Limit, false)
	words := []certify.Predictor{certify.PredictorMean, certify.PredictorDraw}
	forms := []yamlfile.Form{yamlfile.Word(&r.Of, words...), bound}
	for _, of := range words {
		forms = append(forms, yamlfile.Under(string(of), bound).Then(func() { r.Of = of }))
	}
	return yamlfile.Any(forms...), "want a bound below 1, as in 10 %; or what must be certified, prediction or draw; or both, as in {draw: 10 %}"
}

// An Epsilon is a tolerance: in raw units, in standard deviations, or a share of the target.
type Epsilon struct {
	Raw, std float64
	percent  bool // Raw is a share of the target
}

// Form returns the form of a number, {std: number}, or a percentage.
func (e *Epsilon) Form() (yamlfile.Form, string) {
	var share Share
	percent := schema{"type": "string", "pattern": strings.Replace(sharePattern.String(), "(%?)", "%", 1)}
	return yamlfile.Any(yamlfile.Number(&e.Raw), yamlfile.Under("std", yamlfile.Number(&e.std)), yamlfile.Accept(percent, func(node ast.Node) bool {
		text := node.GetToken().Value
		e.percent = strings.HasSuffix(text, "%") && share.read(text) == nil
		e.Raw = float64(share)
		return e.percent
	})), "want a number in the target's units, {std: number}, or a share of the target as in 10 %"
}

// guaranteesConfig is a list of methods.
type guaranteesConfig []certify.MethodID

func (g *guaranteesConfig) Form() (yamlfile.Form, string) {
	return yamlfile.OneOrMore((*[]certify.MethodID)(g), "want a list of "+certify.List(certify.Methods()), func(to *certify.MethodID) yamlfile.Form {
		return yamlfile.Word(to, certify.Methods()...)
	})
}

// kernels are the names of kernel families.
type kernels yamlfile.Names

// Form returns the form of one or more names. The job checks whether they are known.
func (k *kernels) Form() (yamlfile.Form, string) {
	return yamlfile.OneOrMore((*[]string)(k), "want a name or a list of names", func(to *string) yamlfile.Form {
		return yamlfile.Form{Schema: schema{"enum": certify.Families()}, Read: yamlfile.Text(to).Read}
	})
}

// groupsConfig is a column, or a column with its values: numbers, true and false among them, or texts.
type groupsConfig job.GroupsDecl

func (g *groupsConfig) Form() (yamlfile.Form, string) {
	column := yamlfile.Accept(schema{"type": "string"}, func(node ast.Node) (ok bool) {
		g.Column, ok = yamlfile.Written(node)
		return ok
	})
	values := yamlfile.Any(yamlfile.List(&g.Texts, "", yamlfile.Text[string]), yamlfile.List(&g.Values, "", func(to *float64) yamlfile.Form {
		return yamlfile.Accept(schema{"type": []string{"number", "boolean"}}, func(node ast.Node) bool {
			if is, ok := node.(*ast.BoolNode); ok {
				*to = map[bool]float64{true: 1}[is.Value]
				return true
			}
			return yamlfile.Number(to).Read(node) == nil
		})
	}))
	keyed := schema{"type": "object", "additionalProperties": values.Schema, "minProperties": 1, "maxProperties": 1}
	return yamlfile.Any(yamlfile.Form{Schema: keyed, Read: func(node ast.Node) error {
		pairs := yamlfile.Entries(node)
		if len(pairs) != 1 {
			return yamlfile.ErrOther
		}
		g.Column = pairs[0].Key.GetToken().Value
		return values.Read(pairs[0].Value)
	}}, column), "want a column, or a column with its numbers or its texts, as in {carrier: [AA, WN]} (a text of digits stands in quotes)"
}

// encodeConfig has the periods of a cyclic feature. It is nil for a one-hot feature.
type encodeConfig []float64

func (e *encodeConfig) Form() (yamlfile.Form, string) {
	var levels string
	periods, _ := yamlfile.OneOrMore((*[]float64)(e), "want a number, or a list of numbers", yamlfile.Number)
	return yamlfile.Any(yamlfile.Word(&levels, "one-hot"), yamlfile.Under("cyclic", periods)), "want one-hot, or periods as in {cyclic: 24}"
}

// fillConfig declares what replaces missing values of a feature.
type fillConfig job.Fill

func (f *fillConfig) Form() (yamlfile.Form, string) {
	var number float64
	var median, flag string
	with := yamlfile.Any(yamlfile.Number(&number).Then(func() { f.With = &number }), yamlfile.Word(&median, "median"))
	word := yamlfile.Word(&flag, "flag")
	flagged := schema{"type": "array", "items": yamlfile.AnyOf(with.Schema, word.Schema), "minItems": 2, "maxItems": 2}
	return yamlfile.Any(with, yamlfile.Form{Schema: flagged, Read: func(node ast.Node) error {
		list, ok := node.(*ast.SequenceNode)
		if f.Flag = ok && len(list.Values) == 2 && word.Read(list.Values[1]) == nil; !f.Flag {
			return yamlfile.ErrOther
		}
		return with.Read(list.Values[0])
	}}), "want median or a number, or with an input for having been missing, as in [median, flag]"
}

// encodings merges the keys encode and fill. A feature in fill alone is scaled as usual.
func encodings(encode map[string]encodeConfig, fill map[string]fillConfig) (all job.Encodings) {
	for name, periods := range encode {
		all = append(all, job.Encoding{Column: name, Cyclic: periods})
	}
	for name, f := range fill {
		of := all.Of(name)
		if of == nil {
			all = append(all, job.Encoding{Column: name, Scaled: true})
			of = all.Of(name)
		}
		of.Fill = (*job.Fill)(&f)
	}
	return all
}

// brokerList is a list of host:port.
type brokerList []string

// Form returns the form of a list of host:port. In braces, the YAML library splits it.
func (b *brokerList) Form() (yamlfile.Form, string) {
	return yamlfile.List((*[]string)(b), "want host:port, as in kafka-1:9092", func(to *string) yamlfile.Form {
		return yamlfile.Accept(schema{"type": "string", "pattern": `:[^:]*$|\$\{`}, func(node ast.Node) bool {
			*to = node.GetToken().Value
			if pair := yamlfile.Entries(node); len(pair) == 1 {
				*to = pair[0].Key.GetToken().Value + ":" + pair[0].Value.GetToken().Value
			}
			_, _, err := net.SplitHostPort(*to)
			return err == nil
		})
	}), "want a list, as in [kafka-1:9092, kafka-2:9092]"
}

// atLeast is a threshold of at least 1.
type atLeast int64

func (a *atLeast) Form() (yamlfile.Form, string) {
	return yamlfile.Accept(schema{"type": "integer", "minimum": 1}, func(node ast.Node) bool {
		n, err := yamlfile.WholeNumber(node, false)
		*a = atLeast(n)
		return err == nil && n >= 1
	}), "want a whole number of at least 1"
}

type schema = yamlfile.Schema

// A Budget declares the workers and the memory that a command may use.
type Budget struct {
	Workers Workers       `yaml:"workers"`
	Memory  yamlfile.Size `yaml:"memory"`
}

// Resources returns the resources of the budget, with defaults.
func (b Budget) Resources() job.Resources {
	return job.Resources{Workers: cmp.Or(int(b.Workers), runtime.GOMAXPROCS(0)), Memory: int64(b.Memory)}.WithDefaults()
}

// Workers is a number of goroutines; 0, if none is declared, means one for each processor.
type Workers int

// maxWorkers bounds Workers, since each worker has its own buffers.
const maxWorkers = 1024

const wantWorkers = "want a number of workers from 1 to 1024"

// Form returns the form of a whole number from 1 to maxWorkers.
func (n *Workers) Form() (yamlfile.Form, string) {
	return yamlfile.Accept(schema{"type": "integer", "minimum": 1, "maximum": maxWorkers}, func(node ast.Node) bool {
		return yamlfile.Int((*int)(n)).Read(node) == nil && 1 <= *n && *n <= maxWorkers
	}), wantWorkers
}

// Set parses the number from a flag.
func (n *Workers) Set(text string) error {
	v, err := strconv.Atoi(text)
	if *n = Workers(v); err != nil || v < 1 || v > maxWorkers {
		return errors.New(wantWorkers)
	}
	return nil
}

// given returns *value or, if value is nil, the default otherwise.
func given[T any](value *T, otherwise T) T {
	if value == nil {
		return otherwise
	}
	return *value
}
