package model

import (
	"reflect"
	"testing"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// Every field of the state is in one of its lists: what is in none would be lost when
// a run is resumed. Of Progress, which stands for the numbers of a bound, phase and
// steps are found from the rest; the notice is a text of its own.
func TestStateListsItsFields(t *testing.T) {
	var integers, floats, vectors, texts int
	var count func(of reflect.Type)
	count = func(of reflect.Type) {
		for f := range of.Fields() {
			switch kind := f.Type.Kind(); {
			case f.Type == reflect.TypeFor[linalg.Mat]():
				vectors++
			case f.Type == reflect.TypeFor[Progress]():
				for g := range f.Type.Fields() {
					if g.Type.Kind() == reflect.Float64 {
						floats++
					}
				}
			case kind == reflect.Struct:
				count(f.Type)
			case kind == reflect.Int:
				integers++
			case kind == reflect.Float64:
				floats++
			case kind == reflect.Slice:
				vectors++
			case kind == reflect.String:
				texts++
			default:
				t.Errorf("field %s of kind %s is in no list", f.Name, kind)
			}
		}
	}
	count(reflect.TypeFor[state]())
	var s state
	if i, f, v := len(s.integers()), len(s.floats()), len(s.vectors()); i != integers || f != floats || v != vectors || texts != 1 {
		t.Errorf("lists of %d integers, %d floats, %d vectors; the state has %d, %d, %d and %d texts", i, f, v, integers, floats, vectors, texts)
	}
}
