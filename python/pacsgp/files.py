"""Files of rows, read by Arrow's library: columns as float64 (formats.md, 4.2)."""
from decimal import Context

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .refusal import Refused, need
from .unit import label

READ = 1 << 16            # rows read at once
EXACT = 1 << 53           # the largest magnitude of an integer
MOST_DEPTH = 8
RATIOS = {"UNCOMPRESSED": 1, "SNAPPY": 1 << 5, "LZ4": 1 << 8, "GZIP": 1 << 11, "ZSTD": 1 << 16, "BROTLI": 1 << 31}  # more than a codec makes of a byte
UNITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
TEXTS = (pa.string(), pa.large_string(), pa.string_view())


class Column:
    """How the values of a column become float64. use is numeric, request (times and columns in groups have to
    be asked for) or the reason why it is not read; text, of Parquet files alone, is read as labels."""

    def __init__(self, name, kind, depth, parquet):
        t = kind.value_type if pa.types.is_dictionary(kind) else getattr(kind, "storage_type", kind)
        self.name, self.depth, self.meaning, self.int96 = name, depth, "", False
        self.use, self.text = f"of type {kind}", parquet and t in TEXTS and not isinstance(kind, pa.BaseExtensionType)
        if pa.types.is_floating(t) or pa.types.is_integer(t) or pa.types.is_boolean(t) or pa.types.is_decimal128(t) or parquet and pa.types.is_decimal(t):
            self.use, self.meaning = "numeric" if depth == 1 else "request", "boolean" if pa.types.is_boolean(t) else ""
        elif pa.types.is_date(t):
            self.use, self.meaning = "request", "date"
        elif pa.types.is_timestamp(t):
            self.use, self.meaning = "request", "time in UTC" if t.tz else "local time"


def columns_of(fields, above=(), depth=1):
    """The columns of a Parquet schema. A column in groups is named by its path, with dots."""
    for field in fields:
        path = (*above, field.name)
        if pa.types.is_struct(field.type) and depth < MOST_DEPTH:
            yield from columns_of([field.type.field(i) for i in range(field.type.num_fields)], path, depth + 1)
        elif depth == 1 or not any("." in name for name in path):
            yield Column(".".join(path), field.type, depth, True)


class ParquetFile:
    """A Parquet file, whose row groups are shards. Before a row group is read, what the footer claims of it
    is held against the file."""

    def __init__(self, path):
        self.path, self.file = path, pq.ParquetFile(path, page_checksum_verification=True, memory_map=False)
        meta = self.file.metadata
        with open(path, "rb") as f:
            size = f.seek(0, 2)
        self.groups = [meta.row_group(g).num_rows for g in range(meta.num_row_groups)]
        need(all(rows >= 0 for rows in self.groups) and sum(self.groups) == meta.num_rows, "the rows of the row groups are not those of the file")
        need(meta.num_rows <= (1 << 17) + (size << 15), f"{meta.num_rows} rows in {size} bytes, of which at most 32768 a byte are read")
        spans = []
        for g, rows in enumerate(self.groups):
            for c in range(meta.num_columns if rows else 0):
                chunk = meta.row_group(g).column(c)
                start = min(chunk.data_page_offset, chunk.dictionary_page_offset or chunk.data_page_offset)
                need(4 <= start and 0 < chunk.total_compressed_size <= size - 8 - start, f"the footer puts {chunk.total_compressed_size} bytes at {start}")
                need(0 <= chunk.total_uncompressed_size <= (chunk.total_compressed_size + 64) * RATIOS.get(chunk.compression, 1 << 8), f"the footer claims {chunk.total_uncompressed_size} bytes in {chunk.total_compressed_size}")
                need(chunk.physical_type.endswith("BYTE_ARRAY") or chunk.total_uncompressed_size <= (1 << 20) + (chunk.num_values << 8), f"the footer claims {chunk.total_uncompressed_size} bytes for {chunk.num_values} values")
                spans.append((start, start + chunk.total_compressed_size))
        spans.sort()
        need(all(a[1] <= b[0] for a, b in zip(spans, spans[1:])), "two columns, or row groups, have bytes in common")
        self.schema = self.file.schema_arrow
        self.columns = list(columns_of(self.schema))
        leaves = [self.file.schema.column(i) for i in range(meta.num_columns)]
        self.int96 = {c.path for c in leaves if c.physical_type == "INT96"}
        old = self.int96 | {c.path for c in leaves if c.converted_type.startswith("TIMESTAMP") and "from_converted_type=true" in str(c.logical_type)}
        for c in self.columns:
            c.int96 = c.name in self.int96
            c.meaning = "time" if c.name in old else c.meaning  # these do not state the zone

    def batches(self, group, names):
        """The batches with columns of these names; of INT96, which may be beyond 64 bits, in three units of time."""
        files = [self.file] if self.int96.isdisjoint(names) else [pq.ParquetFile(self.path, page_checksum_verification=True, coerce_int96_timestamp_unit=unit) for unit in ("ns", "us", "s")]
        return zip(*(file.iter_batches(batch_size=READ, row_groups=[group], columns=names) for file in files))


