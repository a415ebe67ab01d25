package model

import (
	"reflect"
	"testing"

	"github.com/pacsgp/pacsgp/model/internal/linalg"
)

// Every field of the state is in its list once: what is not would be lost when a run is
// resumed. Of Progress, which stands for the numbers of a bound, phase and steps are found
// from the rest.
func TestStateListsItsFields(t *testing.T) {
	s := state{}
	vector := func() []float64 { return make([]float64, 1) }
	matrix := func() linalg.Mat { return linalg.NewMat(1, 1) }
	s.theta, s.frozen, s.mean, s.bestTheta, s.bestMean, s.risks, s.squares, s.noises = vector(), vector(), vector(), vector(), vector(), vector(), vector(), vector()
	s.z, s.precision, s.bestZ, s.bestLambda = matrix(), matrix(), matrix(), matrix()
	s.optTheta, s.optZ = newAdam(1), newAdam(1)
	listed := map[any]bool{}
	for _, field := range s.fields() {
		at := field
		if v, ok := field.([]float64); ok {
			at = &v[0]
		}
		if listed[at] {
			t.Errorf("a field of type %T is listed twice", field)
		}
		listed[at] = true
	}
	var check func(v reflect.Value, name string)
	check = func(v reflect.Value, name string) {
		at := reflect.NewAt(v.Type(), v.Addr().UnsafePointer())
		switch {
		case v.Type() == reflect.TypeFor[linalg.Mat]():
			check(v.FieldByName("Data"), name)
		case v.Type() == reflect.TypeFor[Phase]():
			at = reflect.NewAt(reflect.TypeFor[int](), v.Addr().UnsafePointer())
			fallthrough
		case v.Kind() != reflect.Struct && v.Kind() != reflect.Slice:
			if !listed[at.Interface()] {
				t.Errorf("%s is not listed", name)
			}
		case v.Kind() == reflect.Slice:
			if !listed[(*float64)(v.UnsafePointer())] {
				t.Errorf("%s is not listed", name)
			}
		default:
			for i := range v.NumField() {
				f := v.Type().Field(i)
				if v.Type() == reflect.TypeFor[Progress]() && f.Type.Kind() != reflect.Float64 {
					continue
				}
				check(v.Field(i), name+"."+f.Name)
			}
		}
	}
	check(reflect.ValueOf(&s).Elem(), "state")
}
