"""What a pass over the rows finds without the model: digests, roles, copies, neighbours."""
import hashlib
import math
import struct
from fractions import Fraction

import numpy as np

from . import unit
from .encode import filled_rows
from .job import least_reference, mean_column, members, reference_count
from .kernels import in_order
from .lake import BAD
from .refusal import need

START_ROWS = 8000         # of lowest rank, that training starts with


class Digests:
    """Digest of the sample and of its targets (format.md, 4.3 and 4.6), block by block."""

    def __init__(self, lake, columns, targets=True):
        self.of_targets = targets
        self.lake, self.columns, self.shard = lake, columns, None
        self.whole = hashlib.sha256(b"pacsgp/sample/1\0" + struct.pack("<Q", len(lake.groups)))
        self.sum = 0

    def add(self, shard, first, block):
        if shard != self.shard:
            self.close()
            self.shard, self.parts = shard, [hashlib.sha256() for _ in range(self.columns)]
            self.head = b"pacsgp/shard/1\0" + struct.pack("<QQQ", first, self.lake.groups[shard][2], self.columns)
        for part, column in zip(self.parts, block):
            part.update(np.ascontiguousarray(column).astype("<f8").tobytes())
        if not self.of_targets:
            return
        values, times = np.unique(block[-1] + 0.0, return_counts=True)  # -0.0 + 0.0 is 0.0
        for y, n in zip(values.tolist(), times.tolist()):
            y = struct.pack("<d", y) if y == y else BAD.tobytes()
            self.sum += n * int.from_bytes(hashlib.sha256(b"pacsgp/target/1\0" + y).digest(), "little")

    def close(self):
        if self.shard is not None:
            self.whole.update(hashlib.sha256(self.head + b"".join(p.digest() for p in self.parts)).digest())
            self.shard = None

    def found(self):
        self.close()
        targets = hashlib.sha256(b"pacsgp/targets/1\0" + struct.pack("<Q", self.lake.rows) + (self.sum % 2 ** 256).to_bytes(32, "little"))
        return self.whole.hexdigest(), targets.hexdigest()

    def same(self, digest):
        """Demands that the rows are those of an earlier reading."""
        need(self.found()[0] == digest, "the data have changed between two readings")


def ranked_rows(roles, n, k):
    """Ordinals of the hold-out rows and of the outside rows, ascending, and of the k other rows
    of lowest rank, in the order of their rank; with last the hold-out rows are the last ones (format.md, 4.4)."""
    key, apart, first_apart = roles["key"], [], []
    last = roles.get("last")
    for share in (0 if last else roles.get("holdout", 0), roles.get("outside", 0)):
        first_apart.append((first_apart or [1 << 64])[-1] - int(Fraction(share) * (1 << 64)))
    from_row = n - int(roles["holdout"] * n) if last else n
    prefix = b"pacsgp/roles/1\0" + key.encode() + b"\0"
    hashes, ordinals = np.empty(0, np.uint64), np.empty(0, np.int64)
    for first in range(0, n, 1 << 20):
        last = min(n, first + (1 << 20))
        more = np.fromiter((int.from_bytes(hashlib.sha256(prefix + struct.pack(">Q", i)).digest()[:8], "big")
                            for i in range(first, last)), dtype=np.uint64, count=last - first)
        held, out = (more >= np.uint64(least) if least < 1 << 64 else np.zeros(len(more), dtype=bool) for least in first_apart)
        held[max(0, from_row - first):] = out[max(0, from_row - first):] = True
        apart.append([first + np.flatnonzero(held), first + np.flatnonzero(out & ~held)])
        hashes, ordinals = np.append(hashes, more[~out]), np.append(ordinals, first + np.flatnonzero(~out))
        best = np.argsort(hashes, kind="stable")[:k]  # of equal hashes the lower ordinal
        hashes, ordinals = hashes[best], ordinals[best]
    return *(np.concatenate(each) for each in zip(*apart)), ordinals


