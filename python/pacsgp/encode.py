"""Inputs of encoded features (format.md, 4.8)."""
import math

import numpy as np

from .groups import frequent
from .refusal import need
from .unit import label

LEVELS, PERIODS, LARGEST = 256, 8, 1e30
FREQUENT, FEWEST, MOST = 200, 2, 64  # a value of one in so many reference rows, and of so many, is a level where the job lists none, and so many at most


def width(encoding):
    """How many inputs a feature has; None: it is scaled."""
    return 1 if encoding is None else len(encoding.get("one_hot", [])) + 2 * len(encoding.get("cyclic", []))


def inputs(encoding, v):
    """Those of a feature's values [n], as [n, width]."""
    columns = [(v == level).astype(float) for level in encoding.get("one_hot", [])]
    for period in encoding.get("cyclic", []):
        turns = v / period
        a = 2 * math.pi * ((turns - np.floor(turns)) - 0.5)
        square, x, y = a * a, np.ones_like(a), np.ones_like(a)
        for i in range(28, 0, -2):
            x, y = 1 - square * x / (i * (i - 1)), 1 - square * y / (i * (i + 1))
        columns += [x, a * y]
    return np.stack(columns, axis=1)


def right(encodings):
    """Whether encodings whose levels are known are in their form."""
    def ascending(values, least, most):
        return len(values) <= most and all(least <= v <= LARGEST and not (v == 0 and math.copysign(1, v) < 0) for v in values) and all(a < b for a, b in zip(values, values[1:]))
    return (all(a["column"] < b["column"] for a, b in zip(encodings, encodings[1:]))
            and all(bool(e.get("one_hot")) != bool(e.get("cyclic")) and ascending(e.get("one_hot", []), -LARGEST, LEVELS) and ascending(e.get("cyclic", []), 1 / LARGEST, PERIODS)
                    and ("texts" not in e or e.get("one_hot") == [label(text.encode()) for text in e["texts"]]) for e in encodings))


def open_levels(encoding):
    """Whether the levels are those of the reference rows."""
    return not encoding.get("one_hot") and not encoding.get("cyclic")


def fits(job):
    """Whether the settings allow the encodings of a job."""
    encodings, scaling = job.get("encode", []), job["scaling"]
    names = {e["column"] for e in encodings}
    others = {job["target"], job.get("mean", {}).get("column"), *job.get("exclude", []), *job.get("unit", {}).get("columns", []), *scaling.get("features", {})}
    return (right(filled(encodings, lambda column: [0.0])) and not names & others and ("features" not in job or names <= {*job["features"]})
            and not ("texts" in job.get("groups", {}) and job["groups"]["column"] in names)
            and (scaling["mode"] == "reference" or not any(map(open_levels, encodings))))


def filled(encodings, levels):
    """The encodings with levels, those that the job does not list by a function of the column."""
    return [{**e, "one_hot": levels(e["column"])} if open_levels(e) and "texts" not in e else e for e in encodings]


def seen(job, columns, rows):
    """The encodings with the frequent values of the reference rows [columns, n]."""
    found = filled(job.get("encode", []), lambda column: frequent(rows[columns.index(column)], FREQUENT, FEWEST, MOST))
    need(not any(map(open_levels, found)), "no value of an encoded column is frequent on the reference rows")
    return found


def stated(job, model):
    """The encodings with the levels of the model."""
    return filled(job.get("encode", []), lambda column: model.encode.get(column, {}).get("one_hot", []))


def texts(encodings):
    """The texts of levels by their numbers, by column."""
    return {e["column"]: {label(text.encode()): text.encode() for text in e["texts"]} for e in encodings if "texts" in e}


def may_be_text(encodings):
    """The columns that are read as labels where they are text."""
    return [e["column"] for e in encodings if "cyclic" not in e]
