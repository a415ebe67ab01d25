"""Parquet files into float64 arrays by pyarrow, in one thread.

A case is {"path", "seconds"}, a file and the time to spend on it; the answer has for each way the median rate in 10^6
bytes of float64 a second (rows x columns x 8). The ways: "row-group" reads row group by row
group, as a program of bounded memory does; "row-group-checked" has pyarrow compare the pages' checksums too, which it
does not by default; "read_table" reads the file at once. Each way first tries pyarrow's allocators, and the file read
and mapped, and keeps the fastest.
"""
import itertools
import statistics
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from serve import serve


def arrays(table):
    """The columns as float64 arrays; one piece without nulls is not copied."""
    pieces = (c.chunk(0) if c.num_chunks == 1 else c.combine_chunks() for c in table.columns)
    return [np.asarray(p.to_numpy(zero_copy_only=False), dtype=np.float64) for p in pieces]


# Reading ahead (pre_buffer) would be another thread's work.


def by_row_group(path, **settings):
    with pq.ParquetFile(path, pre_buffer=False, **settings) as file:
        for i in range(file.num_row_groups):
            arrays(file.read_row_group(i, use_threads=False))


def by_row_group_checked(path, **settings):
    by_row_group(path, page_checksum_verification=True, **settings)


def by_table(path, **settings):
    arrays(pq.read_table(path, use_threads=False, pre_buffer=False, **settings))


WAYS = {"row-group": by_row_group, "row-group-checked": by_row_group_checked, "read_table": by_table}


def seconds(read, path, pool, mapped):
    pa.set_memory_pool(pool)
    start = time.perf_counter()
    read(path, memory_map=mapped)
    return time.perf_counter() - start


def median(read, path, budget):
    """Seconds a reading, in the fastest setting, over as many readings as the budget allows, three at least."""
    end = time.perf_counter() + budget
    pools = [getattr(pa, name + "_memory_pool")() for name in pa.supported_memory_backends()]
    settings = list(itertools.product(pools, (False, True)))
    took = [min(seconds(read, path, *s) for _ in range(2)) for s in settings]
    best = settings[took.index(min(took))]
    times = []
    while len(times) < 3 or time.perf_counter() < end:
        times.append(seconds(read, path, *best))
    return statistics.median(times)


def answer(case):
    meta = pq.read_metadata(case["path"])
    size = meta.num_rows * meta.num_columns * 8 / 1e6
    return {way: size / median(read, case["path"], case["seconds"] / len(WAYS)) for way, read in WAYS.items()}


if __name__ == "__main__":
    serve(answer)
