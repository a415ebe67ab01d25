package config

import (
	"fmt"
	"reflect"

	"github.com/pacsgp/pacsgp/certify"
	"github.com/pacsgp/pacsgp/ingest/kafkalog"
	"github.com/pacsgp/pacsgp/internal/broker"
	"github.com/pacsgp/pacsgp/internal/yamlfile"
	"github.com/pacsgp/pacsgp/pipeline/job"
)

// Schema returns the JSON Schema of a kind of file: the keys, and the form of their values.
func Schema(name string) map[string]any {
	k, _ := kindWhere(func(k kind) bool { return k.Name == name })
	s := schemaOf("", k.of)
	s["$schema"] = "http://json-schema.org/draft-07/schema#"
	s["title"] = "pacsgp " + name
	s["required"] = k.required
	s["definitions"] = schema{
		"variable": schema{"type": "string", "pattern": `\$\{[A-Za-z_][A-Za-z0-9_]*\}`, "description": "with variables of the environment"},
	}
	return s
}

// schemaOf makes the schema of a type: structures give keys, other types give forms of values.
func schemaOf(key string, t reflect.Type) schema {
	if t.Kind() == reflect.Pointer {
		return schemaOf(key, t.Elem())
	}
	if formed, ok := reflect.TypeAssert[yamlfile.Formed](reflect.New(t)); ok {
		f, _ := formed.Form()
		switch {
		case yamlfile.HasKeys(t):
			return yamlfile.AnyOf(f.Schema, sectionOf(key, t))
		case f.Schema["type"] == "array":
			return f.Schema // only a single entry can be a variable
		}
		return yamlfile.OrVariable(f.Schema)
	}
	if words, chosen := choices[key]; chosen {
		return yamlfile.OrVariable(schema{"enum": words})
	}
	switch t.Kind() {
	case reflect.Struct:
		return sectionOf(key, t)
	case reflect.Map:
		return schema{"type": "object", "additionalProperties": schemaOf(key, t.Elem())}
	case reflect.Slice:
		return schema{"type": "array", "items": schemaOf(key, t.Elem())}
	case reflect.Bool:
		return yamlfile.OrVariable(schema{"type": "boolean"})
	case reflect.Int, reflect.Int64:
		return yamlfile.OrVariable(schema{"type": "integer"})
	case reflect.Uint64:
		return yamlfile.OrVariable(schema{"type": "integer", "minimum": 0})
	case reflect.Float64:
		return yamlfile.OrVariable(schema{"type": "number"})
	case reflect.String:
		return schema{"type": []string{"string", "number", "boolean"}} // all are read as written
	default:
		panic(fmt.Sprintf("pacsgp: a job has a value of type %v", t))
	}
}

func sectionOf(key string, t reflect.Type) schema {
	properties := schema{}
	for name, f := range yamlfile.Keys(t) {
		properties[name] = schemaOf(yamlfile.Join(key, name), f.Type)
	}
	return schema{"type": "object", "additionalProperties": false, "properties": properties}
}

// choices are the words that keys accept, by key, for all kinds of files.
var choices = map[string]any{
	"loss.kind":            certify.LossKinds(),
	"grid":                 []string{paperGrid},
	"scaling":              []job.Scaling{job.ScalingPrior, job.ScalingNone},
	"train.method":         job.Methods(),
	"train.objective":      job.Objectives(),
	"stream.group":         []string{GroupSingle, GroupShared},
	"source.kafka.format":  kafkalog.Formats,
	"kafka.sasl.mechanism": broker.Mechanisms,
	"members":              []string{GroupSingle, GroupShared},
	"replaced":             replacedWords,
}
