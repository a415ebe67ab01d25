"""dgemm, dsyrk, dtrsm and Cholesky of OpenBLAS (scipy's) or MKL (PyTorch's), in place and without extra copies.

A case is {"kernel", "n", "rows"}; the answer {"gflops", "layout"}: the rate of the layout that the library likes best.
Threads and instruction set come from the environment.
"""
import ctypes
import sys

import numpy as np

from serve import seconds, serve


class OpenBLAS:
    """scipy's wrappers; with arrays in Fortran's order and overwrite flags they pass pointers on."""

    def __init__(self):
        from scipy.linalg import blas, lapack
        self.blas, self.lapack = blas, lapack

    def gemm(self, a, b, c, trans_a=False, trans_b=False, beta=0.0):
        out = self.blas.dgemm(1.0, a, b, beta, c, trans_a, trans_b, 1)
        assert out is c or np.shares_memory(out, c)

    def syrk(self, a, c, trans):
        out = self.blas.dsyrk(1.0, a, 0.0, c, trans, 1, 1)
        assert np.shares_memory(out, c)

    def trsm(self, l, b, side, trans):
        out = self.blas.dtrsm(1.0, l, b, side, 1, trans, 0, 1)
        assert np.shares_memory(out, b)

    def cholesky(self, a, lower):
        out, info = self.lapack.dpotrf(a, lower, 0, 1)
        assert info == 0 and np.shares_memory(out, a)


class MKL:
    """The routines that libtorch_cpu exports. dsyrk is none of them: its products go by blocks of the triangle."""

    def __init__(self):
        import os
        import torch
        lib = ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so"))
        self.dgemm, self.dtrsm, self.dpotrf = lib.dgemm_, lib.dtrsm_, lib.dpotrf_
        # OpenMP is started by PyTorch, with the number of threads of the environment.
        torch.mm(torch.ones(512, 512), torch.ones(512, 512))
        self.one, self.zero = ctypes.byref(ctypes.c_double(1)), ctypes.byref(ctypes.c_double(0))
        self.ints = {}

    def int(self, i):
        if i not in self.ints:
            self.ints[i] = ctypes.byref(ctypes.c_int(i))
        return self.ints[i]

    @staticmethod
    def at(a, i=0, j=0):
        return ctypes.c_void_p(a.ctypes.data + i * a.strides[0] + j * a.strides[1])

    def product(self, ta, tb, m, n, k, a, lda, b, ldb, beta, c, ldc):
        self.dgemm(b"T" if ta else b"N", b"T" if tb else b"N", self.int(m), self.int(n), self.int(k), self.one,
                   a, self.int(lda), b, self.int(ldb), self.one if beta else self.zero, c, self.int(ldc))

    def gemm(self, a, b, c, trans_a=False, trans_b=False, beta=0.0):
        k = a.shape[0] if trans_a else a.shape[1]
        self.product(trans_a, trans_b, *c.shape, k, self.at(a), a.shape[0], self.at(b), b.shape[0], beta, self.at(c), c.shape[0])

    def syrk(self, a, c, trans, block=256):
        n, k = c.shape[0], a.shape[0] if trans else a.shape[1]
        where = (lambda i: self.at(a, 0, i)) if trans else (lambda i: self.at(a, i, 0))
        for j in range(0, n, block):
            width = min(block, n - j)
            self.product(trans, not trans, n - j, width, k, where(j), a.shape[0], where(j), a.shape[0], 0, self.at(c, j, j), n)

    def trsm(self, l, b, side, trans):
        self.dtrsm(b"R" if side else b"L", b"L", b"T" if trans else b"N", b"N", self.int(b.shape[0]), self.int(b.shape[1]),
                   self.one, self.at(l), self.int(l.shape[0]), self.at(b), self.int(b.shape[0]))

    def cholesky(self, a, lower):
        info = ctypes.c_int()
        self.dpotrf(b"L" if lower else b"U", self.int(a.shape[0]), self.at(a), self.int(a.shape[0]), ctypes.byref(info))
        assert info.value == 0


