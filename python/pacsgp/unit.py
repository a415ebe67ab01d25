"""Units: sets of rows that are the independent examples (format.md, 4.4)."""
import hashlib
import struct

import numpy as np

from .losses import UNIT
from .refusal import need

LEAST = 30                # units in a role
MOST = 1 << 18            # units of a sample
ROWS = 40_000             # of reference units


def given(job):
    """The declared units of a job, or None."""
    return job.get("unit")


def labels(job):
    """The columns that tell units apart."""
    return (given(job) or {}).get("columns", [])


def label(text):
    """The number of a text."""
    return float(int.from_bytes(hashlib.sha256(b"pacsgp/label/1\0" + text).digest()[:8], "big") >> 11)


def examples(counts, role):
    """How many independent examples have a role."""
    return counts.get("units", counts)[role]


class Hashes:
    """The keyed hashes of the units of rows, of which the target is the last column."""

    def __init__(self, job):
        self.unit, self.known = given(job), {}
        self.prefix = b"pacsgp/roles/unit/1\0" + job["roles"]["key"].encode() + b"\0"

    def of(self, block):
        """Those of the rows of a block, [columns, rows]."""
        keys = (block[-1 - len(self.unit["columns"]):-1] + 0.0).T  # -0 equals 0
        data, width = np.ascontiguousarray(keys).astype("<f8").tobytes(), 8 * keys.shape[1]
        return np.array([self.one(data[at:at + width]) for at in range(0, len(data), width)], dtype=np.uint64)

    def one(self, text):
        if text not in self.known:
            need(len(self.known) <= 2 * MOST, "there are more units than are read")
            self.known[text] = int.from_bytes(hashlib.sha256(self.prefix + text).digest()[:8], "big")
        return self.known[text]


def roles(job, hashes, good, least, count):
    """Ordinals of the hold-out rows and of the reference rows, those of all others in the order in which they become
    start rows, and the counts of the units. Hashes are of good rows; hold-out units have at least a hash, and
    count(n) of n units are reference units."""
    units, rows = np.unique(hashes, return_counts=True)
    need(len(units) <= MOST, f"there are more than {MOST} units")
    held = units >= np.uint64(least) if least < 1 << 64 else np.zeros(len(units), dtype=bool)
    k = min(count(len(units)), int((~held).sum()))
    need(rows[:k].sum() <= ROWS, "the reference units have too many rows")
    counts = {**given(job), "prior": k, "training": int((~held).sum()) - k, "holdout": int(held.sum()), "largest": int(rows.max())}
    need(counts["training"] >= LEAST and (least == 1 << 64 or counts["holdout"] >= LEAST), f"fewer than {LEAST} units have a role")
    apart = np.isin(hashes, units[held])
    order = np.lexsort((good, hashes))
    lowest = order[~apart[order]][:ROWS]
    late = ~np.isin(hashes[lowest], units[:k])
    prefix = b"pacsgp/roles/1\0" + job["roles"]["key"].encode() + b"\0"
    ranks = np.array([int.from_bytes(hashlib.sha256(prefix + struct.pack(">Q", i)).digest()[:8], "big") for i in good[lowest].tolist()], dtype=np.uint64)
    return good[apart], good[lowest[~late]], good[lowest[np.lexsort((good[lowest], ranks, late))]], counts


class Sums:
    """Sums over the rows of each unit."""

    def __init__(self):
        self.units = {}

    def add(self, hashes, *values):
        """Adds whole numbers, or float64 numbers, of rows, or several Booleans of each."""
        found, place = np.unique(hashes, return_inverse=True)
        for i, unit in enumerate(found.tolist()):
            mine = place == i
            old = self.units.get(unit, (0,) * (1 + len(values)))
            self.units[unit] = (old[0] + int(mine.sum()), *(o + (v[mine].sum(axis=0) if v.ndim > 1 else whole(v[mine]) if v.dtype.kind == "i" else float(v[mine].sum())) for o, v in zip(old[1:], values)))

    def means(self, i, up):
        """The sum of the means of whole numbers, each rounded."""
        return sum(-(-s[1 + i] // s[0]) if up else s[1 + i] // s[0] for s in self.units.values())

    def averages(self, i):
        return np.array([s[1 + i] / s[0] for s in self.units.values()])


def whole(each):
    """The sum of int64 that may overflow."""
    return (int((each >> 30).sum()) << 30) + int((each & ((1 << 30) - 1)).sum())


def in_units(losses, up):
    """Losses in units of 2^-60, rounded."""
    need(((0 <= losses) & (losses <= 1)).all(), "a loss is outside [0, 1]")
    return (np.ceil if up else np.floor)(losses * float(UNIT)).astype(np.int64)


def check(job):
    """Whether the settings go with units, if there are some."""
    columns, methods = labels(job), job.get("guarantees", [])
    return given(job) is None or bool(columns and len({*columns}) == len(columns) and not {job["target"], *job.get("features", [])} & {*columns} and "mean" not in job
                                      and "last" not in job["roles"] and "curve" not in methods)


def check_units(cert, job):
    """The units that a certificate states do not contradict the job."""
    found, counts = cert["counts"].get("units"), cert["counts"]
    need((found is None) == (given(job) is None), "job and certificate do not agree on whether there are units")
    if found is None:
        return
    need(found["columns"] == labels(job) and "segments" not in cert["dataset"], "the units are by other columns, or of rows of a log")
    for role, least in (("prior", 1), ("training", LEAST), ("holdout", LEAST)):
        need((counts[role] > 0) == (found[role] > 0) and found[role] <= counts[role] and (counts[role] == 0 or found[role] >= least), f"{found[role]} units of {counts[role]} {role} rows")
    rows, units = (sum(of[role] for role in ("prior", "training", "holdout")) for of in (counts, found))
    need(1 <= found["largest"] <= rows - units + 1 and found["largest"] * units >= rows, f"the largest of {units} units has {found['largest']} of {rows} rows")
