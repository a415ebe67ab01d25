"""How alike rows are that are near each other (formats.md, 7.1)."""
import math

import numpy as np

LAGS, ONE, LEVEL = 8, 1024, 9.75


def series(values):
    """What numbers from -1 to 1 add up to in the order of their rows, in steps of 1/1024; what is beyond is the next end."""
    numbers = np.floor(ONE * np.clip(values, -1, 1)).astype(np.int64)
    products = [int((numbers[lag:] * numbers[:-lag]).sum()) for lag in range(1, LAGS + 1)]
    return {"rows": len(numbers), "sum": int(numbers.sum()), "squares": int((numbers * numbers).sum()), "products": products}


def correlation(s, lag):
    """The correlation at a lag; 0 unless it is beyond what independent rows show, by Freedman's inequality."""
    n, pairs = float(s["rows"]), float(s["rows"] - lag)
    mean = float(s["sum"]) / n
    variance = float(s["squares"]) / n - mean * mean
    if pairs <= 0 or not variance > 0:
        return 0.0
    covariance, most = float(s["products"][lag - 1]) / pairs - mean * mean, ONE + abs(mean)
    b = most * most * (LEVEL / 3)
    beyond = abs(covariance * pairs) > b + math.sqrt(b * b + 2 * LEVEL * (pairs * variance * variance))
    return max(-1.0, min(1.0, covariance / variance)) if beyond else 0.0


def strongest(s):
    """The lag of the greatest of these correlations, and that; 0: there is none."""
    return max(((lag, correlation(s, lag)) for lag in range(1, LAGS + 1)), key=lambda found: abs(found[1]))
