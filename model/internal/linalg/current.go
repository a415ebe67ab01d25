package linalg

import (
	"fmt"
	"sync/atomic"
)

// current is the set in use. Only tests and benchmarks change it.
var current = newCurrent()

func newCurrent() *atomic.Pointer[kernelSet] {
	p := new(atomic.Pointer[kernelSet])
	p.Store(available()[0])
	return p
}

// InstructionSet names the set in use, the best that the processor has: "avx512", "avx2" or "portable".
func InstructionSet() string { return current.Load().name }

// InstructionSets names the sets that this build and processor can run, best first. The last is "portable".
func InstructionSets() []string {
	var names []string
	for _, s := range available() {
		names = append(names, s.name)
	}
	return names
}

// UseInstructionSet chooses the set for the whole program. It is meant for tests and
// benchmarks that compare sets, and must not be called while operations run.
func UseInstructionSet(name string) error {
	for _, s := range available() {
		if s.name == name {
			current.Store(s)
			return nil
		}
	}
	return fmt.Errorf("linalg: instruction set %q: this build and processor have %q", name, InstructionSets())
}
