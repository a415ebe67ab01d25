"""Losses, and proven bounds on them (formats.md, 5)."""
import math
from typing import NamedTuple

import numpy as np

from .kernels import U, in_order
from .refusal import need

UNIT = 1 << 60            # losses are counted in units of 2^-60
MOST_SHARE = 1000         # of the target that a tolerance may be
ROUNDING = 2e-13          # of a few values of Φ and φ


class Kind(NamedTuple):
    """The properties of a loss."""
    draws: str = "slope"                # what of Losses bounds it
    tolerances: frozenset = frozenset({"epsilon"})
    counts: bool = False                # 0 or 1 for each row
    relative: bool = False              # to the size of the target


KINDS = {
    "zero-one": Kind("band", counts=True),
    "band": Kind("band", frozenset({"below", "above"}), counts=True),
    "relative-zero-one": Kind("band", counts=True, relative=True),
    "squared": Kind(), "exponential": Kind("exponential"),
    "relative": Kind(tolerances=frozenset(), relative=True)}

ndtr = np.vectorize(lambda x: math.erfc(-x / math.sqrt(2)) / 2, otypes=[float])  # Φ
density = lambda x: np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


class Losses:
    """Upper bounds on the expected loss of a random draw at each row (formats.md, 5.3)."""

    def __init__(self, model):
        loss, self.scale = model.loss, model.target["scale"]
        self.kind, self.model = loss["kind"], model
        self.tau = model.tau / self.scale * (1 + 2.0 ** -40)
        self.share = loss["epsilon"] if self.kind == "relative-zero-one" else None
        self.below, self.above = (loss.get(k, loss.get("epsilon", 0.0)) / self.scale if self.share is None else 0.0 for k in ("below", "above"))
        self.offset = model.target["centre"] / self.scale
        self.size = abs(self.offset) if self.kind == "relative" else self.below + self.above

    def inner(self, y):
        """At most half the width of a band, less tau."""
        return ((self.below + self.above) / 2 if self.share is None else self.share * (np.abs(y + self.offset) - 8 * U * (np.abs(y) + abs(self.offset)))) - self.tau

    def points(self, y, mean, mean_error):
        """The same of the means: of every prediction that is within tau of the exact one."""
        room = (mean_error + 6 * U * (np.abs(mean) + np.abs(y) + self.size)) * (1 + 2.0 ** -40)
        two_sided = KINDS[self.kind].counts
        most = np.abs(mean - (y + (self.above - self.below) / 2 if two_sided else y)) + (room if two_sided else room + self.tau)
        with np.errstate(all="ignore"):
            if two_sided:
                high = np.where(most < self.inner(y), 0.0, 1.0)
            elif self.kind == "exponential":
                high = ROUNDING - np.expm1(-(most / self.below) ** 2)
            elif self.kind == "squared":
                high = ROUNDING + np.minimum(most / self.below, 1) ** 2
            else:
                t, off = np.abs(y + self.offset), 6 * U * (np.abs(y) + abs(self.offset))
                high = np.where(t > off, ROUNDING + np.minimum(most / (t - off), 1), 1.0)
            return self.capped(high, mean_error <= self.tau)

    def capped(self, high, proven):
        """Losses that are not known, including NaN, are 1."""
        return np.where(proven & (high <= 1), np.maximum(high, 0), 1.0), proven

    def draws(self, y, mean, variance, mean_error, variance_error):
        """Upper bounds for scaled targets, and which rows are proven: of the others nothing is known."""
        room = (mean_error + 6 * U * (np.abs(mean) + np.abs(y) + self.size)) * (1 + 2.0 ** -40)
        proven = (mean_error <= self.tau) & np.isfinite(variance_error) & np.isfinite(variance)
        small, large = np.sqrt(np.maximum(0, variance - variance_error)), np.sqrt(np.maximum(0, variance + variance_error))
        centre = y + (self.above - self.below) / 2 if KINDS[self.kind].counts else y
        g = np.abs(mean - centre)
        with np.errstate(all="ignore"):
            high = getattr(self, KINDS[self.kind].draws)(y, np.maximum(0, g - room), g + room, small, large)
            return self.capped(high, proven)

    def band(self, y, least, most, small, large):
        """Φ((g−w)/s) + Φ(−(g+w)/s): each term is monotone in g, w and, on each side of its zero, in s."""
        inner = self.inner(y)
        high = ndtr((most - inner) / np.where(most > inner, small, large)) + ndtr(-(least + inner) / large) + ROUNDING
        return np.where(inner > 0, high, 1.0)

    def exponential(self, y, _, most, small, large):
        """1 − ε/√k·exp(−g²/k), k = 2s² + ε²: both factors are monotone in g and in k."""
        e = self.below
        few, many = 2 * small * small + e * e, 2 * large * large + e * e
        return 1 - e / np.sqrt(many) * np.exp(-most * most / few) + 0.858 * self.tau / e + ROUNDING

    def slope(self, y, _, most, small, large):
        """A loss that rises with |f−y| up to 1 at t: monotone in g and in t, and with s it
        moves by 0.8·steepest/t times what s moves by."""
        steepest, t = 2 if self.kind == "squared" else 1, np.full_like(y, self.below)
        if self.kind == "relative":
            t = np.abs(y + self.offset) - 6 * U * (np.abs(y) + abs(self.offset))
        move = steepest * (0.8 * (large - small + 4 * U * large) + self.tau) / t + ROUNDING
        return np.where(t > 0, self.sloped(most, large, t) + move, 1.0)

    def sloped(self, g, s, t):
        """An upper bound on E at one g, s, t, but for the rounding of Φ (formats.md, 5.2)."""
        a, h, c = (-t - g) / s, -g / s, (t - g) / s
        if self.kind == "squared":
            size = (g * g + s * s) / (t * t)
            d = 1 - ndtr(a) - ndtr(-c)
            inside = ((g * g + s * s) * d + 2 * g * s * (density(a) - density(c)) + s * s * (a * density(a) - c * density(c))) / (t * t)
        else:
            size = (g + s) / t
            inside = (g * (1 - ndtr(-c) - 2 * ndtr(h) + ndtr(a)) + s * (2 * density(h) - density(a) - density(c))) / t
        e = ndtr(a) + ndtr(-c) + np.maximum(0, inside) + ROUNDING * (1 + size)
        return np.where((g - t > 9 * s) | (s > 1024 * t), 1.0, e)


