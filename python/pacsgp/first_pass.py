"""What the rows show without the model: digests, splits, equal rows."""
import hashlib
import math
import struct
from fractions import Fraction

import numpy as np

from . import unit
from .encode import value
from .job import mean_column, members, reference_count
from .kernels import in_order
from .lake import BAD

START_ROWS = 8000         # of lowest rank, that training starts with
ENOUGH = 1 << 22          # training rows


def digest(lake, rows):
    """The digest of the rows [columns, n] of a dataset (formats.md, 4.3)."""
    whole, first = hashlib.sha256(b"pacsgp/sample/1\0" + struct.pack("<Q", len(lake.groups))), 0
    for _, _, n in lake.groups:
        parts = b"".join(hashlib.sha256(column[first:first + n].astype("<f8").tobytes()).digest() for column in rows)
        whole.update(hashlib.sha256(b"pacsgp/shard/1\0" + struct.pack("<QQQ", first, n, len(rows)) + parts).digest())
        first += n
    return whole.hexdigest()


def digest_of_targets(targets):
    """The digest of the multiset of targets (formats.md, 4.6)."""
    total = 0
    for y, n in zip(*(each.tolist() for each in np.unique(targets + 0.0, return_counts=True))):  # -0.0 + 0.0 is 0.0
        y = struct.pack("<d", y) if y == y else BAD.tobytes()
        total += n * int.from_bytes(hashlib.sha256(b"pacsgp/target/1\0" + y).digest(), "little")
    return hashlib.sha256(b"pacsgp/targets/1\0" + struct.pack("<Q", len(targets)) + (total % 2 ** 256).to_bytes(32, "little")).hexdigest()


def ranked_rows(split, n, k):
    """Ordinals of the held-out rows and of the outside rows, ascending, and of the k other rows
    of lowest rank, in the order of their rank; with last the held-out rows are the last ones (formats.md, 4.4)."""
    key, apart = split["key"], []
    shares = [int(Fraction(share) * (1 << 64)) for share in (0 if "last" in split else split.get("holdout", 0), split.get("outside", 0))]
    first_apart = [(1 << 64) - sum(shares[:i]) for i in (1, 2)]
    from_row = n - int(split["holdout"] * n) if "last" in split else n
    hashes, ordinals = np.empty(0, np.uint64), np.empty(0, np.int64)
    for first in range(0, n, 1 << 20):
        last = min(n, first + (1 << 20))
        more = np.fromiter((unit.rank(key, i) for i in range(first, last)), dtype=np.uint64, count=last - first)
        held, out = (more > np.uint64(least - 1) for least in first_apart)
        held[max(0, from_row - first):] = out[max(0, from_row - first):] = True
        apart.append([first + np.flatnonzero(held), first + np.flatnonzero(out & ~held)])
        hashes, ordinals = np.append(hashes, more[~out]), np.append(ordinals, first + np.flatnonzero(~out))
        best = np.argsort(hashes, kind="stable")[:k]  # of equal hashes the lower ordinal
        hashes, ordinals = hashes[best], ordinals[best]
    return *(np.concatenate(each) for each in zip(*apart)), ordinals


