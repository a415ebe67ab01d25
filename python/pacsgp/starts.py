"""What depends on reference and start rows: peaks, inducing points, default features."""
import math
import re

import numpy as np

from . import unit
from .bound import spacing
from .groups import group_column
from .kernels import FAMILIES
from .refusal import need, ok
from .first_pass import standardise

WIDE = 1e4                # the size of values next to which sums of squares lose all other digits


def estimate(x, y, family, ard, widths):
    """ln of lengthscales and variance that fit the prior rows, for the centre of a
    peaked prior (formats.md, 6.2): 50 steps of Adam on the log evidence of an exact process with noise."""
    x, y = x[:1000], y[:1000]
    d = len(widths)                                 # features
    scales = d if ard else 1
    of = np.repeat(np.arange(d) if ard else np.zeros(d, dtype=int), widths)
    theta = np.zeros(scales + 2)                    # lengthscales, variance, noise
    theta[:scales], theta[-1] = 0.5 * math.log(d), math.log(0.1)
    best, at = math.inf, theta.copy()
    mean, square = np.zeros_like(theta), np.zeros_like(theta)
    for step in range(50):
        value, gradient = negative_log_evidence(x, y, theta, family, of)
        off = (theta[:scales] - 0.5 * math.log(d)) / 2   # a normal prior on ln lengthscales
        value += 0.5 * off @ off
        gradient[:scales] += off / 2
        if value < best:
            best, at = value, theta.copy()
        mean = 0.9 * mean + (1 - 0.9) * gradient
        square = 0.99 * square + (1 - 0.99) * gradient * gradient
        direction = mean / (1 - 0.9 ** (step + 1)) / (np.sqrt(square / (1 - 0.99 ** (step + 1))) + 1e-12)
        theta = np.clip(theta - 0.15 * (1 - 0.8 * step / 50) * direction, -6, 6)
        theta[-1] = max(math.log(1e-4), theta[-1])
    at[:-2] += math.log(1.5)                        # the bound likes smoother functions
    return at[:-1]


def negative_log_evidence(x, y, theta, family, of):
    """½ yᵀK⁻¹y + ½ ln det K and its derivatives in theta. Input j has the lengthscale of[j]."""
    n = len(x)
    scaled = x * np.exp(-theta[of])
    variance, noise = math.exp(theta[-2]), math.exp(theta[-1])
    squares = np.zeros((n, n))
    for column in scaled.T:
        some = np.flatnonzero(column)
        if 4 * len(some) < n:  # as of most levels: the distances of the other rows from each other stay as they are
            squares[some] += (column[some, None] - column) ** 2
            squares[:, some] = squares[some].T
        else:
            squares += (column[:, None] - column) ** 2
    value, slope, _ = FAMILIES[family][0](squares)
    k = variance * value
    l = np.linalg.cholesky(k + (noise + 1e-8 * variance) * np.eye(n))
    inverse = np.linalg.inv(l)
    inverse = inverse.T @ inverse
    alpha = inverse @ y
    w = 0.5 * (inverse - np.outer(alpha, alpha))
    g = w * variance * slope
    gradient, every = np.empty(len(theta)), g.sum(1)
    by_input = [(g * (apart := column[:, None] - column) * apart).sum() if wide else 2 * (column * (column * every - g @ column)).sum()
                for column, wide in zip(scaled.T, (np.abs(x) > WIDE).any(0))]
    gradient[:-2] = np.bincount(of, by_input)
    gradient[-2], gradient[-1] = (w * k).sum(), np.trace(w) * noise
    return 0.5 * y @ alpha + np.log(l.diagonal()).sum(), gradient


def check_peaks(model, job, first_pass):
    """Checks that each peak is at one of the two positions next to the estimate (formats.md, 6.2)."""
    rows = first_pass.values(first_pass.reference)
    estimates = estimate(model.scale_features(rows[:len(model.features)].T), model.scale_target(rows), model.meta["kernel"], not model.meta["isotropic"], model.widths)
    for p, at in zip(model.meta["theta"], estimates):
        grid, apart = p["grid"], spacing(p["grid"])
        position = (at - grid["min"]) / (grid["step"] * apart)
        near = [apart * max(0, min((grid["count"] - 1) // apart, k)) for k in (math.floor(position), math.ceil(position))]
        need(grid.get("centre", 0) in near, f"the prior rows put the peak of {p['name']!r} at the index {near[0]} or {near[1]}, the certificate at {grid.get('centre', 0)}")
    ok("the prior of the hyper-parameters follows from the prior rows")


ID = re.compile(r"^(?ai:id|uuid|guid|row_?(id|number|num|no))\Z|(?ai:[_. -]id)\Z|[a-z]I[dD]\Z")


def identifies(name, column, rows):
    """Whether a column resembles an identifier on the prior rows (formats.md, 8)."""
    whole = len(column) >= 20 and bool(np.all(column == np.trunc(column))) and len(np.unique(column)) == len(column)
    return whole and (ID.search(name) is not None or bool(np.all(np.diff(column) > 0)) and np.ptp(column) <= 2 * rows)


def check_default_features(model, job, lake, first_pass):
    """Without a list, the features are all numeric columns that are neither constant nor identifiers on the prior rows."""
    if "features" in job:
        return
    columns = [name for name in lake.default_columns(job["target"], job.get("exclude", []) + unit.labels(job), model.encode) if name not in model.inputs[len(model.features):] + group_column(job)]
    tested = [name for name in columns if name not in model.encode and name != job.get("groups", {}).get("column")]
    need([name for name in columns if name in model.features] == model.features, f"the model has features that are not among the default ones, {columns}")
    if tested:
        found = np.concatenate([block[:, np.isin(first + np.arange(block.shape[1]), first_pass.reference)] for first, block in lake.blocks(tested)], axis=1)
        for name, column in zip(tested, found):
            out = identifies(name, column, lake.rows) or name not in model.features and (np.isnan(column).all() or standardise(column[~np.isnan(column)])[1] == 0)
            need(out == (name not in model.features), f"by the job's rule {name!r} is {'no' if out else 'a'} feature")
    ok("the features are those that the job's rule gives on these data")
