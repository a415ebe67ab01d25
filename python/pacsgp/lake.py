"""Rows of the files of a lake (format.md, 4)."""
import datetime
import math
import os
import re
import urllib.parse

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from .refusal import Refused, need

READ = 1 << 16            # rows read at once


def data_files(paths):
    """Files in the order of their rows (format.md, 4.1)."""
    seen, files = set(), []
    for path in paths:
        found = [path] if not os.path.isdir(path) else [
            os.path.join(folder, name)
            for folder, folders, names in os.walk(path, followlinks=True)
            for name in names
            if name.lower().endswith((".parquet", ".parq", ".pq")) and not name.startswith(("_", "."))
            and not any(part.startswith(("_", ".")) for part in os.path.relpath(folder, path).split(os.sep) if part != ".")]
        need(found, f"{path} holds no data file (this program reads Parquet alone, no Arrow files)")
        for f in sorted(found, key=lambda p: os.path.normpath(p).replace(os.sep, "/").encode()):
            real = os.path.realpath(f)
            if real not in seen:
                seen.add(real)
                files.append(f)
    return files


def hive_keys(path):
    keys = {}
    for part in os.path.dirname(path).replace(os.sep, "/").split("/"):
        name, equals, value = part.partition("=")
        if equals and name:
            keys[urllib.parse.unquote(name)] = urllib.parse.unquote(value)
    return keys


def hive_number(value):
    """A key's value, or NaN for a text, which a date is too."""
    if not re.fullmatch(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?", value):
        return math.nan
    return float(value) if math.isfinite(float(value)) else math.nan


def numbers(column, name):
    """A column as float64, with NaN for what is null (format.md, 4.2)."""
    t = column.type
    if isinstance(t, pa.DictionaryType):
        return numbers(column.dictionary_decode(), name)
    if isinstance(t, pa.BaseExtensionType):
        return numbers(column.storage, name)
    if pa.types.is_duration(t):  # that it is no plain integer only Arrow's own note says
        column, t = column.cast(pa.int64()), pa.int64()
    if pa.types.is_float32(t) or pa.types.is_float64(t) or pa.types.is_boolean(t):
        return column.cast(pa.float64()).to_numpy(zero_copy_only=False).astype(float)
    valid = ~column.is_null().to_numpy(zero_copy_only=False)
    divisor = 1
    if pa.types.is_decimal(t):
        divisor = 10 ** t.scale
        ints = [0 if v is None else int(v.scaleb(t.scale)) for v in column.to_pylist()]
    elif pa.types.is_date(t):
        epoch = datetime.date(1970, 1, 1)
        ints = [0 if v is None else (v - epoch).days * 86400 for v in column.to_pylist()]
    elif pa.types.is_timestamp(t):
        divisor = {"s": 1, "ms": 10 ** 3, "us": 10 ** 6, "ns": 10 ** 9}[t.unit]
        ints = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    elif pa.types.is_integer(t):
        ints = column.fill_null(0).to_numpy(zero_copy_only=False)
    else:
        raise Refused(f"column {name!r} of type {t} is no number")
    time = pa.types.is_timestamp(t)
    if isinstance(ints, np.ndarray) and all(abs(int(b)) <= 2 ** 53 for b in (ints.min(initial=0), ints.max(initial=0))):
        values = ints.astype(float) / divisor
    else:  # Python divides integers correctly rounded
        values = np.array([int(v) / divisor if time or abs(int(v)) <= 2 ** 53 else math.nan for v in ints], dtype=float)
    return np.where(valid, values, np.nan)


BAD = np.frombuffer(b"\1\0\0\0\0\0\xf8\x7f", "<f8")[0]  # what a digest takes a bad cell for


class Lake:
    """The rows of the files that the paths mean, read in blocks. Unless bad rows are
    tolerated, the first one is an error."""

    tolerant = False

    def __init__(self, paths):
        self.files = data_files(paths)
        self.groups = []  # (file, row group, rows), one for each shard
        for path in self.files:
            meta = pq.ParquetFile(path).metadata
            self.groups += [(path, g, meta.row_group(g).num_rows) for g in range(meta.num_row_groups) if meta.row_group(g).num_rows]
        self.rows = sum(rows for _, _, rows in self.groups)

    def blocks(self, columns):
        """Yields (shard, first ordinal, values [len(columns), rows]) in the order of the rows."""
        first, opened = 0, None
        for shard, (path, g, _) in enumerate(self.groups):
            if opened != path:
                f, keys, opened = pq.ParquetFile(path), hive_keys(path), path
                stored = [c for c in columns if c in f.schema_arrow.names]
                for name in columns:
                    need((name in stored) + (name in keys) == 1, f"{path} has no column {name!r}, or two")
            for batch in f.iter_batches(batch_size=READ, row_groups=[g], columns=stored):
                out = np.empty((len(columns), batch.num_rows))
                for j, name in enumerate(columns):
                    out[j] = numbers(batch.column(batch.schema.get_field_index(name)), name) if name in stored else hive_number(keys[name])
                bad = ~np.isfinite(out)
                need(self.tolerant or not bad.any(), f"row {first + int(bad.any(0).argmax())} breaks the row rules")
                out[bad] = BAD
                yield shard, first, out
                first += batch.num_rows

    def default_columns(self, target, exclude):
        """The numeric columns that all files have, sorted bytewise, without the target
        and what is excluded; times have to be asked for."""
        def numeric(t):
            t = t.value_type if isinstance(t, pa.DictionaryType) else t
            t = t.storage_type if isinstance(t, pa.BaseExtensionType) else t
            return pa.types.is_integer(t) or pa.types.is_duration(t) or pa.types.is_float32(t) or pa.types.is_float64(t) or pa.types.is_boolean(t) or pa.types.is_decimal(t)
        keys = [hive_keys(path) for path in self.files]
        texts = {name for k in keys for name, value in k.items() if math.isnan(hive_number(value))}
        common = None
        for path, k in zip(self.files, keys):
            schema = pq.ParquetFile(path).schema_arrow
            every = schema.names + list(k)
            usable = {f.name for f in schema if numeric(f.type)} | (k.keys() - texts)
            usable = {name for name in usable if every.count(name) == 1 and name}
            common = usable if common is None else common & usable
        return sorted(common - {target, *exclude}, key=str.encode)
