"""dgemm of OpenBLAS (scipy's) or MKL (PyTorch's), in place and without extra copies.

A case is {"n", "rows"}; the answer {"value", "layout"}: the rate of the layout that the library likes best, in GFLOP/s.
Threads and instruction set come from the environment.
"""
import ctypes
import sys

import numpy as np

from serve import seconds, serve


class OpenBLAS:
    """scipy's wrappers; with arrays in Fortran's order and overwrite flags they pass pointers on."""

    def __init__(self):
        from scipy.linalg import blas
        self.blas = blas

    def gemm(self, a, b, c):
        out = self.blas.dgemm(1.0, a, b, 0.0, c, False, False, 1)
        assert out is c or np.shares_memory(out, c)


class MKL:
    """The routine that libtorch_cpu exports."""

    def __init__(self):
        import os
        import torch
        self.dgemm = ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so")).dgemm_
        # OpenMP is started by PyTorch, with the number of threads of the environment.
        torch.mm(torch.ones(512, 512), torch.ones(512, 512))
        self.one, self.zero = ctypes.byref(ctypes.c_double(1)), ctypes.byref(ctypes.c_double(0))
        self.ints = {}

    def int(self, i):
        if i not in self.ints:
            self.ints[i] = ctypes.byref(ctypes.c_int(i))
        return self.ints[i]

    def gemm(self, a, b, c):
        (m, n), k = c.shape, a.shape[1]
        at = lambda x: ctypes.c_void_p(x.ctypes.data)
        self.dgemm(b"N", b"N", self.int(m), self.int(n), self.int(k), self.one,
                   at(a), self.int(m), at(b), self.int(k), self.zero, at(c), self.int(m))


def normal(*shape):
    return np.asfortranarray(np.random.default_rng(1).standard_normal(shape))


def layouts(library, n, rows):
    """Yields name and call of each way to store the operands. A row-major matrix is Fortran's transposed one."""
    x, y, c = normal(rows, n), normal(n, n), normal(rows, n)
    yield "columns", lambda: library.gemm(x, y, c)
    xt, ct = normal(n, rows), normal(n, rows)
    yield "rows", lambda: library.gemm(y, xt, ct)


def check(library):
    """The routine computes what is asked for."""
    n, rows = 300, 400
    rng = np.random.default_rng(2)
    x, y, c = (np.asfortranarray(rng.standard_normal(s)) for s in ((rows, n), (n, n), (rows, n)))
    library.gemm(x, y, c)
    assert np.allclose(c, x @ y)


def main():
    library = {"openblas": OpenBLAS, "mkl": MKL}[sys.argv[1]]()
    check(library)

    def answer(case):
        n, rows = case["n"], case["rows"]
        rates = {name: 2 * rows * n * n / seconds(call) / 1e9 for name, call in layouts(library, n, rows)}
        best = max(rates, key=rates.get)
        return {"value": rates[best], "layout": best, "all": rates}
    serve(answer)


if __name__ == "__main__":
    main()