class ArrowFile:
    """An Arrow IPC file, whose record batches are shards."""

    def __init__(self, path):
        self.path = path
        with pa.memory_map(path) as data:
            file = pa.ipc.open_file(data)
            self.schema = file.schema
            first = pa.ipc.open_file(data, options=pa.ipc.IpcReadOptions(included_fields=[0][:len(file.schema)]))  # the others are not unpacked
            self.groups = [first.get_batch(i).num_rows for i in range(file.num_record_batches)]
        self.columns = [Column(field.name, field.type, 1, False) for field in self.schema]

    def batches(self, group, names):
        with pa.memory_map(self.path) as data:
            batch = pa.ipc.open_file(data, options=pa.ipc.IpcReadOptions(included_fields=[self.schema.get_field_index(name) for name in names])).get_batch(group)
            batch.validate(full=True)
            for first in range(0, batch.num_rows, READ):
                yield (batch.slice(first, READ),)


def data_file(path):
    try:
        with open(path, "rb") as f:
            arrow = f.read(6) == b"ARROW1"
        return ArrowFile(path) if arrow else ParquetFile(path)
    except (pa.ArrowException, Refused) as err:
        raise Refused(f"{path}: {err}") from None


def values(batches, column, known):
    """Those of a column of a shard; known: the texts of groups or levels by their numbers."""
    path = column.name.split(".") if column.depth > 1 else [column.name]
    arrays = [batch.column(batch.schema.get_field_index(path[0])) for batch in batches]
    if len(path) > 1:
        arrays = [pc.struct_field(array, path[1:]) for array in arrays]
    if not column.int96:
        return labels(arrays[0], known or {}) if column.text else numbers(arrays[0])
    near, far, rounded = map(numbers, arrays)
    days = np.abs(np.floor(rounded / 86400))
    return np.where(days <= 106_750, near, np.where(days <= 106_750_000, far, np.nan))


def labels(array, known):
    """Texts as their labels; of two texts with one label the one that is known counts, and the other is refused."""
    if not pa.types.is_dictionary(array.type):
        array = array.cast(pa.large_binary()).dictionary_encode()
    texts = array.dictionary.cast(pa.large_binary()).to_pylist()
    found = [np.nan if text is None else label(text) for text in texts] + [np.nan]
    for text, number in zip(texts, found):
        need(text is None or known.get(number, text) == text, f"{text!r} has the label of another text, that of a group or level")
    at = array.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False).astype(np.int64)
    return np.array(found)[at]


def seconds(v, digits):
    """v·10^−digits, correctly rounded, of int64."""
    out = v.astype(float) / 10 ** digits
    for i in np.flatnonzero((v > EXACT) | (v < -EXACT)):
        out[i] = int(v[i]) / 10 ** digits  # Python divides integers correctly rounded
    return out


def numbers(column):
    """A column as float64, NaN for what is null or bad."""
    column = getattr(column, "storage", column)  # of an extension
    t, valid = column.type, ~column.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_dictionary(t):
        values, positions = np.append(numbers(column.dictionary), np.nan), column.indices.fill_null(0).to_numpy(zero_copy_only=False)
        return values[np.where(valid, positions, len(values) - 1).astype(np.int64)]
    if pa.types.is_floating(t) or pa.types.is_boolean(t):
        return column.to_numpy(zero_copy_only=False).astype(float)
    if pa.types.is_decimal(t):
        return decimals(column, t)
    if pa.types.is_date32(t):
        found = column.cast(pa.int32()).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64) * 86400.0
    elif pa.types.is_date64(t):
        ints = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        found = np.where(ints % 86_400_000 == 0, seconds(ints, 3), np.nan)
    elif pa.types.is_timestamp(t):
        found = seconds(column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False), UNITS[t.unit])
    else:
        ints = column.fill_null(0).to_numpy(zero_copy_only=False)
        ints = ints if ints.dtype == np.uint64 else ints.astype(np.int64)
        found = np.where((ints <= EXACT) & (ints >= (-EXACT if ints.dtype == np.int64 else 0)), ints.astype(float), np.nan)
    return np.where(valid, found, np.nan)


def decimals(column, t):
    """Decimals as the nearest float64; without a fraction those whose integer float64 counts."""
    most = min(10 ** t.precision - 1, EXACT if t.scale <= 0 else 10 ** t.precision)
    unscaled = [None if v is None else int(v.scaleb(t.scale, Context(76))) for v in column.to_pylist()]
    return np.array([float(f"{v}e{-t.scale}") if v is not None and abs(v) <= most else np.nan for v in unscaled], dtype=float)