def standardise(x, within=100):
    """Mean and population standard deviation of the usual values, summed in order (formats.md, 4.5)."""
    if x.min() == x.max():
        return float(x[0]), 0.0
    ordered, last = np.sort(x), len(x) - 1
    low, middle, high = (ordered[last * i // 10] for i in (1, 5, 9))
    if within * (high - low) > 0:
        x = x[np.abs(x - middle) <= within * (high - low)]
    mean = in_order(0.0, x) / len(x)
    return float(mean), math.sqrt(in_order(0.0, (x - mean) ** 2) / len(x))


def centre(y, mean):
    """What the target is scaled around: the value of more than half of the prior rows, or the mean (formats.md, 4.5)."""
    middle = np.sort(y)[(len(y) - 1) // 2]
    return float(middle) + 0.0 if 2 * (y == middle).sum() > len(y) else mean


def enough(train, shards, key):
    """The training rows that least squares are found on, where the shards have so many rows (formats.md, 3.1)."""
    firsts, found = np.cumsum([0, *shards]), train[:0]
    for i in sorted(range(len(shards) if len(train) > ENOUGH else 0), key=lambda i: unit.rank(key, int(firsts[i]))):
        if len(found) < ENOUGH:
            found = np.append(found, train[np.searchsorted(train, firsts[i]):np.searchsorted(train, firsts[i + 1])])
    return np.sort(found) if len(found) else train


class FirstPass:
    """The rows, and what they show without the model: digests, splits, equal rows."""

    def __init__(self, lake, columns, job):
        self.columns, self.job, n = columns, job, lake.rows
        self.rows = np.empty((len(columns), n))
        for first, block in lake.blocks(columns):
            self.rows[:, first:first + block.shape[1]] = block
        self.digest, self.targets = digest(lake, self.rows), digest_of_targets(self.rows[-1])
        gone = np.isnan(self.rows[[name not in lake.fills for name in columns]]).any(0)  # rows that are used for nothing
        good, later = np.flatnonzero(~gone), np.ones(n, dtype=bool)
        compared = self.rows[:, good] + 0.0  # -0 equals 0, and rows that differ in the columns of units alone are equal
        compared = np.ascontiguousarray(np.delete(compared, np.s_[len(columns) - 1 - len(unit.labels(job)):-1], axis=0).T)
        _, first = np.unique(compared.view(f"V{compared.shape[1] * 8}").ravel(), return_index=True)
        later[good[first]] = False  # equals an earlier row (formats.md, 4.7)
        self.duplicates, rejected, dropped, units = {"found": len(good) - len(first)}, int(gone.sum()), 0, None
        if job["duplicates"]["policy"] == "drop":
            gone, dropped = gone | later, len(good) - len(first)
        used, held_out, k = lambda ordinals: ordinals[~gone[ordinals]], job["split"].get("holdout", 0), reference_count(n, job)
        self.ids = None  # of the units of the rows
        if "unit" in job:
            self.ids = np.zeros(n, dtype=np.uint64)
            self.ids[good] = unit.hashes(job, self.rows[:, good])
            held, reference, ranked, units = unit.split(job, self.ids[good], good, (1 << 64) - int(Fraction(held_out) * (1 << 64)), lambda n: reference_count(n, job))
            outside, k = held[:0], len(reference)
        else:
            held, outside, ranked = ranked_rows(job["split"], n, n if gone.any() else max(START_ROWS, k))
            reference = ranked[:k]
        self.holdout, outside, self.reference = used(held), used(outside), np.sort(used(reference))
        self.targets_from = self.reference if len(self.reference) else np.sort(used(ranked)[:START_ROWS])
        gone[self.holdout] = gone[outside] = True
        self.open = np.flatnonzero(~gone)  # reference and training rows
        gone[self.reference] = True
        self.train = np.flatnonzero(~gone)
        self.fitted = np.isin(np.arange(n), enough(self.train, [rows for _, _, rows in lake.groups], job["split"]["key"]))
        self.counts = {"rows": n, "prior": len(self.reference), "training": len(self.train), "holdout": len(self.holdout), "duplicates": dropped,
                       "rejected": rejected, **members(("outside", len(outside)), ("units", units))}

    def values(self, ordinals):
        """Some of the rows, [columns, len(ordinals)]."""
        return self.rows[:, ordinals]

    def scaling(self, model, encodings):
        """Centre and scale of each column by the prior rows."""
        columns = model.meta["features"] + [model.meta["target"]]
        if self.job["scaling"] != "prior":
            return columns
        of = {e["column"]: e for e in encodings}
        rows = [value(of.get(name), v) for name, v in zip(self.columns, self.values(self.reference))]
        found = [standardise(column) for column in [*rows[:len(columns) - 1], rows[-1]]]
        found[-1] = 0.0 if mean_column(self.job) else centre(rows[-1], found[-1][0]), found[-1][1]  # the column replaces the centre
        return [{**a, "centre": c, "scale": s} for a, (c, s) in zip(columns, found)]
