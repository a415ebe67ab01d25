package certify

import (
	"errors"
	"fmt"
)

// A faultList gathers everything that is wrong with a document, to report it at once.
type faultList []error

// when adds the formatted fault if fault is true. Conditions on numbers are written so that NaN is a fault.
func (f *faultList) when(fault bool, format string, args ...any) {
	if fault {
		*f = append(*f, fmt.Errorf(format, args...))
	}
}

// add adds faults. Nil faults do not count.
func (f *faultList) add(faults ...error) { *f = append(*f, faults...) }

// err returns all faults as one error; nil if there are none.
func (f faultList) err() error { return errors.Join(f...) }
