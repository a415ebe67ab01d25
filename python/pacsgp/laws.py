"""Laws of f(x), with proven bounds on their errors."""
import math

import numpy as np

from .kernels import FAR, OUTWARDS, STEP, TAIL, U, exact_products, gamma, kernel, length, products

BLOCK = 1024              # rows predicted at once


class Laws:
    """Means and variances of f(x) under the law of predictions, or of draws under Q, with proven bounds on their errors
    against the stored numbers in exact arithmetic (docs/explanation/theory.md, 12). Kernel values come from direct
    differences, so that their error is relative. φ is found by substitution in blocks, the mean with weights that a
    residual in exact arithmetic has corrected. The bounds rest on the jitter condition, which check_jitter proves;
    where it fails nothing is known."""

    def __init__(self, model, holds, of="prediction"):
        self.model, self.draws, m = model, of != "prediction", len(model.mean)
        self.mean, self.factor = model.mean if of == "draw" else model.weight, model.c if self.draws else model.b
        self.sigma2, self.sigma = model.variance, math.sqrt(model.variance) * OUTWARDS
        self.gamma, self.sums = gamma(min(STEP, m) + m / STEP + 8), gamma(m + 8)
        self.weights, rest = self.unwhitened()
        self.residual = self.sigma * length(rest) if holds else math.inf
        self.both = np.stack([self.weights, np.abs(self.weights)], axis=1)
        if self.draws:
            self.size, self.spread_root = np.abs(model.l), length(model.c)
            self.inverse = math.sqrt(2 / model.jitter) * OUTWARDS if holds else math.inf   # ≥ ‖L⁻¹‖, for L Lᵀ ⪰ j/2
            s = products(model.c, model.c.T)
            row_sums = np.abs(s).sum(1).max() * OUTWARDS + m * self.gamma * self.spread_root ** 2
            self.spread = min(row_sums, self.spread_root ** 2) * OUTWARDS             # ≥ ‖C‖²

    def unwhitened(self):
        """α near L⁻ᵀm, and m − Lᵀα, of which each element is rounded once."""
        l, m = self.model.l, self.mean
        back = lambda b: substitute(l.T[::-1, ::-1], b[::-1])[::-1]
        alpha = back(m)
        for again in range(3):
            high, low = exact_products(l, alpha[:, None])
            rest = np.array([math.fsum(np.concatenate([[m[i]], -high[i:, i], -low[i:, i]])) for i in range(len(m))])
            if again < 2:
                alpha = alpha + back(rest)
        return alpha, rest

    def at(self, k, dk, phi, reach, centre):
        """Mean, variance, and the bound on the error of the mean, infinite where a mean around this raw centre cannot be written to τ; for draws also those of the variance, a near and a wide one; for predictions one that another program proves (theory.md, 10)."""
        mean, mass = products(k, self.both).T
        tail = TAIL * self.sigma2 * len(self.model.mean)
        mean_error = (self.gamma * mass + dk @ self.both[:, 1] * (1 + self.sums) + tail * length(self.weights) + self.residual) * OUTWARDS
        rounding, tau = self.model.written(mean, centre)[1] / self.model.target["scale"], self.model.tau / self.model.target["scale"]
        mean_error = np.where(mean_error + rounding <= tau, mean_error, np.inf)
        q = products(np.ascontiguousarray(self.factor.T), phi)
        phi2, q2 = (phi * phi).sum(0), (q * q).sum(0)
        variance = self.sigma2 - phi2 + q2
        if not self.draws:
            off = (gamma(len(phi) / 16 + 24) + 8 * U) * np.sqrt((k * k).sum(1)) + (2.6 * reach + self.model.z.shape[1] + 8) * U * np.sqrt(self.sigma2 * k.sum(1))
            there = off * length(self.weights) + self.residual
            return mean, variance, mean_error, np.where((reach < FAR) & (there + rounding <= tau / 2), np.maximum(mean_error, there), np.inf)
        size, moved = np.sqrt(phi2) * OUTWARDS, products(self.size, np.abs(phi))                            # by the rounding of L
        off = self.inverse * (np.sqrt((dk * dk).sum(1)) + tail + self.gamma * np.sqrt((moved * moved).sum(0))) * OUTWARDS   # of φ
        spread = self.gamma * self.spread_root * size                                                        # of Cᵀφ
        others = off * off * (1 + self.spread) + spread * (2 * np.sqrt(q2) + spread) + self.sums * (self.sigma2 + phi2 + q2)
        wide = 2 * off * size * (1 + self.spread)   # of 2φᵀ(I − CCᵀ)·(what φ is off by)
        near, some = wide.copy(), np.flatnonzero(wide > 1e-7 * np.abs(variance))
        near[some] = np.fmin(wide[some], self.nearer(phi[:, some], q[:, some], dk[some].T + tail + self.gamma * moved[:, some], size[some], off[some]))
        return mean, variance, mean_error, (near + others) * OUTWARDS, (wide + others) * OUTWARDS

    def nearer(self, phi, q, moved, size, off):
        """A bound on 2φᵀ(I − CCᵀ)L⁻¹r for all |r| ≤ moved: 2|α|ᵀ|r| for any α, and the residual of α times what φ is off by."""
        alpha = substitute(self.model.l.T[::-1, ::-1], (phi - products(self.factor, q))[::-1])[::-1]
        rest = self.gamma * (length(self.model.l) * np.sqrt((alpha * alpha).sum(0)) + (1 + 4 * self.spread_root ** 2) * size)
        return 2 * ((np.abs(alpha) * moved).sum(0) * (1 + self.sums) + rest * off)


def features(model, x):
    """Kernel values [n, M] of scaled rows [n, d], the bounds on their errors, φ [M, n], and how far rows reach."""
    k, dk, reach = kernel(model, x)
    return k, dk, substitute(model.l, k.T), reach


def substitute(l, b):
    """Solves Lx = b for b [M] or [M, n]. The result solves (L + ΔL)x = b exactly, |ΔL| ≤ gamma·|L|."""
    x = np.array(b, order="C")
    for i in range(0, len(l), STEP):
        j = i + STEP
        for row in range(i, min(j, len(l))):
            x[row] = (x[row] - l[row, i:row] @ x[i:row]) / l[row, row]
        x[j:] -= l[j:, i:j] @ x[i:j]
    return x


def check_jitter(model):
    """Whether ‖K_ZZ + jI − L Lᵀ‖ ≤ j/2 is proven (formats.md, 6.1): the residual in float64 and a bound on its rounding."""
    m = len(model.mean)
    squares = rounding = 0.0
    trace = float(np.square(model.l).sum())
    for i in range(0, m, BLOCK):
        k, dk, _ = kernel(model, model.z[i:i + BLOCK])
        rounding += length(dk)
        k -= products(model.l[i:i + BLOCK], model.l.T)
        k[np.arange(len(k)), i + np.arange(len(k))] += model.jitter
        squares += float(np.square(k).sum())
    rounding += gamma(min(STEP, m) + m / STEP + 8) * (trace + m * model.variance + math.sqrt(m) * model.jitter) + m * TAIL * model.variance
    return (math.sqrt(squares) * (1 + gamma(m * m + 8)) + rounding) * OUTWARDS <= model.jitter / 2
