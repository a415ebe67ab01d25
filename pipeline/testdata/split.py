"""Vectors of the split: keyed hashes, and prior rows of whole samples.

Nothing of ours is imported: hashlib and sorted() are the second implementation.
Made with Python 3; run in this folder: python3 split.py
"""

import csv
import hashlib
import struct

KEYS = ["pacsgp", "", "a", "Schlüssel 7", "x" * 200]
ORDINALS = [0, 1, 2, 255, 256, 65535, 2**31 - 1, 2**32, 2**53 + 1, 2**63 - 1]
ROWS = [0, 1, 9, 10, 19, 20, 300, 2000, 4000, 4001, 50_000, 500_000]


def split_hash(key, ordinal):
    text = b"pacsgp/roles/1\0" + key.encode() + b"\0" + struct.pack(">Q", ordinal)
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "big")


def reference_count(n):
    return min(20000, max(n // 20, min(200, n // 10)))


with open("split_hashes.csv", "w", newline="", encoding="utf-8") as f:
    out = csv.writer(f, lineterminator="\n")
    out.writerow(["key", "ordinal", "hash"])
    for key in KEYS:
        for ordinal in ORDINALS:
            out.writerow([key, ordinal, split_hash(key, ordinal)])

with open("prior_rows.csv", "w", newline="", encoding="utf-8") as f:
    out = csv.writer(f, lineterminator="\n")
    out.writerow(["key", "rows", "reference", "sha256 of the ordinals, ascending, 8 bytes little endian each"])
    for key in ["pacsgp", "other"]:
        for n in ROWS:
            k = reference_count(n)
            chosen = sorted(sorted((split_hash(key, i), i) for i in range(n))[:k], key=lambda pair: pair[1])
            digest = hashlib.sha256(b"".join(struct.pack("<Q", i) for _, i in chosen))
            out.writerow([key, n, k, digest.hexdigest()])
