package certify

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Marshal returns the canonical bytes of the certificate: indented JSON with fields in a fixed order, and a
// newline at the end. NaN and infinite numbers are an error.
func Marshal(c Certificate) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(c); err != nil {
		return nil, fmt.Errorf("certify: marshal certificate: %w", err)
	}
	return buffer.Bytes(), nil
}

// Parse reads the canonical bytes of a certificate. An unknown field, another format, and bytes other than
// [Marshal] writes are errors. It does not check that the numbers follow from each other: see [Recompute].
func Parse(data []byte) (Certificate, error) {
	var c Certificate
	err := unmarshalStrict(data, &c)
	if err == nil && c.Format != Format {
		err = fmt.Errorf("format is %q, this program reads %q", c.Format, Format)
	}
	var again []byte
	if err == nil {
		again, err = Marshal(c)
	}
	if err == nil && !bytes.Equal(again, data) {
		at := 0
		for at < min(len(again), len(data)) && again[at] == data[at] {
			at++
		}
		err = fmt.Errorf("not in canonical form from byte %d on: was the file edited?", at)
	}
	if err != nil {
		return Certificate{}, fmt.Errorf("certify: parse certificate: %w", err)
	}
	return c, nil
}

// unmarshalStrict reads one JSON value. Unknown fields and anything after the value are errors.
func unmarshalStrict(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return jsonFault(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something after the JSON value")
	}
	return nil
}

// Unmarshal is [json.Unmarshal], with errors without terms of Go.
func Unmarshal(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return jsonFault(err)
	}
	return nil
}

// jsonFault rewrites an error of package json without terms of Go.
func jsonFault(err error) error {
	fault, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return errors.New(strings.ReplaceAll(strings.TrimPrefix(err.Error(), "json: "), "invalid use of ,string struct tag, trying to unmarshal unquoted value into uint64", "a number that must be written as a text is not"))
	}
	wants := map[reflect.Kind]string{
		reflect.String: "a text", reflect.Bool: "true or false", reflect.Float64: "a number",
		reflect.Int: "a whole number", reflect.Int64: "a whole number", reflect.Uint64: "a whole number", reflect.Slice: "a list", reflect.Array: "a list",
	}
	return fmt.Errorf("%s is %s, want %s", cmp.Or(fault.Field, "it"), fault.Value, cmp.Or(wants[fault.Type.Kind()], "an object"))
}

// compactObject returns a JSON object without white space.
func compactObject(data []byte) ([]byte, error) {
	var object map[string]json.RawMessage
	if err := unmarshalStrict(data, &object); err != nil {
		return nil, fmt.Errorf("want a JSON object: %w", err)
	}
	if object == nil {
		return nil, errors.New("want a JSON object, got null")
	}
	var buffer bytes.Buffer
	if err := json.Compact(&buffer, data); err != nil {
		return nil, fmt.Errorf("want a JSON object: %w", err)
	}
	return buffer.Bytes(), nil
}

// Difference describes the first position where a stated JSON document differs from the derived one.
func Difference(stated, follows []byte) string {
	path, a, b, err := difference(stated, follows)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s is %v, but what it rests on gives %v", path, a, b)
}

// Contrast describes the first position where two JSON documents differ; inOne and inOther name them.
func Contrast(one, other []byte, inOne, inOther string) string {
	path, a, b, err := difference(one, other)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s is %v %s, and %v %s", strings.TrimPrefix(path, "."), a, inOne, b, inOther)
}

func difference(one, other []byte) (path string, a, b any, err error) {
	if err := errors.Join(json.Unmarshal(one, &a), json.Unmarshal(other, &b)); err != nil {
		return "", nil, nil, err
	}
	path, a, b = differing("", a, b)
	return path, a, b, nil
}

// differing returns the first position where two decoded JSON values differ, with both values.
func differing(path string, got, want any) (string, any, any) {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			break
		}
		union := maps.Clone(want)
		maps.Copy(union, got)
		for _, key := range slices.Sorted(maps.Keys(union)) {
			if !reflect.DeepEqual(got[key], want[key]) {
				return differing(path+"."+key, got[key], want[key])
			}
		}
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) != len(want) {
			break
		}
		for i := range want {
			if !reflect.DeepEqual(got[i], want[i]) {
				return differing(fmt.Sprintf("%s[%d]", path, i), got[i], want[i])
			}
		}
	}
	return cmp.Or(path, "."), got, want
}
