"""Kernels and the rounding of float64."""
import math

import numpy as np

# Of kernels of variance 1, at squared scaled distances r: the value, −2 times its derivative there, and by how much at
# most its logarithm moves with that of the distance; how often distance and value are rounded, and the square of its unit.
FAMILIES = {
    "squared-exponential": (lambda r: (np.exp(-0.5 * r), np.exp(-0.5 * r), r), 0, 12, 0.5),
    "matern-3/2": (lambda r: matern(3 * r, lambda a: (1 + a, 3)), 2, 20, 3),
    "matern-5/2": (lambda r: matern(5 * r, lambda a: (1 + a * (1 + a / 3), 5 / 3 * (1 + a))), 2, 20, 5)}
U = 2.0 ** -53
OUTWARDS = 1 + 2.0 ** -30   # for the rounding of the bounds themselves
STEP = 64                   # terms that a product of matrices adds at a time
FAR = 1e12                  # the reach beyond which another program may know nothing of a row
TAIL = 2.0 ** -400          # of the variance: what underflow may hide in a kernel value


def gamma(n):
    """The relative error of n roundings."""
    return n * U / (1 - n * U) * OUTWARDS


length = lambda x: math.sqrt(float(np.sum(np.square(x)))) * OUTWARDS * (1 + gamma(np.size(x)))


def in_order(start, values):
    """start + values[0] + values[1] + …, each sum rounded: cumsum adds one after the other."""
    return np.cumsum(np.append(start, values))[-1]


def products(a, b):
    """a @ b, added STEP terms at a time: each term is rounded at most
    STEP + terms/STEP + 2 times, in whatever order the library adds."""
    out = np.zeros(a.shape[:-1] + b.shape[1:])
    for i in range(0, a.shape[-1], STEP):
        out += a[..., i:i + STEP] @ b[i:i + STEP]
    return out


def exact_products(a, b):
    """Two arrays whose sum is a·b exactly, but for underflow (Veltkamp, Dekker)."""
    def halves(x):
        t = 134217729.0 * x
        high = t - (t - x)
        return high, x - high
    p, (a1, a2), (b1, b2) = a * b, halves(a), halves(b)
    return p, a2 * b2 - (((p - a1 * b1) - a2 * b1) - a1 * b2)


def matern(squares, factors):
    """Those of factors times exp(−a), a² = squares."""
    a = np.sqrt(squares)
    (value, slope), e = factors(a), np.exp(-a)
    return value * e, slope * e, a


def kernel(model, x):
    """k(x, Z) [len(x), M], a bound on the error of each value, and how far from the middle of Z, in units of the
    kernel, a row and the points are that are not too far from it."""
    r, middle = np.zeros((len(x), len(model.z))), np.sort(model.z, axis=0)[(len(model.z) - 1) // 2]
    profile, distance, rest, unit = FAMILIES[model.meta["kernel"]]
    with np.errstate(over="ignore"):
        for j, l in enumerate(model.lengthscales):
            r += ((x[:, j, None] - model.z[None, :, j]) / l) ** 2
        rows, points = (np.sqrt((((at - middle) / model.lengthscales) ** 2).sum(1) * unit) for at in (x, model.z))
    value, _, moves = profile(np.minimum(r, 1e300))  # so that there is no 0·∞
    k = model.variance * value
    return k, k * ((0.51 * gamma(model.z.shape[1] + 6) + distance * U) * moves + rest * U), rows + np.minimum(points.max(), 2 * rows + 300)