def standardise(x, within=100):
    """Mean and population standard deviation of the usual values, summed in order
    (format.md, 4.5)."""
    if x.min() == x.max():
        return float(x[0]), 0.0
    ordered, last = np.sort(x), len(x) - 1
    low, middle, high = (ordered[last * i // 10] for i in (1, 5, 9))
    if within * (high - low) > 0:
        x = x[np.abs(x - middle) <= within * (high - low)]
    mean = in_order(0.0, x) / len(x)
    return float(mean), math.sqrt(in_order(0.0, (x - mean) ** 2) / len(x))


def centre(y, mean):
    """What the target is scaled around: the value of more than half of the reference rows, or the mean (format.md, 4.5)."""
    middle = np.sort(y)[(len(y) - 1) // 2]
    return float(middle) + 0.0 if 2 * (y == middle).sum() > len(y) else mean


class Copies:
    """Rows that equal an earlier row, by 128-bit hashes: some 100 bytes a row while they
    are sorted, the one thing here that grows with the rows (format.md, 4.7)."""

    def __init__(self, lake, columns, job):
        self.lake = lake
        every, good, hashes = bytearray(), [], []
        units, self.job = unit.given(job) and unit.Hashes(job), job
        self.read = Digests(lake, len(columns), targets=False)
        strict = [name not in lake.fills for name in columns]
        for shard, first, block in lake.blocks(columns):
            self.read.add(shard, first, block)
            good.append(first + np.flatnonzero(~np.isnan(block[strict]).any(0)))
            block = block[:, good[-1] - first]
            if units:
                hashes += units.of(block).tolist()
            block = np.delete(block, np.s_[len(block) - 1 - len(unit.labels(job)):-1], axis=0)  # rows that differ in these alone are copies
            rows = np.ascontiguousarray((block + 0.0).T)  # -0 equals 0
            whole, data = rows.shape[1] * 8, rows.tobytes()
            for at in range(0, len(data), whole):
                every += hashlib.blake2b(data[at:at + whole], digest_size=16).digest()
        _, first = np.unique(np.frombuffer(every, dtype="V16"), return_index=True)
        good = np.concatenate(good)
        self.bad, self.later = np.ones(lake.rows, dtype=bool), np.zeros(lake.rows, dtype=bool)
        self.bad[good], self.later[good] = False, True
        self.later[good[first]] = False
        self.hashes = np.array(hashes, dtype=np.uint64)
        self.good, self.distinct = good, len(first)

    def of_units(self, holdout):
        """Hold-out rows, reference rows, the others in their order, and the ledger of the units."""
        count = least_reference if self.job["scaling"] == "reference" else lambda n: 0
        return unit.roles(self.job, self.hashes, self.good, (1 << 64) - int(Fraction(holdout) * (1 << 64)), count)

    def counts(self):
        """Those among the good rows."""
        return {"distinct": self.distinct, "repeated": len(self.good) - self.distinct}


def within(ordinals, first, rows):
    return ordinals[(ordinals >= first) & (ordinals < first + rows)]


class Survey:
    """What a pass over the rows finds without the model: copies, digests, neighbours,
    and the rows that scaling, constant and start values come from. It keeps no other
    row."""

    def __init__(self, lake, columns, job):
        self.lake, self.columns, self.job = lake, columns, job
        k = reference_count(lake.rows, job)
        found = Copies(lake, columns, job)
        self.copies, dropped, units = found.counts(), 0, None
        self.gone = found.bad  # rows that are used for nothing
        if job["duplicates"]["policy"] == "drop":
            self.gone, dropped = found.bad | found.later, int(found.later.sum())
        if unit.given(job):
            held, reference, ranked, units = found.of_units(job["roles"].get("holdout", 0))
            outside, k = held[:0], len(reference)
        else:
            held, outside, ranked = ranked_rows(job["roles"], lake.rows, lake.rows if self.gone.any() else max(START_ROWS, k))
            reference = ranked[:k]
        self.holdout, self.outside = self.used(held), self.used(outside)
        self.reference = np.sort(self.used(reference))
        self.start = self.used(ranked)[:max(START_ROWS, k)]  # in the order of their rank
        self.targets_from = self.reference if len(self.reference) else np.sort(self.start[:START_ROWS])
        self.train = lake.rows - len(self.reference) - len(self.holdout) - len(self.outside) - int(self.gone.sum())
        self.counts = {"rows": lake.rows, "prior": len(self.reference), "training": self.train, "holdout": len(self.holdout), "duplicates": dropped,
                       "rejected": int(found.bad.sum()), **members(("outside", len(self.outside)), ("units", units))}
        self.wanted, kept = np.union1d(self.start, self.reference), []
        digests = Digests(lake, len(columns))
        for shard, first, block in lake.blocks(columns):
            digests.add(shard, first, block)
            kept.append(block[:, self.wanted[(self.wanted >= first) & (self.wanted < first + block.shape[1])] - first])
        self.digest, self.targets = digests.found()
        found.read.same(self.digest)
        self.kept = np.concatenate(kept, axis=1)

    def used(self, ordinals):
        return ordinals[~self.gone[ordinals]]

    def is_open(self, first, rows):
        """Which rows from the ordinal first on are reference or train rows."""
        return self.without(self.outside, self.without(self.holdout, ~self.gone[first:first + rows], first), first)

    def is_train(self, first, rows):
        """Which are train rows."""
        return self.without(self.reference, self.is_open(first, rows), first)

    def without(self, others, these, first):
        these[within(others, first, len(these)) - first] = False
        return these

    def values(self, ordinals):
        """Some of the rows that were kept, [columns, len(ordinals)]."""
        return self.kept[:, np.searchsorted(self.wanted, ordinals)]

    def scaling(self, model, encodings):
        """Centre and scale of each column by the reference rows."""
        columns = model.meta["features"] + [model.meta["target"]]
        if self.job["scaling"] != "reference":
            return columns
        rows = filled_rows(encodings, self.columns, self.values(self.reference))
        found = [standardise(column) for column in [*rows[:len(columns) - 1], rows[-1]]]
        found[-1] = 0.0 if mean_column(self.job) else centre(rows[-1], found[-1][0]), found[-1][1]  # the column takes the place of the centre
        return [{"name": a["name"], "centre": c, "scale": s} for a, (c, s) in zip(columns, found)]
