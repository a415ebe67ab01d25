"""Splits a data set as the paper's experiments do, gives the rows their roles (docs/format.md, 4.4 and 4.5), and writes two forms
of the same job: OUT/train/rows.parquet for ours, OUT/rows.npz, scaled, for the peers.

    rows.py DATA TARGET SEED OUT
"""
import hashlib
import pathlib
import struct
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def main():
    data, target, seed, out = sys.argv[1], sys.argv[2], int(sys.argv[3]), pathlib.Path(sys.argv[4])
    table = pa.concat_tables(pq.read_table(f) for f in sorted(pathlib.Path(data).glob("*.parquet")))
    n = table.num_rows
    train = np.ones(n, dtype=bool)
    train[np.random.RandomState(seed).permutation(n)[:-(-n // 5)]] = False
    table = table.filter(pa.array(train))
    (out / "train").mkdir(parents=True, exist_ok=True)
    pq.write_table(table, out / "train" / "rows.parquet")

    n = table.num_rows
    prefix = b"pacsgp/roles/1\0pacsgp\0"
    hashes = np.array([int.from_bytes(hashlib.sha256(prefix + struct.pack(">Q", i)).digest()[:8], "big") for i in range(n)], dtype=np.uint64)
    order = np.argsort(hashes, kind="stable")
    count = min(20_000, max(n // 20, min(200, n // 10)))
    features = sorted(c for c in table.column_names if c != target)
    values = np.column_stack([table[c].to_numpy() for c in [*features, target]]).astype(np.float64)
    reference = values[order[:count]]
    keep = [j for j in range(len(features)) if reference[:, j].std() > 0] + [len(features)]
    scaled = ((values - reference.mean(0))[:, keep]) / reference.std(0)[keep]
    rest = np.sort(order[count:])
    np.savez(out / "rows.npz", x=scaled[rest, :-1], y=scaled[rest, -1], xr=scaled[order[:count], :-1], yr=scaled[order[:count], -1])


main()
