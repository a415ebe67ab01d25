"""Vectors of the digest of the targets: a sum of hashes that knows no order.

Nothing of ours is imported: Python's integers are the second implementation.
Made with Python 3; run in this folder: python3 targets.py
"""

import csv
import hashlib
import random
import struct


def targets(values):
    total = 0
    for v in values:
        h = hashlib.sha256(b"pacsgp/target/1\0" + struct.pack("<d", v + 0.0)).digest()  # -0.0 + 0.0 is 0.0
        total += int.from_bytes(h, "little")
    return hashlib.sha256(b"pacsgp/targets/1\0" + struct.pack("<Q", len(values)) + (total % 2**256).to_bytes(32, "little")).hexdigest()


rng = random.Random(1)
samples = [[], [0.0], [-0.0], [1.0], [-1.0], [0.0, 0.0], [5e-324], [1.7976931348623157e308, -1.7976931348623157e308], [0.1, 0.2, 0.3]]
samples += [[rng.gauss(0, 10 ** rng.uniform(-3, 3)) for _ in range(n)] for n in (2, 3, 10, 17, 100)]
with open("targets.csv", "w", newline="", encoding="utf-8") as f:
    out = csv.writer(f, lineterminator="\n")
    out.writerow(["digest", "values"])
    for values in samples:
        out.writerow([targets(values), " ".join(map(repr, values))])
