"""Vectors of the marks: two hashes of a row, by which its copies are found.

Nothing of ours is imported: Python's integers are the second implementation.
Made with Python 3; run in this folder: python3 marks.py
"""

import csv
import random
import struct

SEED, SECRET = 0x9E3779B97F4A7C15, 0xFFF5A6E3C94B7D21


def fold(a, b):
    product = a * b
    return (product >> 64) ^ (product % 2**64)


def bits(v):
    return int.from_bytes(struct.pack("<d", v + 0.0), "little")  # -0.0 + 0.0 is 0.0


def marks(row):
    *features, target = map(bits, row)
    h = SEED
    for i in range(0, len(features), 2):
        second = features[i + 1] if i + 1 < len(features) else 0
        h = fold(features[i] ^ SECRET, second ^ h)
    return h, fold(target ^ SECRET, h)


rng = random.Random(1)
rows = [[0.0, 0.0], [-0.0, -0.0], [1.0, 2.0], [2.0, 1.0], [5e-324, 1.7976931348623157e308]]
rows += [[rng.gauss(0, 10 ** rng.uniform(-3, 3)) for _ in range(n)] for n in (2, 3, 4, 5, 6, 11, 12, 40)]
rows += [[float(rng.randrange(-3, 4)) for _ in range(n)] for n in (3, 4, 9)]
with open("marks.csv", "w", newline="", encoding="utf-8") as f:
    out = csv.writer(f, lineterminator="\n")
    out.writerow(["of the features", "of features and target", "values, target last"])
    for row in rows:
        out.writerow([*marks(row), " ".join(map(repr, row))])
