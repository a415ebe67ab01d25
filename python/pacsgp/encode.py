"""Inputs of encoded features (formats.md, 4.8)."""
import math

import numpy as np

from .groups import frequent
from .refusal import need

LEVELS, PERIODS = 256, 8
LARGEST = 1e30            # the largest magnitude of a number
FREQUENT, FEWEST, MOST = 200, 2, 64  # a value of one in so many prior rows, and of so many, is a level where the job lists none, and so many at most
may_be_text = lambda encodings: [e["column"] for e in encodings if "cyclic" not in e and "scaled" not in e]  # the columns that are read as labels where they are text
open_levels = lambda encoding: not encoding.get("one_hot") and not encoding.get("cyclic") and "scaled" not in encoding  # whether they are those of the prior rows
open_fill = lambda encoding: "fill" in encoding and "with" not in encoding["fill"]  # whether it is the median of the prior rows
fills = lambda encodings: {e["column"] for e in encodings if "fill" in e}  # the columns with something that stands for missing values


def width(encoding):
    """The number of inputs of a feature. The encoding None means that it is only scaled."""
    return 1 if encoding is None else ("scaled" in encoding) + len(encoding.get("one_hot", [])) + 2 * len(encoding.get("cyclic", [])) + ("flag" in encoding.get("fill", {}))


def value(encoding, v):
    """The values [n] of a feature, with missing ones filled."""
    return np.where(np.abs(v) <= LARGEST, v, encoding["fill"]["with"]) if encoding and "fill" in encoding else v


def inputs(encoding, v, centre, scale):
    """The inputs [n, width] for a feature's values [n]."""
    flag = [(~(np.abs(v) <= LARGEST)).astype(float)] if "flag" in encoding.get("fill", {}) else []
    v = value(encoding, v)
    columns = [(v - centre) / scale] if "scaled" in encoding else []
    columns += [(v == level).astype(float) for level in encoding.get("one_hot", [])]
    for period in encoding.get("cyclic", []):
        revolutions = v / period
        a = 2 * math.pi * ((revolutions - np.floor(revolutions)) - 0.5)
        square, x, y = a * a, np.ones_like(a), np.ones_like(a)
        for i in range(28, 0, -2):
            x, y = 1 - square * x / (i * (i - 1)), 1 - square * y / (i * (i + 1))
        columns += [x, a * y]
    return np.stack(columns + flag, axis=1)


def right(encodings):
    """Whether encodings whose levels are known are in their form."""
    def ascending(values, least, most):
        return len(values) <= most and all(least <= v <= LARGEST and not (v == 0 and math.copysign(1, v) < 0) for v in values) and all(a < b for a, b in zip(values, values[1:]))
    return (all(a["column"] < b["column"] for a, b in zip(encodings, encodings[1:]))
            and all(bool(e.get("one_hot")) + bool(e.get("cyclic")) + ("scaled" in e) == 1 and ("fill" in e or "scaled" not in e) and ascending([e.get("fill", {"with": 0.0}).get("with", math.nan)], -LARGEST, 1) and ascending(e.get("one_hot", []), -LARGEST, LEVELS) and ascending(e.get("cyclic", []), 1 / LARGEST, PERIODS) for e in encodings))


def fits(job):
    """Whether the settings allow the encodings of a job."""
    encodings, scaling = job.get("encode", []), job["scaling"]
    names = {e["column"] for e in encodings}
    others = {job["target"], job.get("mean", {}).get("column"), *job.get("exclude", []), *job.get("unit", {}).get("columns", [])}
    return (right(filled(encodings, lambda e: [0.0], lambda column: 0.0)) and not names & others and ("features" not in job or names <= {*job["features"]})
            and not ("texts" in job.get("groups", {}) and job["groups"]["column"] in names)
            and (scaling == "prior" or not any(open_levels(e) or open_fill(e) for e in encodings))
            and job.get("groups", {}).get("column") not in fills(encodings) and not any(open_fill(e) and not ("scaled" in e or e.get("cyclic")) for e in encodings))


def filled(encodings, levels, median):
    """The encodings with all that the job leaves open: what stands for missing values, by the column, and then levels."""
    every = [{**e, "fill": {"with": median(e["column"]), **e["fill"]}} if open_fill(e) else e for e in encodings]
    return [{**e, "one_hot": levels(e)} if open_levels(e) else e for e in every]


def seen(job, columns, rows):
    """The encodings with medians and frequent values of the prior rows [columns, n]."""
    def median(column):
        v = np.sort(rows[columns.index(column)])
        v = v[np.abs(v) <= LARGEST]
        need(len(v), "a filled column has no value on the prior rows")
        return float(v[(len(v) - 1) // 2]) + 0.0
    found = filled(job.get("encode", []), lambda e: frequent(value(e, rows[columns.index(e["column"])]), FREQUENT, FEWEST, MOST), median)
    need(not any(map(open_levels, found)), "no value of an encoded column is frequent on the prior rows")
    return found


def stated(job, model):
    """The encodings with medians and levels of the model."""
    return filled(job.get("encode", []), lambda e: model.encode.get(e["column"], {}).get("one_hot", []), lambda column: model.encode.get(column, {}).get("fill", {}).get("with", math.nan))