def exp_negative(x):
    """exp(−x) for x ≥ 0, with the same bits everywhere (formats.md, 5.4)."""
    k = np.where(x < 700, np.floor(x * 1.4426950408889634 + 0.5), 0)
    r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10
    total = np.ones_like(x)
    for i in range(13, 0, -1):
        total = 1 - r * total / i
    return np.where(x < 700, np.ldexp(total, -k.astype(int)), 0.0)


def constant_loss(loss, y, c, edge=1.000000001, offset=0.0):
    """A lower bound on the loss of predicting the constant c (formats.md, 5.4). A miss begins at edge·ε. The raw target is y + offset in the units of y."""
    r, size, kind = c - y, np.abs(y + offset), loss["kind"]
    if KINDS[kind].counts:
        below, above = (loss["below"], loss["above"]) if kind == "band" else (loss["epsilon"] * (size if KINDS[kind].relative else 1),) * 2
        return np.where((-below * edge <= r) & (r <= above * edge), 0.0, 1.0)
    with np.errstate(all="ignore"):
        if kind == "relative":
            return np.where(size == 0, 1.0, np.minimum(np.abs(r) / size, 1) * (1 - 2.0 ** -48))
        t = r / loss["epsilon"]
        if kind == "squared":
            return np.minimum(t * t, 1) * (1 - 2.0 ** -48)
        return np.maximum(0, 1 - exp_negative(t * t) - 2.0 ** -48)


def best_constant(loss, targets):
    """The best of 512 candidates on these targets (formats.md, 6.4)."""
    ordered, width = np.sort(targets), max(loss.get("epsilon", 0.0), loss.get("above", 0.0))
    positions = ordered[np.arange(256) * (len(ordered) - 1) // 255] + 0.0  # no -0
    if loss["kind"] == "relative-zero-one":
        width = loss["epsilon"] * np.abs(positions)
    candidates = np.stack([positions, positions + width], axis=1).ravel()
    sums = [in_order(0.0, constant_loss(loss, targets, c)) for c in candidates]
    return float(candidates[int(np.argmin(sums))])


def half_width(targets):
    """Half the narrowest interval that covers nine in ten targets (formats.md, 6.4)."""
    ordered, covered = np.sort(targets), (9 * len(targets) + 9) // 10
    return float((ordered[covered - 1:] - ordered[:len(ordered) - covered + 1]).min() / 2)


def units(losses, up):
    """Losses in units of 2^-60, rounded."""
    need(((0 <= losses) & (losses <= 1)).all(), "a loss is outside [0, 1]")
    return (np.ceil if up else np.floor)(losses * float(UNIT)).astype(np.int64)


def whole(each):
    """The sum of int64 that may overflow."""
    return (int((each >> 30).sum()) << 30) + int((each & ((1 << 30) - 1)).sum())
