package main

import (
	"context"
	"errors"
	"strconv"

	"github.com/pacsgp/pacsgp/model"
)

// libraryEnvironment returns the environment that limits the peers' libraries to a number of threads and to the
// instruction set that ours uses. OpenBLAS takes processors that it does not know for older ones, so a variable
// names the right one.
func libraryEnvironment(threads int) []string {
	n := strconv.Itoa(threads)
	env := []string{"OPENBLAS_NUM_THREADS=" + n, "MKL_NUM_THREADS=" + n, "OMP_NUM_THREADS=" + n}
	switch model.InstructionSet() {
	case "avx512":
		env = append(env, "OPENBLAS_CORETYPE=SkylakeX")
	case "avx2":
		env = append(env, "OPENBLAS_CORETYPE=Haswell", "MKL_ENABLE_INSTRUCTIONS=AVX2", "ATEN_CPU_CAPABILITY=avx2")
	}
	return env
}

// startLibraries starts two peers: the dgemm of OpenBLAS and that of MKL.
func (b *bench) startLibraries(ctx context.Context, threads int) ([]*peer, error) {
	var peers []*peer
	var failed error
	for _, library := range []string{"openblas", "mkl"} {
		p, err := b.start(ctx, library, libraryEnvironment(threads), "dgemm.py", library)
		peers, failed = append(peers, p), errors.Join(failed, err)
	}
	return peers, failed
}
