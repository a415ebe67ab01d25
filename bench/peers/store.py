"""A Parquet file in a store into float64 arrays by pyarrow, from the store of the AWS_* variables.

    store.py SECONDS BUCKET/KEY

prints for each way a line of JSON: {"way", "mb_per_s"}, the median rate in 10^6 bytes of float64 a second over as
many readings as the seconds allow, three at least. "row-group" reads row group by row group, "read_table" at once;
both read ahead, in as many threads as pyarrow likes.
"""
import json
import os
import statistics
import sys
import time

import numpy as np
import pyarrow.fs as fs
import pyarrow.parquet as pq


def arrays(table):
    pieces = (c.chunk(0) if c.num_chunks == 1 else c.combine_chunks() for c in table.columns)
    return [np.asarray(p.to_numpy(zero_copy_only=False), dtype=np.float64) for p in pieces]


def by_row_group(store, path):
    with pq.ParquetFile(path, filesystem=store, pre_buffer=True) as file:
        for i in range(file.num_row_groups):
            arrays(file.read_row_group(i))


def by_table(store, path):
    arrays(pq.read_table(path, filesystem=store, pre_buffer=True))


def main(budget, path):
    store = fs.S3FileSystem(endpoint_override=os.environ["AWS_ENDPOINT_URL"], region=os.environ["AWS_REGION"])
    with pq.ParquetFile(path, filesystem=store) as file:
        size = 8 * file.metadata.num_rows * file.metadata.num_columns / 1e6
    for way, read in (("row-group", by_row_group), ("read_table", by_table)):
        read(store, path)
        took, end = [], time.perf_counter() + float(budget)
        while len(took) < 3 or time.perf_counter() < end:
            start = time.perf_counter()
            read(store, path)
            took.append(time.perf_counter() - start)
        print(json.dumps({"way": way, "mb_per_s": size / statistics.median(took)}))


main(*sys.argv[1:])
