"""Arrow IPC files (Feather 2), whose record batches are shards (format.md, 4.2)."""
import struct

import numpy as np
import pyarrow as pa

from .footer import EXACT, Column
from .pages import seconds, within
from .refusal import Refused, need

MAGIC = b"ARROW1"
MOST_ENTRIES = 1 << 20    # of a dictionary
UNITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}


class ArrowFile:
    """An Arrow file: its columns, and the rows of its record batches."""

    def __init__(self, path):
        self.path = path
        try:
            with open(path, "rb") as f:
                check_blocks(f)
            with pa.memory_map(path) as data, pa.memory_map(path) as head:
                file = pa.ipc.open_file(data)
                head.seek(8)
                first = pa.ipc.open_stream(head).schema
                need(first.equals(file.schema, check_metadata=True), "its head and its footer have different schemas")
                self.columns = [column_of(field, i) for i, field in enumerate(file.schema)]
                self.groups = [file.get_batch(i).num_rows for i in range(file.num_record_batches)]
        except pa.ArrowException as err:
            raise Refused(f"the Arrow file is damaged, or was not written to its end: {err}") from None

    def read(self, group, columns):
        """Yields the values of some columns of a record batch, [len(columns), rows]."""
        with pa.memory_map(self.path) as data:
            batch = pa.ipc.open_file(data).get_batch(group)
            for c in columns:
                batch.column(c.leaf).validate(full=True)
            yield np.stack([numbers(batch.column(c.leaf)) for c in columns])

    def schema(self):
        with pa.memory_map(self.path) as data:
            return pa.ipc.open_file(data).schema

    def batches(self, group, names):
        """The record batch, for texts."""
        with pa.memory_map(self.path) as data:
            yield pa.ipc.open_file(data).get_batch(group)


def check_blocks(f):
    """Demands that no byte belongs to two blocks of the footer: a record batch could else
    be repeated."""
    size = f.seek(0, 2)
    need(size >= 18, "it is too short for an Arrow file")
    f.seek(size - 10)
    length, magic = struct.unpack("<I6s", f.read(10))
    need(magic == MAGIC and length <= size - 18, "the Arrow file was not written to its end")
    f.seek(size - 10 - length)
    footer = f.read(length)
    spans = sorted(block for field in (2, 3) for block in blocks(footer, field))
    need(all(b[0] >= a[0] + a[1] + a[2] for a, b in zip(spans, spans[1:])), "two of its record batches share bytes")


def blocks(footer, field):
    """A vector of (offset, bytes of the description, bytes of the body) in a FlatBuffer."""
    try:
        root, = struct.unpack_from("<I", footer)
        table = root - struct.unpack_from("<i", footer, root)[0]
        slot = 4 + 2 * field
        at = struct.unpack_from("<H", footer, table + slot)[0] if slot < struct.unpack_from("<H", footer, table)[0] else 0
        if not at:
            return []
        at += root
        at += struct.unpack_from("<I", footer, at)[0]
        n, = struct.unpack_from("<I", footer, at)
        need(n <= len(footer) // 24, "a vector that is longer than the footer")
        return [struct.unpack_from("<qi4xq", footer, at + 4 + 24 * i) for i in range(n)]
    except struct.error:
        raise Refused("the footer of the Arrow file is damaged") from None


def column_of(field, place):
    t = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    c = Column(field.name, place, f"of type {field.type}")
    if pa.types.is_floating(t) or pa.types.is_integer(t) or pa.types.is_boolean(t) or pa.types.is_decimal128(t):
        c.use = "numeric"
    elif pa.types.is_date(t):
        c.use, c.meaning = "request", "a time"
    elif pa.types.is_timestamp(t):
        c.use, c.meaning = "request", "a time in UTC" if t.tz else "a local time"
    return c


def numbers(column):
    """A column as float64, NaN for what is null or bad."""
    t = column.type
    if pa.types.is_dictionary(t):
        need(len(column.dictionary) <= MOST_ENTRIES, f"a dictionary of {len(column.dictionary)} values")
        values = np.append(numbers(column.dictionary), np.nan)
        return values[column.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False).astype(np.int64)] if len(values) > 1 else np.full(len(column), np.nan)
    if pa.types.is_floating(t) or pa.types.is_boolean(t):
        return column.to_numpy(zero_copy_only=False).astype(float)
    valid = ~column.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_decimal(t):
        raw = np.frombuffer(column.buffers()[1], "<i8")[2 * column.offset:2 * (column.offset + len(column))].reshape(-1, 2)
        low, high = raw[:, 0].astype(np.int64), raw[:, 1]
        most = 10 ** t.precision - 1
        values = np.where(high == low >> 63, within(low, -most, most), np.nan)
        values = values / 10.0 ** t.scale if 0 <= t.scale <= 22 else np.array([scaled(v, t.scale) for v in values])
    elif pa.types.is_date32(t):
        values = column.cast(pa.int32()).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64) * 86400.0
    elif pa.types.is_date64(t):
        ints = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        values = np.where(ints % 86_400_000 == 0, seconds(ints, 3), np.nan)
    elif pa.types.is_timestamp(t):
        values = seconds(column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False), UNITS[t.unit])
    else:
        ints = column.fill_null(0).to_numpy(zero_copy_only=False)
        values = within(ints if ints.dtype == np.uint64 else ints.astype(np.int64), -EXACT, EXACT)
    return np.where(valid, values, np.nan)


def scaled(v, scale):
    """v·10^−scale, correctly rounded; v is an integer or NaN."""
    return float(f"{int(v)}e{-scale}") if v == v else v
