package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/docs"
	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline/job"
	"github.com/pacsgp/pacsgp/pipeline/schedule"
)

// A schema is a JSON Schema of draft 7, which editors know best.
type schema map[string]any

// Schema is the JSON Schema of a kind of files: keys, their meaning, and the form of their
// values.
func Schema(kind string) map[string]any {
	switch kind {
	case KindSchedule:
		return schemaOf[ScheduleFile](pageOf(kind), "jobs")
	case KindScore:
		return schemaOf[ScoreFile](pageOf(kind), "model", "source", "output")
	case KindWatch:
		return schemaOf[WatchFile](pageOf(kind), "model", "source", "state")
	default:
		return schemaOf[JobFile](pageOf(kind), "source", "target") // for the others there are flags
	}
}

// pageOf is the page with the keys of a kind of files.
func pageOf(kind string) string {
	return map[string]string{KindJob: docs.Job, KindSchedule: docs.Schedule, KindScore: docs.Score, KindWatch: docs.Watch}[kind]
}

// schemaOf makes the schema of a file from its Go type: structures give the keys, types with an
// UnmarshalYAML the forms of their values, and the page the meanings.
func schemaOf[T any](page string, required ...string) schema {
	of := reflect.TypeFor[T]()
	kind := kindOf(of).Name
	s := (&schemer{kind, docs.Meanings(page)}).of("", of)
	s["$schema"] = "http://json-schema.org/draft-07/schema#"
	s["title"] = "pacsgp " + kind
	s["required"] = required
	s["definitions"] = schema{
		"variable": schema{"type": "string", "pattern": `\$\{[A-Za-z_][A-Za-z0-9_]*\}`, "description": "with variables of the environment"},
	}
	return s
}

// A valued type has the schema of its values.
type valued interface{ schema() schema }

// A schemer makes the schema of a type.
type schemer struct {
	kind      string
	described map[string]string
}

func (m *schemer) of(key string, t reflect.Type) schema {
	s := m.form(key, t)
	if text, ok := m.described[key]; ok {
		s["description"] = text
	}
	return s
}

func (m *schemer) form(key string, t reflect.Type) schema {
	if t.Kind() == reflect.Pointer {
		return m.form(key, t.Elem())
	}
	words, chosen := choices()[m.kind+" "+key]
	if t == reflect.TypeFor[yamlfile.Names]() {
		name := schema{"type": "string", "minLength": 1}
		if chosen {
			name = schema{"enum": words}
		}
		return orVariable(oneOrMore(name))
	}
	if own := formOf(t); own != nil {
		if own["type"] == "array" {
			return own // a variable is a part of one value
		}
		return orVariable(own)
	}
	if chosen {
		return orVariable(schema{"enum": words})
	}
	switch t.Kind() {
	case reflect.Struct:
		section := m.section(key, t)
		if word, ok := reflect.TypeAssert[worded](reflect.Zero(t)); ok {
			words := schema{"enum": word.words()}
			if word.words() == nil { // any
				words = schema{"type": "string"}
			}
			return schema{"anyOf": []schema{words, section}}
		}
		return section
	case reflect.Map:
		return schema{"type": "object", "additionalProperties": m.form(key, t.Elem())}
	case reflect.Slice:
		return schema{"type": "array", "items": m.form(key, t.Elem())}
	case reflect.Bool:
		return orVariable(schema{"type": "boolean"})
	case reflect.Int, reflect.Int64:
		return orVariable(schema{"type": "integer"})
	case reflect.Uint64:
		return orVariable(schema{"type": "integer", "minimum": 0})
	case reflect.Float64:
		return orVariable(schema{"type": "number"})
	case reflect.String:
		return schema{"type": []string{"string", "number", "boolean"}} // which are taken as they are written
	default:
		panic(fmt.Sprintf("pacsgp: a job has a value of type %v", t))
	}
}

func (m *schemer) section(key string, t reflect.Type) schema {
	properties := schema{}
	for name, f := range yamlfile.Keys(t) {
		properties[name] = m.of(yamlfile.Join(key, name), f.Type)
	}
	return schema{"type": "object", "additionalProperties": false, "properties": properties}
}

// A worded section may be one of some words instead; nil: any.
type worded interface{ words() []string }

func (SourceSection) words() []string { return nil }

func (encodeConfig) words() []string { return []string{oneHot} }

func (filesConfig) words() []string {
	return []string{string(schedule.FilesAll), string(schedule.FilesNew)}
}

func (Promotion) words() []string { return []string{promoteAlways} }

// orVariable admits ${VAR} as a value.
func orVariable(s schema) schema {
	forms, ok := s["anyOf"].([]schema)
	if !ok || len(s) > 1 {
		forms = []schema{s}
	}
	return schema{"anyOf": append(forms, schema{"$ref": "#/definitions/variable"})}
}

// choices are the words that are values of keys.
func choices() map[string]any {
	mechanisms := []string{broker.Plain, broker.ScramSHA256, broker.ScramSHA512}
	return map[string]any{
		"job kernel":               certify.Families(),
		"job loss.kind":            certify.LossKinds(),
		"job grid":                 []string{paperGrid},
		"job scaling":              []job.Scaling{job.ScalingReference, job.ScalingNone},
		"job train.method":         job.Methods(),
		"job train.objective":      job.Objectives(),
		"job stream.group":         []string{GroupSingle, GroupShared},
		"job source.kafka.format":  kafkalog.Formats,
		"job kafka.sasl.mechanism": mechanisms,

		"score kafka.sasl.mechanism": mechanisms,
		"watch kafka.sasl.mechanism": mechanisms,
		"score source.kafka.format":  kafkalog.Formats,
		"score members":              []string{GroupSingle, GroupShared},
		"score replaced":             replacedWords,
	}
}