def normal(*shape):
    return np.asfortranarray(np.random.default_rng(1).standard_normal(shape))


def layouts(library, kernel, n, rows):
    """Yields name and call of each way to store the operands. A row-major matrix is Fortran's transposed one."""
    if kernel == "gemm":
        x, y, c = normal(rows, n), normal(n, n), normal(rows, n)
        yield "columns", lambda: library.gemm(x, y, c)
        xt, ct = normal(n, rows), normal(n, rows)
        yield "rows", lambda: library.gemm(y, xt, ct)
    elif kernel == "syrk":
        c = np.zeros((n, n), order="F")
        x, xt = normal(rows, n), normal(n, rows)
        yield "columns", lambda: library.syrk(x, c, 1)
        yield "rows", lambda: library.syrk(xt, c, 0)
        if isinstance(library, MKL):
            yield "columns, blocks of 128", lambda: library.syrk(x, c, 1, 128)
            yield "rows, blocks of 128", lambda: library.syrk(xt, c, 0, 128)
    elif kernel == "trsm":
        l = np.asfortranarray(np.tril(normal(n, n), -1) * (1e-4 / np.sqrt(n)) + np.eye(n))  # neither shrinks nor grows
        x, xt = normal(rows, n), normal(n, rows)
        yield "columns", lambda: library.trsm(l, x, 1, 1)
        yield "rows", lambda: library.trsm(l, xt, 0, 0)
    elif kernel == "cholesky":
        l = np.tril(normal(n, n)) / np.sqrt(n) + np.eye(n)
        a, c = np.asfortranarray(l @ l.T), np.zeros((n, n), order="F")

        def factorize(lower):
            np.copyto(c, a)
            library.cholesky(c, lower)
        yield "lower", lambda: factorize(1)
        yield "upper", lambda: factorize(0)
    else:
        raise ValueError(f"unknown kernel {kernel}")


def check(library):
    """All routines compute what is asked for."""
    n, rows = 300, 400
    rng = np.random.default_rng(2)
    x, y, c = (np.asfortranarray(rng.standard_normal(s)) for s in ((rows, n), (n, n), (rows, n)))
    library.gemm(x, y, c)
    assert np.allclose(c, x @ y)
    for a, trans in ((x, 1), (np.asfortranarray(x.T), 0)):
        s = np.zeros((n, n), order="F")
        library.syrk(a, s, trans)
        assert np.allclose(np.tril(s), np.tril(x.T @ x))
    a = np.asfortranarray(y @ y.T + n * np.eye(n))
    for lower in (1, 0):
        f = a.copy(order="F")
        library.cholesky(f, lower)
        f = np.tril(f) if lower else np.triu(f).T
        assert np.allclose(f @ f.T, a)
    l = np.asfortranarray(np.linalg.cholesky(a))
    b = x.copy(order="F")
    library.trsm(l, b, 1, 1)
    assert np.allclose(b @ l.T, x)
    b = np.asfortranarray(x.T)
    library.trsm(l, b, 0, 0)
    assert np.allclose(l @ b, x.T)


def main():
    library = {"openblas": OpenBLAS, "mkl": MKL}[sys.argv[1]]()
    check(library)

    def answer(case):
        kernel, n, rows = case["kernel"], case["n"], case.get("rows", 0)
        flops = {"gemm": 2 * rows * n * n, "syrk": rows * n * n, "trsm": rows * n * n, "cholesky": n**3 / 3}[kernel]
        rates = {name: flops / seconds(call) / 1e9 for name, call in layouts(library, kernel, n, rows)}
        best = max(rates, key=rates.get)
        return {"value": rates[best], "layout": best, "all": rates}
    serve(answer)


if __name__ == "__main__":
    main()
