"""How alike rows are that are near each other (format.md, 7)."""
import math

import numpy as np

from .refusal import need

LAGS, ONE, LEVEL = 8, 1024, 9.75


def in_steps(values):
    """Numbers from -1 to 1 in steps of 1/1024; what is beyond is the next end."""
    return np.floor(ONE * np.clip(values, -1, 1)).astype(np.int64)


def series(numbers):
    """What numbers in the order of their rows add up to."""
    products = [int((numbers[lag:] * numbers[:-lag]).sum()) for lag in range(1, LAGS + 1)]
    return {"rows": len(numbers), "sum": int(numbers.sum()), "squares": int((numbers * numbers).sum()), "products": products}


def check_order(numbers, stated):
    """The finding of the stated sums, if they are those of the targets in their order."""
    found = series(numbers)
    need(stated == found, f"the targets in their order add up to {found}, the certificate says {stated}")
    return dependence(stated)


def moments(s):
    """Mean, variance, and the greatest distance from the mean."""
    n = float(s["rows"])
    mean = float(s["sum"]) / n
    return mean, float(s["squares"]) / n - mean * mean, ONE + abs(mean)


def correlation(s, lag):
    """The correlation at a lag, and whether it is beyond what independent rows show."""
    if s["rows"] <= lag:
        return 0.0, False
    mean, variance, most = moments(s)
    pairs = float(s["rows"] - lag)
    covariance = float(s["products"][lag - 1]) / pairs - mean * mean
    found = max(-1.0, min(1.0, covariance / variance)) + 0.0 if variance > 0 else 0.0
    return found, exceeds(covariance * pairs, most * most, pairs * variance * variance)


def exceeds(total, most, variance):
    """Freedman's inequality."""
    b = most * (LEVEL / 3)
    return abs(total) > b + math.sqrt(b * b + 2 * LEVEL * variance)


def dependence(targets):
    """The finding with its verdict."""
    targets = {k: targets[k] for k in ("rows", "sum", "squares", "products")}
    return {"pairs": targets["rows"] - 1, "correlation": correlation(targets, 1)[0],
            "suspicious": any(correlation(targets, lag)[1] for lag in range(1, LAGS + 1)), "measured": targets}


def stated(cert):
    """The dependence that a certificate states, as far as it follows from its sums."""
    s, rows = cert["dependence"]["measured"], cert["ledger"]["reference"] + cert["ledger"]["train"]
    need(s["rows"] == rows and 0 <= s["squares"] <= ONE ** 2 * rows and abs(s["sum"]) <= ONE * rows and all(abs(p) <= s["squares"] for p in s["products"]),
         f"the sums over targets in their order are none of {rows} rows")
    return dependence(s)
