package certify

import (
	"errors"
	"fmt"
)

// A faultList gathers all that is wrong with a document, so that it is reported at once.
type faultList []error

// when adds a fault if there is one. Conditions on numbers are written so that NaN is a fault.
func (f *faultList) when(fault bool, format string, args ...any) {
	if fault {
		*f = append(*f, fmt.Errorf(format, args...))
	}
}

// add adds the faults of parts; nil is none.
func (f *faultList) add(faults ...error) { *f = append(*f, faults...) }

// err is all faults, nil if there are none.
func (f faultList) err() error { return errors.Join(f...) }