func (brokerList) schema() schema {
	return schema{"type": "array", "items": schema{"type": "string", "pattern": `:[^:]*$|\$\{`}}
}

func (Epsilon) schema() schema {
	std := schema{"type": "object", "additionalProperties": false, "required": []string{"std"}, "properties": schema{"std": orVariable(schema{"type": "number"})}}
	return schema{"anyOf": []schema{{"type": "number"}, std, {"type": "string", "pattern": strings.Replace(sharePattern.String(), "(%?)", "%", 1)}}}
}

func (atLeast) schema() schema { return schema{"type": "integer", "minimum": 1} }

func (timeBack) schema() schema {
	return schema{"anyOf": []schema{{"type": "string", "pattern": inDays.String()}, formOf(reflect.TypeFor[yamlfile.Duration]())}}
}

func (position) schema() schema {
	return schema{"type": "string", "pattern": `^(earliest|latest|committed|[0-9]{4}-[0-9]{2}-[0-9]{2}T.*)$`}
}

// formOf is the schema of a type with an UnmarshalYAML, nil for others.
func formOf(t reflect.Type) schema {
	switch t {
	case reflect.TypeFor[yamlfile.Paths]():
		path := schema{"type": "string", "minLength": 1}
		return schema{"anyOf": []schema{path, {"type": "array", "items": path}}}
	case reflect.TypeFor[yamlfile.Ints]():
		return schema{"anyOf": []schema{{"type": "integer"}, {"type": "array", "items": orVariable(schema{"type": "integer"}), "minItems": 1}}}
	case reflect.TypeFor[yamlfile.Duration]():
		return schema{"type": "string", "pattern": `^[+-]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`}
	case reflect.TypeFor[yamlfile.Size]():
		return schema{"type": "string", "pattern": `^[0-9]*[1-9][0-9]* *(` + yamlfile.SizeUnits + `)$`}
	default:
		if own, ok := reflect.TypeAssert[valued](reflect.Zero(t)); ok {
			return own.schema()
		}
		return nil
	}
}

// A share below 1 as text, in percent or as a decimal.
const shareBelowOne = `^((0*[0-9]{1,2}(\.[0-9]*)?|\.[0-9]+) *%|0+(\.[0-9]*)?|\.[0-9]+)$`

func shares() []schema {
	return []schema{{"type": "number", "minimum": 0, "exclusiveMaximum": 1}, {"type": "string", "pattern": shareBelowOne}}
}

func (Share) schema() schema {
	return schema{"anyOf": []schema{{"type": "number"}, {"type": "string", "pattern": sharePattern.String()}}}
}

// oneOrMore admits a value, or a list of some.
func oneOrMore(one schema) schema {
	return schema{"anyOf": []schema{one, {"type": "array", "items": one, "minItems": 1}}}
}

func (columnValues) schema() schema {
	of := func(types ...string) schema {
		return schema{"type": "array", "minItems": 1, "items": schema{"type": types}}
	}
	return schema{"anyOf": []schema{of("number", "boolean"), of("string")}}
}

func (fillConfig) schema() schema {
	with := schema{"anyOf": []schema{{"type": "number"}, {"enum": []string{median}}}}
	flagged := schema{"type": "array", "items": schema{"anyOf": []schema{with, {"const": flagWord}}}, "minItems": 2, "maxItems": 2}
	return schema{"anyOf": []schema{with, flagged}}
}

func (periods) schema() schema { return oneOrMore(schema{"type": "number", "exclusiveMinimum": 0}) }

func (groupsConfig) schema() schema {
	values := columnValues{}.schema()
	return schema{"anyOf": []schema{{"type": "string"}, {"type": "object", "additionalProperties": values, "minProperties": 1, "maxProperties": 1}}}
}

func (toleratedShare) schema() schema { return schema{"anyOf": shares()} }

func (apartConfig) schema() schema { return schema{"anyOf": shares(), "not": schema{"const": 0}} }

func (holdoutConfig) schema() schema {
	share := apartConfig(0).schema()
	return schema{"anyOf": []schema{share, {"type": "object", "additionalProperties": false, "required": []string{"last"}, "properties": schema{"last": share}}}}
}

func (duplicatesConfig) schema() schema {
	limited := schema{"type": "object", "additionalProperties": false, "required": []string{"limit"}, "properties": schema{"limit": schema{"anyOf": shares()}}}
	return schema{"anyOf": []schema{{"enum": []certify.DuplicatesPolicy{job.DuplicatesDropped, job.DuplicatesKept}}, limited}}
}

func (rejectedTo) schema() schema {
	topic := schema{"type": "object", "additionalProperties": false, "required": []string{"kafka"}, "properties": schema{"kafka": schema{"type": "string"}}}
	return schema{"anyOf": []schema{{"type": "string"}, topic}}
}

func (guaranteesConfig) schema() schema {
	method := schema{"enum": certify.Methods()}
	return schema{"anyOf": []schema{method, {"type": "array", "items": method}}}
}
