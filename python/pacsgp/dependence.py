"""How alike rows are that are near each other (format.md, 7)."""
import math

import numpy as np

from .refusal import need

LAGS, ONE, LEVEL = 8, 1024, 10.5


def in_steps(values):
    """Numbers from -1 to 1 in steps of 1/1024; what is beyond is the next end."""
    return np.floor(ONE * np.clip(values, -1, 1)).astype(np.int64)


def series(numbers):
    """What numbers in the order of their rows add up to."""
    products = [int((numbers[lag:] * numbers[:-lag]).sum()) for lag in range(1, LAGS + 1)]
    return {"rows": len(numbers), "sum": int(numbers.sum()), "squares": int((numbers * numbers).sum()), "products": products}


class Order:
    """Gathers the scaled targets of reference and train rows, and the losses of the mean on train rows."""

    def __init__(self, rows):
        self.from_row = rows - rows // 10
        self.targets, self.losses, self.late = [], [], []

    def add_targets(self, y):
        self.targets.append(in_steps(y))

    def add_places(self, ordinals):
        self.late.append(ordinals >= self.from_row)

    def add_losses(self, losses):
        self.losses.append(in_steps(losses))

    def measured(self):
        """What all of it adds up to."""
        numbers = np.concatenate(self.losses)
        targets, losses, late = (series(x) for x in (np.concatenate(self.targets), numbers, numbers[np.concatenate(self.late)]))
        return {"targets": targets, "losses": losses, "late": {k: late[k] for k in ("rows", "sum")}}

    def check(self, stated):
        """The stated sums, if they are these: of losses but for two rows, since means have rounding errors."""
        found = self.measured()
        targets = found["targets"]
        need(stated["targets"] == targets, f"the targets in their order add up to {targets}, the certificate says {stated['targets']}")
        near = lambda a, b, steps: abs(a - b) <= 2 * steps
        for name in ("losses", "late"):
            a, b = found[name], stated[name]
            need(a["rows"] == b["rows"] and near(a["sum"], b["sum"], ONE) and near(a.get("squares", 0), b.get("squares", 0), ONE ** 2)
                 and all(near(p, q, 2 * ONE ** 2) for p, q in zip(a.get("products", []), b.get("products", []))),
                 f"the losses of the mean in their order add up to {a}, the certificate says {b}")
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


def drifts(measured):
    """Whether losses on the last tenth of the rows differ from the others."""
    losses, late = measured["losses"], measured["late"]
    mean, variance, most = moments(losses)
    k = float(late["rows"])
    return exceeds(float(late["sum"]) - k * mean, most, k * variance * (1 - k / float(losses["rows"])))


def dependence(measured):
    """The finding with its verdict."""
    measured = {k: {j: measured[k][j] for j in ("rows", "sum", "squares", "products") if j in measured[k]} for k in ("targets", "losses", "late")}
    return {"pairs": measured["targets"]["rows"] - 1, "correlation": correlation(measured["targets"], 1)[0],
            "suspicious": drifts(measured) or any(correlation(measured[name], lag)[1] for name in ("targets", "losses") for lag in range(1, LAGS + 1)), "measured": measured}


def stated(cert):
    """The dependence that a certificate states, as far as it follows from its sums."""
    said, ledger = cert["dependence"], cert["ledger"]
    m = said["measured"]
    for name, rows in (("targets", ledger["reference"] + ledger["train"]), ("losses", ledger["train"])):
        s = m[name]
        need(s["rows"] == rows and 0 <= s["squares"] <= ONE ** 2 * rows and abs(s["sum"]) <= ONE * rows and all(abs(p) <= s["squares"] for p in s["products"]),
             f"the sums over {name} in their order are none of {rows} rows")
    need(m["losses"]["sum"] >= 0 and m["late"]["rows"] <= m["losses"]["rows"] and m["late"]["sum"] <= min(m["losses"]["sum"], ONE * m["late"]["rows"]),
         "the losses of the last tenth of the rows are not among all")
    return dependence(m)
