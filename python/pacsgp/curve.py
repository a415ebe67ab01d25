"""Errors of the predictor at every tolerance at once (formats.md, 6.8; theory.md, 19)."""
import math
from decimal import Decimal

import numpy as np

from .refusal import need

RATIOS = (1, 1.0443, 1.0905, 1.1388, 1.1892, 1.2419, 1.2968, 1.3543, 1.4142, 1.4768, 1.5422, 1.6105, 1.6818, 1.7562, 1.834, 1.9152)
MOST_DRAWS = 1 << 17      # of more the levels of fewer ranks are added up
LEAST_DIGITS = 20         # of a smaller part of delta than 10 to the minus this, or than 10^-n, there is no curve
MOST_ROWS = 10 ** 9       # nor of more
TOLERANCES, OWN = 512, 320
CURVE_SHARE = 0.9         # the share of new rows whose interval shows what a curve is worth
LOOSE = 1e-11             # by which limits of two programs differ at most


def within(curve, share):
    """The smallest tolerance within which predictions are for this share of new rows, or infinity."""
    return next((s["tolerance"] for s in curve["steps"] if covers(s["bound"], share)), math.inf)


covers = lambda bound, share: Decimal(bound) + Decimal(repr(share)) <= 1
tolerances = lambda epsilon: np.array([math.ldexp(epsilon, i // 32 - 10) * (1 + i % 32 / 32) for i in range(TOLERANCES)])


def ranks(n):
    """The ranks of the band for n rows."""
    found, k, per = [], 0, 64 if n > MOST_DRAWS else 256
    while k < n // 2:
        found.append(k)
        k += max(1, k // per)
    return np.array(found + [n // 2])


def limits(n, level):
    """The p with P(at most k of n) = level, at each rank k."""
    k = ranks(n)
    from scipy.special import betainccinv
    return betainccinv(k + 1.0, (n - k).astype(float), level)


def crossing(n, bounds, part):
    """At least the probability that at most k of n uniform numbers are at most the bound of some rank k: by
    the counts that have failed at no rank, each of a Poisson process that has n points in all."""
    from scipy.special import gammaln, xlogy
    at, least, alive, failed, dropped = 0.0, 0, np.ones(1), 0.0, 0.0
    rare = -math.log(part) + 50
    for k, bound in zip(ranks(n).tolist(), bounds.tolist()):
        mean = n * (bound - at)
        room = rare / 3 + math.sqrt(rare * rare / 9 + 2 * rare * mean)  # Bernstein
        j = np.arange(max(0, math.floor(mean - room)), math.ceil(mean + room) + 1.0)
        dropped += 2 * math.exp(-rare)
        alive = np.convolve(alive, np.exp(xlogy(j, mean) - mean - gammaln(j + 1)))
        at, least = bound, least + int(j[0])
        lost = np.arange(least, k + 1.0)[:len(alive)]
        given = np.exp(gammaln(n + 1) - gammaln(n - lost + 1) - lost * math.log(n) + n * bound + (n - lost) * math.log1p(-bound))
        failed += float((alive[:len(lost)] * given).sum())
        alive, least = alive[len(lost):], least + len(lost)
        kept = np.flatnonzero(alive >= part * 2.0 ** -80)
        low, high = (int(kept[0]), int(kept[-1]) + 1) if kept.size else (0, 0)
        dropped += float(alive[:low].sum() + alive[high:].sum())
        alive, least = alive[low:high], least + low
    return failed + 3 * math.sqrt(n) * dropped


def check_level(n, level, inverse):
    """The level is the largest of the list for which the bounds at all ranks hold at once."""
    part = float((-inverse).exp())
    if n > MOST_ROWS or part < 10.0 ** -min(n, LEAST_DIGITS):
        return need(level == 0, "there is a curve for next to no part of delta, or too many rows")
    need(level > 0, "there is no curve")
    if n > MOST_DRAWS:
        return need(abs(level * (len(ranks(n)) + 1) / part - 1) < 1e-9, "the level of the curve is not that of its ranks")
    ratio = lambda i: math.ldexp(RATIOS[i % 16], i // 16)
    i = next((i for i in range(2000) if abs(level * ratio(i) / part - 1) < 1e-9), None)
    need(i is not None, "the level of the curve is none of the list")
    need(crossing(n, limits(n, level) * (1 - LOOSE), part) <= part, "the curve fails with a larger probability than its part of delta")
    need(i == 0 or not crossing(n, limits(n, part / ratio(i - 1)) * (1 + LOOSE), part) <= part * (1 - 3e-6), "the level of the curve is smaller than it has to be")
