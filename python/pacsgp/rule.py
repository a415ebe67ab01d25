"""The model that follows from reference and train rows by a rule (format.md, 9)."""
import math
from fractions import Fraction

import numpy as np

from .borrowed import linalg
from .kernels import U, kernel
from .model import exponential
from .refusal import need, ok
from .starts import fitted
from .survey import Digests

RULE_ROWS = 1000     # that theta is estimated on
NOISE_STEP = 0.25
ROUNDS = 8           # of k-means
BLOCK = 1024


class Rows:
    """Says which rows are near the others."""

    def __init__(self, x):
        ordered, last = np.sort(x, axis=0), len(x) - 1
        low, self.middle, high = (ordered[int(share * last)] for share in (0.1, 0.5, 0.9))
        self.limit = 1e4 * np.maximum(1, high - low)

    def near(self, x, y):
        return ~(np.abs(x - self.middle) > self.limit).any(1) & ~(np.abs(y) > 1e6)


def different(rows, m):
    """The first m different rows."""
    at = np.sort(np.unique(rows + 0.0, axis=0, return_index=True)[1])
    return rows[at[:m]].copy()


def fused(a, b, c):
    """a·b + c, rounded once."""
    return float(Fraction(a) * Fraction(b) + Fraction(c))


def chain(a, b):
    """The sum of products, each added by one fused operation, from the first on."""
    total = 0.0
    for x, y in zip(a.tolist(), b.tolist()):
        total = fused(x, y, total)
    return total


def nearest(x, z):
    """For each row of x the first of the rows of z with the least |z|²/2 − xᵀz, in the arithmetic of
    the rule. Where other arithmetic could tell, and only there, it is followed to the bit."""
    half = 0.5 * (z * z).sum(1)
    size, sizes = np.sqrt((x * x).sum(1)), np.sqrt((z * z).sum(1))
    out, exact = np.empty(len(x), np.int64), {}

    def value(i, j):
        if j not in exact:
            exact[j] = 0.5 * chain(z[j], z[j])
        return exact[j] - chain(x[i], z[j])
    for at in range(0, len(x), BLOCK):
        q = half - x[at:at + BLOCK] @ z.T
        slack = 4 * (x.shape[1] + 8) * U * (sizes * sizes + size[at:at + BLOCK, None] * sizes)
        sure = (q + slack).min(1)
        candidates = q - slack <= sure[:, None]
        out[at:at + BLOCK] = q.argmin(1)
        for i in np.flatnonzero(candidates.sum(1) > 1):
            found = np.flatnonzero(candidates[i])
            values = [value(at + i, j) for j in found.tolist()]
            out[at + i] = found[values.index(min(values))]
    return out


def centres(x, scale, m):
    """Z: the centres of k-means, from the first different rows on."""
    z = different(x, m)
    if len(z) == len(x):
        return z
    for _ in range(ROUNDS):
        to = nearest(x * scale, z * scale)
        total, count = np.zeros_like(z), np.bincount(to, minlength=len(z))
        np.add.at(total, to, x)  # one after the other
        z[count > 0] = total[count > 0] / count[count > 0, None]
    return different(z, len(z))


def check_theta(model, x, y):
    """θ and the noise are the values of their grids nearest to the estimate."""
    at = fitted(x[:RULE_ROWS], y[:RULE_ROWS], model.meta["kernel"], model.meta["ard"], model.widths)
    for p, v in zip(model.meta["theta"], at):
        grid = p["grid"]
        index = max(0, min(grid["count"] - 1, math.floor((v - grid["min"]) / grid["step"] + 0.5)))
        need(p["index"] == index, f"the rule gives {p['name']!r} the index {index}, the model has {p['index']}")
    noise = exponential(NOISE_STEP * math.floor(at[-1] / NOISE_STEP + 0.5))
    need(model.meta.get("noise") == {"variance": noise, "spread": 1}, f"the rule gives the noise the variance {noise} and the spread 1, the model has {model.meta.get('noise')}")
    return noise


def sums(model, survey, whiten):
    """ΦᵀΦ and Φᵀy over the rows that are no hold-out rows."""
    m, rows = len(model.mean), Rows(model.z)
    gram, moment = np.zeros((m, m)), np.zeros(m)
    digests = Digests(survey.lake, len(survey.columns), targets=False)
    for shard, first, block in survey.lake.blocks(survey.columns):
        digests.add(shard, first, block)
        block = block[:, survey.is_open(first, block.shape[1])]
        for i in range(0, block.shape[1], BLOCK):
            part = block[:, i:i + BLOCK]
            x, y = model.scale_features(part[:len(model.features)].T), model.scale_target(part)
            near = rows.near(x, y)
            phi = linalg.solve_triangular(whiten, kernel(model, x[near])[0].T, lower=True, check_finite=False)
            gram += phi @ phi.T
            moment += phi @ y[near]
    digests.same(survey.digest)
    return gram, moment


def check_rule(model, job, survey, holds):
    """Makes the model again. θ, noise, Z and jitter have to be the same numbers; m, L and C those of
    this program but for its rounding, of which it demands that the mean moves by no more than a
    sixteenth of τ anywhere (proofs.md, 20)."""
    rows = survey.values(survey.start)
    x, y = model.scale_features(rows[:len(model.features)].T), model.scale_target(rows)
    near = Rows(x).near(x, y)
    if near.any():
        x, y = x[near], y[near]
    noise = check_theta(model, x, y)
    most = job.get("inducing", [min(1000, survey.train)])[0]
    z = centres(x, 1 / model.lengthscales, most)
    need(z.shape == model.z.shape and (z == model.z).all(), "the rule makes other inducing points of these rows")
    need(model.jitter == 1e-6 * model.variance and holds, "the jitter is not that of the rule")
    l = np.linalg.cholesky(kernel(model, z)[0] + model.jitter * np.eye(len(z)))
    gram, moment = sums(model, survey, l)
    factor = linalg.cho_factor(np.eye(len(z)) + gram / noise, lower=True)
    alpha = linalg.solve_triangular(l, linalg.cho_solve(factor, moment / noise), lower=True, trans=1)
    mean = model.l.T.astype(np.longdouble) @ alpha.astype(np.longdouble)
    off = math.sqrt(model.variance) * float(np.sqrt(np.sum((model.mean - mean) ** 2))) * (1 + 1e-9)
    most = model.tau() / model.target["scale"] / 16
    need(off <= most, f"the rule makes another mean of these rows: it may be {off:.3g} scales of the target away, and {most:.3g} is what rounding explains")
    spread = np.abs(model.c @ model.c.T - linalg.cho_solve(factor, np.eye(len(z)))).max()
    need(spread <= 1e-6, f"the rule makes another covariance of these rows: it is {spread:.3g} away")
    ok(f"made again by its rule from the rows that are no hold-out rows, the model is the same: θ, Z and noise to the last bit, its mean everywhere within {off / most / 16:.1g} τ")
