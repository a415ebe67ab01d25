"""The predictor: its weights are those of Q and of least squares at the features of Q (formats.md, 3)."""
import math
from statistics import NormalDist

import numpy as np

from .kernels import OUTWARDS
from .laws import features
from .losses import KINDS, constant_loss
from .refusal import need, ok

PARTS = 0, 0.25, 0.5, 0.75, 1
ALIKE, STRICT = 1 + 1e-9, 1 - 2.0 ** -53  # of a least sum; of a tolerance whose edge is a miss
SAME, WEIGHTS, COVARIANCE = 1e-5, 1e-7, 1e-3  # parts by which two honest programs differ, at most
NORMAL, SUPPOSED = 1.959963984540054, 50


class Regression:
    """Σφφᵀ, Σφy and Σy² over so many rows. Features and targets are rounded to whole numbers of a unit first,
    so that another program finds the same sums."""

    def __init__(self, model, rows):
        self.rows, self.variance, m = rows, model.variance, len(model.mean)
        self.bits = min(22, (63 - (rows - 1).bit_length()) // 2)  # of a feature
        self.unit = 2.0 ** (math.frexp(math.sqrt(model.variance) * OUTWARDS)[1] - self.bits)
        self.gram, self.moment, self.squares = np.zeros((m, m), dtype=np.int64), np.zeros(m), 0.0

    def add(self, phi, y):
        """Adds rows: their features [M, n] and scaled targets [n]."""
        base, most, exact = 2.0 ** self.bits, 2.0 ** (3 * self.bits - 26), 1 << 52 - 2 * self.bits
        phi, y = np.clip(np.rint(phi / self.unit), -base, base), np.rint(np.clip(y, -most, most) * 2.0 ** 24) * 2.0 ** -24
        for i in range(0, len(y), exact):
            self.gram += (phi[:, i:i + exact] @ phi[:, i:i + exact].T).astype(np.int64)
        self.moment, self.squares = self.moment + phi @ y * self.unit, self.squares + y @ y

    def fit(self):
        """The noise σ² of the highest evidence, lower ones, and a function that returns B = I + A/σ² and B⁻¹b/σ² for a noise."""
        gram = self.gram * self.unit ** 2
        values, vectors = np.linalg.eigh(gram)
        values, moments, left = np.maximum(values, 0), vectors.T @ self.moment, max(0, self.rows * self.variance - gram.trace())
        least = 2.0 ** -46 * (gram.trace() + self.variance)
        lowest, highest = (math.ceil(math.log(noise) * 16) for noise in (least, 8 * self.squares / self.rows + least))
        noise = np.exp(np.arange(lowest, max(lowest, highest) + 1) / 16)
        evidence = [-self.rows * math.log(s) - np.log1p(values / s).sum() - (self.squares - (moments ** 2 / (values + s)).sum() + left) / s for s in noise]
        best = 16 * int(np.argmax(evidence[::16]))  # first in steps of 1 of the logarithm, then of a half to a sixteenth
        for step in 8, 4, 2, 1:
            best = max((i for i in (best, best - step, best + step) if 0 <= i < len(noise)), key=evidence.__getitem__)
        return noise[best], [noise[best] / 4 ** k for k in (1, 2, 3) if noise[best] / 4 ** k >= noise[0]], lambda s: (np.eye(len(gram)) + gram / s, vectors @ (moments / (values + s)))


def calibration(off, variance, noise, evidence):
    """The factor of the noise with which 95 % of errors are within 1.96 deviations."""
    normal = [evidence / noise * (NormalDist().inv_cdf(0.5 + (i + 0.5) / SUPPOSED / 2) / NORMAL) ** 2 for i in range(SUPPOSED)]
    ordered = np.sort(np.concatenate([((off / NORMAL) ** 2 - variance) / noise, normal]))
    found = ordered[min(len(ordered), math.ceil(0.95 * (len(ordered) + 1))) - 1]
    return max(2.0 ** -10, found) if found < math.inf else 1.0


def check_predictor(model, first_pass, regression):
    """The predictor follows from Q, the training rows and the prior rows."""
    stated, loss, target = model.meta["prediction"], model.loss, model.target
    evidence, lower, at = regression.fit()
    rows = first_pass.values(first_pass.reference)
    phi = features(model, model.scale_features(rows[:len(model.features)].T))[2]
    y, scaled = model.scale_target(rows), {k: loss[k] / target["scale"] for k in ("epsilon", "below", "above") if k in loss}
    weights = lambda part, noise: (1 - part) * model.mean + part * at(noise)[1]

    def worth(part, noise):
        mean = weights(part, noise) @ phi
        lost = constant_loss(loss | ({} if KINDS[loss["kind"]].relative else scaled), y, mean, STRICT, target["centre"] / target["scale"]).sum()
        off = np.abs(y - mean) / (max([0.0, *scaled.values()]) or np.nan)
        return lost + (np.fmin(off, 1) ** 2).sum()
    part, chosen = stated["part"], bool(len(first_pass.holdout) and len(y))
    options = [(a, n) for n in [evidence, *lower] for a in PARTS if not (a == 0 and n != evidence)] if chosen else [(float(len(first_pass.holdout) > 0), evidence)]
    near = [n for a, n in options if a == part and abs(stated["noise"] / n - 1) <= SAME / 10]
    need(near, f"predictor: the rows give parts of least squares and noises {options}, the model has {part} and {stated['noise']}")
    need(not chosen or worth(part, near[0]) <= min(worth(*o) for o in options) * ALIKE, f"predictor: another part of least squares or noise than {part} and {near[0]} fits the prior rows better")
    noise, (precision, _) = near[0], at(near[0])
    off, size = (math.sqrt(w @ precision @ w) for w in (model.weight - weights(part, noise), weights(part, noise)))
    need(off <= WEIGHTS * size if part else (model.weight == model.mean).all(), f"predictor: Q and the training rows give other weights, off by {off:.1e} of {size:.1e}")
    need(np.abs(model.b.T @ precision @ model.b - np.eye(len(precision))).max() <= COVARIANCE, "predictor: the training rows give other deviations")
    variance = np.maximum(0, model.variance - (phi ** 2).sum(0) + ((model.b.T @ phi) ** 2).sum(0))
    factor = calibration(y - weights(part, noise) @ phi, variance, noise, evidence)
    need(abs(stated["factor"] / factor - 1) <= SAME, f"predictor: the prior rows give the factor {factor}, the model has {stated['factor']}")
    ok(f"the predictor follows from Q and the rows that are not held out: part {part}, noise {noise:.6g}, factor {factor:.6g}; weights are off by {off:.1e} of {size:.1e}")
