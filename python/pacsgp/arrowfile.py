"""Arrow IPC files (Feather 2), whose record batches are shards (format.md, 4.2)."""
import struct

import numpy as np
import pyarrow as pa

from .flatbuffer import WRONG, Flat, check_batch, check_pairs, check_schema
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
        with open(path, "rb") as f:
            self.groups = described(f)
        try:
            with pa.memory_map(path) as data:
                file = pa.ipc.open_file(data)
                self.columns = [column_of(field, i) for i, field in enumerate(file.schema)]
                for i, rows in enumerate(self.groups):
                    batch = file.get_batch(i)
                    need(batch.num_rows == rows, WRONG)
        except (pa.ArrowException, OSError) as err:
            raise Refused(f"{WRONG}: {err}") from None

    def read(self, group, columns, _grouped):
        """Yields the values of some columns of a record batch, [len(columns), rows], none of which is text."""
        with pa.memory_map(self.path) as data:
            batch = pa.ipc.open_file(data).get_batch(group)
            read = [batch.column(c.leaf) for c in columns]
            try:
                for column in read:
                    column.validate()
            except pa.ArrowException as err:
                raise Refused(f"{WRONG}: {err}") from None
            yield np.stack([numbers(column) for column in read])

    def schema(self):
        with pa.memory_map(self.path) as data:
            return pa.ipc.open_file(data).schema

    def batches(self, group, names):
        """The record batch, for texts."""
        with pa.memory_map(self.path) as data:
            yield pa.ipc.open_file(data).get_batch(group)


def described(f):
    """The rows of each record batch, once all descriptions were read. No byte belongs to two
    blocks of the footer: a record batch could else be repeated."""
    size = f.seek(0, 2)
    need(size >= 18, "it is too short for an Arrow file")
    length, magic = struct.unpack("<I6s", read(f, size - 10, 10))
    need(magic == MAGIC and length <= size - 18, "the Arrow file was not written to its end")
    end = size - 10 - length
    version, schema, dictionaries, batches, pairs = Flat(read(f, end, length)).table("Footer")
    need(schema is not None, WRONG)
    known = check_schema(schema, version)
    check_pairs(pairs)
    need(message(f, 8, None, end, version, 1)[0] == schema, "its head and its footer have different schemas")
    dictionaries, batches = dictionaries or [], batches or []
    spans = sorted(dictionaries + batches)
    need(all(b[0] >= a[0] + a[1] + a[2] for a, b in zip(spans, spans[1:])), "two of its record batches share bytes")
    need(all(o >= 8 and d >= 8 and b >= 0 and o + d + b <= end and not (o | d | b) % 8 for o, d, b in spans), WRONG)
    found = []
    for offset, description, body in dictionaries:
        (number, batch, delta), size = message(f, offset, description, end, version, 2)
        need(batch is not None and not delta and size == body, WRONG)
        found.append(number or 0)
        need(found[-1] in known, WRONG)
        check_batch(batch, [known[found[-1]]], body, True)
    need(sorted(found) == sorted(known) or not batches and not found, WRONG)
    rows = []
    for offset, description, body in batches:
        batch, size = message(f, offset, description, end, version, 3)
        need(size == body, WRONG)
        rows.append(check_batch(batch, schema[1], body))
    return rows


def read(f, at, n):
    f.seek(at)
    data = f.read(n)
    need(len(data) == n, WRONG)
    return data


def message(f, at, size, end, version, wanted):
    """The header of a message of this kind, and the length of its body."""
    mark, length = struct.unpack("<II", read(f, at, 8))
    begin, length = (8, length) if mark == 0xFFFFFFFF else (4, mark)
    need(0 < length <= end - at - begin and size in (None, begin + length), WRONG)
    stated, kind, header, body, pairs = Flat(read(f, at + begin, length)).table("Message")
    need(stated == version and kind == wanted and header is not None and (body or 0) >= 0, WRONG)
    check_pairs(pairs)
    return header, body or 0


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
    t, valid = column.type, ~column.is_null().to_numpy(zero_copy_only=False)
    need(len(column) - int(valid.sum()) == column.null_count, WRONG)
    if pa.types.is_dictionary(t):
        need(len(column.dictionary) <= MOST_ENTRIES, f"a dictionary of {len(column.dictionary)} values")
        values, places = np.append(numbers(column.dictionary), np.nan), column.indices.fill_null(0).to_numpy(zero_copy_only=False)
        need(((0 <= places) & (places < len(values) - 1))[valid].all(), "a dictionary has no value of a number")
        return values[np.where(valid, places, len(values) - 1).astype(np.int64)]
    if pa.types.is_floating(t) or pa.types.is_boolean(t):
        return column.to_numpy(zero_copy_only=False).astype(float)
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
