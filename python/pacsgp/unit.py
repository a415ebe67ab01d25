"""Units: sets of rows that are the independent examples (formats.md, 4.4)."""
import hashlib
import struct

import numpy as np

from .losses import whole
from .refusal import need

LEAST = 30                # units in a subset
MOST = 1 << 18            # units of a sample
ROWS = 40_000             # of reference units
labels = lambda job: job.get("unit", {}).get("columns", [])  # the columns that tell units apart


def label(text):
    """The number of a text."""
    return float(int.from_bytes(hashlib.sha256(b"pacsgp/label/1\0" + text).digest()[:8], "big") >> 11)


def examples(counts, subset):
    """The number of independent examples in a subset."""
    return counts.get("units", counts)[subset]


def hashes(job, rows):
    """The keyed hashes of the units of rows [columns, n], of which the target is the last."""
    keys = np.ascontiguousarray((rows[-1 - len(labels(job)):-1] + 0.0).T).astype("<f8")  # -0 equals 0
    found, at = np.unique(keys.view(f"V{keys.shape[1] * 8}").ravel(), return_inverse=True)
    prefix = b"pacsgp/roles/unit/1\0" + job["split"]["key"].encode() + b"\0"
    return np.array([int.from_bytes(hashlib.sha256(prefix + key.tobytes()).digest()[:8], "big") for key in found], dtype=np.uint64)[at]


def rank(key, ordinal):
    """The hash that splits the rows (formats.md, 4.4)."""
    return int.from_bytes(hashlib.sha256(b"pacsgp/roles/1\0" + key.encode() + b"\0" + struct.pack(">Q", ordinal)).digest()[:8], "big")


def split(job, hashes, good, least, count):
    """Ordinals of the held-out rows and of the prior rows, those of all others in the order in which they become
    start rows, and the counts of the units. Hashes are of good rows; held-out units have at least a hash, and
    count(n) of n units are reference units."""
    units, rows = np.unique(hashes, return_counts=True)
    need(len(units) <= MOST, f"there are more than {MOST} units")
    held = units > np.uint64(least - 1)
    k = min(count(len(units)), int((~held).sum()))
    need(rows[:k].sum() <= ROWS, "the reference units have too many rows")
    counts = {**job["unit"], "prior": k, "training": int((~held).sum()) - k, "holdout": int(held.sum()), "largest": int(rows.max())}
    need(counts["training"] >= LEAST and (least == 1 << 64 or counts["holdout"] >= LEAST), f"fewer than {LEAST} units are in a subset")
    apart = np.isin(hashes, units[held])
    order = np.lexsort((good, hashes))
    lowest = order[~apart[order]][:ROWS]
    late = ~np.isin(hashes[lowest], units[:k])
    ranks = np.array([rank(job["split"]["key"], i) for i in good[lowest].tolist()], dtype=np.uint64)
    return good[apart], good[lowest[~late]], good[lowest[np.lexsort((good[lowest], ranks, late))]], counts


def by_unit(ids, each):
    """Numbers of rows, those of each unit apart."""
    order = np.argsort(ids, kind="stable")
    return np.split(each[order], np.flatnonzero(np.diff(ids[order])) + 1)


def means(ids, each, up):
    """The sum of the means of whole numbers by unit, each rounded."""
    return sum(-(-whole(part) // len(part)) if up else whole(part) // len(part) for part in by_unit(ids, each))


def check(job):
    """Whether the settings allow units, if there are any."""
    columns, methods = labels(job), job.get("guarantees", [])
    return "unit" not in job or bool(columns and len({*columns}) == len(columns) and not {job["target"], *job.get("features", [])} & {*columns} and "mean" not in job
                                      and "last" not in job["split"] and "curve" not in methods and job["duplicates"]["policy"] != "drop")


def check_units(cert, job):
    """The units that a certificate states do not contradict the job."""
    found, counts = cert["counts"].get("units"), cert["counts"]
    need((found is None) == ("unit" not in job), "job and certificate do not agree on whether there are units")
    if found is None:
        return
    need(found["columns"] == labels(job) and "segments" not in cert["dataset"], "the units are by other columns, or of rows of a log")
    for subset, least in (("prior", 1), ("training", LEAST), ("holdout", LEAST)):
        need((counts[subset] > 0) == (found[subset] > 0) and found[subset] <= counts[subset] and (counts[subset] == 0 or found[subset] >= least), f"{found[subset]} units of {counts[subset]} {subset} rows")
    rows, units = (sum(of[subset] for subset in ("prior", "training", "holdout")) for of in (counts, found))
    need(1 <= found["largest"] <= rows - units + 1 and found["largest"] * units >= rows, f"the largest of {units} units has {found['largest']} of {rows} rows")
