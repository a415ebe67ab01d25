"""The bound on the mean of losses that are not 0 or 1, by betting against it (formats.md, 6.4)."""
import bisect
import math

import numpy as np

from .bound import mean_of
from .losses import UNIT
from .refusal import need

CELLS, PARTS = 1 << 10, 1 << 12
STAKES = [2.0 ** j for j in range(-8, 8)]


def spread(losses):
    """Divides losses between multiples of 1/1024: the parts at each, in units of 1/4096 of a row."""
    at, over = np.divmod(np.ceil(losses * (CELLS * PARTS)).astype(np.int64), PARTS)
    return np.bincount(np.append(at, at + 1), np.append(PARTS - over, over), CELLS + 2)[:-1]


def wins(parts, n, k, inverse, side):
    """Whether the mean wealth of the stakes is exp(inverse) for a mean loss of k/n, up to
    rounding: against the bet (side 1) or for it (-1)."""
    kept, wealth = np.arange(CELLS, -1, -1) / CELLS * (n / (n - k)), []
    for b in STAKES:
        gains = parts * np.log((b + kept) / (b + 1)) / PARTS
        wealth.append(math.fsum(gains) - side * 1e-15 * float(np.abs(gains).sum()))
    best = max(wealth)
    return best + math.log(math.fsum(math.exp(w - best) for w in wealth) / len(STAKES)) >= inverse + side * 1e-9


def least(parts, n, inverse, side):
    """The least k with which the bet is won: the bound is k/n."""
    return bisect.bisect_left(range(n), True, key=lambda k: wins(parts, n, k, inverse, side))


def steps(bound, n):
    """The k of a stated bound k/n, rounded up, which is not below that of n rows without a loss."""
    numerator, denominator = float(bound).as_integer_ratio()
    k = numerator * n // denominator
    need(n < 1 << 50 and mean_of(k * UNIT, n, True) == bound, f"the bound of the held-out rows, {bound}, is no step of one of {n} rows")
    return k


def check(bound, n, inverse):
    """What is checked of a bound without the rows."""
    k = least(np.array([PARTS * n] + [0] * CELLS), n, inverse, -1)
    need(steps(bound, n) >= k, f"the bound of the held-out rows, {bound}, is below {k} of {n} rows, which is that of no loss")


def agree(small, large, bound, n, inverse):
    """A stated bound lies where losses allow it that are as small, and as large, as those of the publisher may be."""
    low, high = least(spread(np.maximum(small, 0)), n, inverse, -1), least(spread(np.minimum(large, 1)), n, inverse, 1)
    need(low <= steps(bound, n) <= high, f"the bound of the held-out rows is stated as {bound}, and is {low / n:.12f} to {high / n:.12f} by the losses that are proven here")
