"""The values of one chunk of a Parquet file as float64, page by page, held against what
the file says of them (format.md, 4.2)."""
import math
import struct
import zlib

import numpy as np
import pyarrow as pa

from . import thrift
from .footer import BROTLI, DELTA, DELTA_LENGTHS, DELTA_TEXTS, DICTIONARY, EXACT, GZIP, LARGEST, LZ4_RAW, NONE, PLAIN, PLAIN_DICTIONARY, RLE, SNAPPY, SPLIT, ZSTD
from .refusal import Refused, need
from .thrift import has, i32
from .unit import label

NANOS_PER_DAY = 86_400 * 10 ** 9
MOST_DAYS = ((1 << 63) - 1) // NANOS_PER_DAY - 1  # that nanoseconds since 1970 can be of
MOST_PAGE = 1 << 28
MOST_TEXTS = 1 << 24  # bytes of a page of texts
FLOATS = {"double": "<f8", "float": "<f4", "half": "<f2"}
FILL = 255  # values that may fill the last packed group up
RATIOS = {NONE: 1, SNAPPY: 1 << 5, GZIP: 1 << 11, ZSTD: 1 << 16, LZ4_RAW: 1 << 8, BROTLI: 1 << 31}  # more than a codec makes of a byte


# ---------------------------------------------------------- stored values

def seconds(v, digits):
    """v·10^−digits, correctly rounded, of int64."""
    out = v.astype(float) / 10 ** digits
    for i in np.flatnonzero((v > EXACT) | (v < -EXACT)):
        out[i] = int(v[i]) / 10 ** digits  # Python divides integers correctly rounded
    return out


def within(v, low, high):
    """Integers as float64, those beyond their type or what float64 counts as NaN."""
    low, high = max(low, -EXACT), min(high, EXACT)
    return np.where((v >= v.dtype.type(low) if v.dtype.kind == "i" else True) & (v <= v.dtype.type(high)), v.astype(float), np.nan)


def from_integers(c, v):
    """Values of a column whose stored form is BOOLEAN, INT32 or INT64, given as int64."""
    if c.kind == "uint64":
        return within(v.view(np.uint64), 0, c.high)
    if c.width == 4:
        v = v.astype(np.int32).astype(np.int64)
    if c.kind == "uint32":
        return (v & 0xFFFFFFFF).astype(float)
    if c.kind == "timestamp":
        return seconds(v, c.digits)
    if c.kind == "date":
        return (v * 86400).astype(float)
    if c.kind == "decimal":
        return within(v, -c.high, c.high) / 10.0 ** c.digits
    if c.kind == "narrow":
        return within(v, c.low, c.high)
    return within(v, -EXACT, EXACT)


def from_bytes(c, data):
    """Values in PLAIN of a column of some width."""
    if c.kind in FLOATS:
        return np.frombuffer(data, FLOATS[c.kind]).astype(float)
    if c.kind == "int96":
        raw = np.frombuffer(data, [("nanos", "<i8"), ("day", "<i4")])
        nanos, day = raw["nanos"].astype(np.int64), raw["day"].astype(np.int64) - 2440588
        right = (nanos >= 0) & (nanos < NANOS_PER_DAY) & (abs(day) <= MOST_DAYS)
        return np.where(right, seconds(np.where(right, day * NANOS_PER_DAY + nanos, 0), 9), np.nan)
    if c.kind == "bytes":
        raw = np.frombuffer(data, np.uint8).reshape(-1, c.width)
        sign = np.where(raw[:, :1] > 127, np.uint8(255), np.uint8(0))
        low = np.concatenate([np.repeat(sign, 8, 1), raw], 1)[:, -8:]
        v = np.ascontiguousarray(low).view(">i8").ravel().astype(np.int64)
        fits = (raw[:, :-8] == sign).all(1) & ((v < 0) == (sign[:, 0] > 0))
        return np.where(fits, within(v, -c.high, c.high), np.nan) / 10.0 ** c.digits
    return from_integers(c, np.frombuffer(data, "<i4" if c.width == 4 else "<i8").astype(np.int64))


# -------------------------------------------------------------- encodings

def varint(data, at):
    reader = thrift.Reader(data)
    reader.at = at
    return reader.varint(), reader.at


def unpack(data, width, n):
    """n integers of some bits, the lowest first, as uint64."""
    bits = np.unpackbits(np.frombuffer(data, np.uint8), count=n * width, bitorder="little").reshape(n, width)
    return (bits.astype(np.uint64) << np.arange(width, dtype=np.uint64)).sum(1, dtype=np.uint64)


def hybrid(data, width, n):
    """n integers in runs and packed groups of eight, with nothing left but what fills
    the last group up."""
    parts, at, rest = [], 0, 0
    while n:
        head, at = varint(data, at)
        need(head > 1, "an empty run of levels or indexes")
        if head & 1:
            many = min((head >> 1) * 8, (len(data) - at) * 8 // width) if len(data) > at else 0
            need(many, "levels or indexes end early")
            size = (many * width + 7) // 8
            take = min(many, n)
            seen = min(many, -(-take // 512) * 512)  # unpacked so many at a time
            need(take < n or (seen * width + 7) // 8 == size, "levels or indexes go on after the page's last value")
            parts.append(unpack(data[at:at + size], width, take))
            at, n, rest = at + size, n - take, many - take
        else:
            size = (width + 7) // 8
            need(size <= len(data) - at, "a run of levels or indexes ends early")
            take = min(head >> 1, n)
            parts.append(np.full(take, int.from_bytes(data[at:at + size], "little"), np.uint64))
            at, n, rest = at + size, n - take, (FILL + 1) * ((head >> 1) > take)
    need(at == len(data) and rest <= FILL, "levels or indexes go on after the page's last value")
    return np.concatenate(parts) if parts else np.empty(0, np.uint64)


def differences(data, n):
    """n integers of DELTA_BINARY_PACKED, as int64 that wrap around."""
    values, at = sums(data, n)
    need(at == len(data), "differences go on after the page's last value")
    return values


def sums(data, n):
    """n integers of DELTA_BINARY_PACKED, and where they end."""
    if not data:
        need(n == 0, "the page has too few values")
        return np.empty(0, np.int64), 0
    block, at = varint(data, 0)
    minis, at = varint(data, at)
    total, at = varint(data, at)
    first, at = varint(data, at)
    need(0 < minis <= block <= 1 << 13 and block % minis == 0 and block // minis % 8 == 0, f"differences in blocks of {block} by {minis}")
    need(total == n, f"the page has {total} values, want {n}")
    parts, have, widths, mini = [np.array([unzigzag(first)], np.int64)][:n], 1, b"", block // minis
    while have < n:
        if not widths:
            least, at = varint(data, at)
            need(minis <= len(data) - at, "differences end early")
            widths, at = data[at:at + minis], at + minis
        width, widths = widths[0], widths[1:]
        need(width <= 64, f"differences of {width} bits")
        many = min(mini, (len(data) - at) * 8 // width) if width else mini  # the last one may lack its padding
        need(many, "differences end early")
        size = min(mini * width // 8, len(data) - at)
        parts.append(unpack(data[at:at + size], width, many).view(np.int64) + np.int64(unzigzag(least)) if width else np.full(many, unzigzag(least), np.int64))
        at, have = at + size, have + many
    with np.errstate(over="ignore"):
        return np.cumsum(np.concatenate(parts) if parts else np.empty(0, np.int64), dtype=np.int64)[:n], at


def texts(encoding, data, n):
    """n byte arrays, and what is left behind the last one."""
    out, at, made = [], 0, 0
    if encoding == PLAIN:
        for _ in range(n):
            need(len(data) - at >= 4, "the page has too few values")
            size = int.from_bytes(data[at:at + 4], "little")
            need(size <= len(data) - at - 4, "the page has too few values")
            out.append(data[at + 4:at + 4 + size])
            at += 4 + size
        return out, data[at:]
    prefixes, at = sums(data, n) if encoding == DELTA_TEXTS else (np.zeros(n, np.int64), 0)
    sizes, more = sums(data[at:], n)
    at, last = at + more, b""
    for prefix, size in zip(prefixes.tolist(), sizes.tolist()):
        need(0 <= size <= len(data) - at and 0 <= prefix <= len(last), "the page has too few values")
        made += prefix + size if prefix else 0
        need(made <= MOST_TEXTS, f"a page has more than {MOST_TEXTS} bytes of texts")
        last, at = last[:prefix] + data[at:at + size], at + size
        out.append(last)
    return out, data[at:]


def unzigzag(u):
    return u >> 1 ^ -(u & 1)


# ------------------------------------------------------------------ pages

def decompressed(codec, data, size):
    """What the data hold, which must be so many bytes."""
    if codec == GZIP:
        out = b""
        while data:
            d = zlib.decompressobj(31)
            out += d.decompress(data, size + 1 - len(out)) if len(out) <= size else b""
            need(d.eof and len(out) <= size, "the page is longer than its header says, or damaged")
            data = d.unused_data
    elif codec == BROTLI:  # whose length the library does not compare
        out = pa.Codec("brotli").decompress(data, size, asbytes=True)
        try:
            pa.Codec("brotli").decompress(data, size - 1)
        except OSError:
            pass
        else:
            raise Refused(f"the page has less than the {size} bytes of its header")
    elif codec == LZ4_RAW:
        need(whole_lz4(data, size), "a block of LZ4 that is not whole, or ends in another way than the format wants")
        out = pa.Codec("lz4_raw").decompress(data, size, asbytes=True)
    else:
        need(codec == ZSTD or varint(data, 0)[0] == size, "the page has another length than its header says")
        out = pa.Codec("zstd" if codec == ZSTD else "snappy").decompress(data, size, asbytes=True)
    need(len(out) == size, f"the page has {len(out)} bytes, its header says {size}")
    return out


def whole_lz4(data, size):
    """Whether a block of LZ4 makes so many bytes, and ends in 5 literals at least, with the
    last match 12 bytes or more before the end."""
    at = made = 0

    def length(n, at):
        more = n == 15
        while more and at < len(data) and n <= size:
            n, more, at = n + data[at], data[at] == 255, at + 1
        return n, at
    while at < len(data):
        token, at = data[at], at + 1
        literals, at = length(token >> 4, at)
        if literals > min(len(data) - at, size - made):
            return False
        at, made = at + literals, made + literals
        if len(data) - at < 2:
            return at == len(data) and made == size
        back = data[at] | data[at + 1] << 8
        match, at = length(token & 15, at + 2)
        if not 0 < back <= made or made > size - 12 or match + 4 > size - made - 5:
            return False
        made += match + 4
    return False


class Header:
    """The header of a page."""

    def __init__(self, data):
        reader = thrift.Reader(data)
        s = reader.structure()
        has(s, "a page header", 1, 2, 3)
        self.length, self.kind, self.uncompressed, self.compressed, self.sum = reader.at, i32(s, 1), i32(s, 2), i32(s, 3), i32(s, 4)
        self.described = False
        for number, kind, wanted in ((5, 0, (1, 2, 3)), (7, 2, (1, 2)), (8, 3, (1, 2, 3, 4, 5, 6))):
            if number not in s:
                continue
            need(self.kind == kind, f"a page of kind {self.kind} with header {number}")
            m, self.described = thrift.field(s, number, thrift.STRUCT), True
            has(m, "a page header", *wanted)
            self.values, self.encoding = i32(m, 1), i32(m, 4 if number == 8 else 2)
            self.definition = i32(m, 5, 0) if number == 8 else 0
            self.level_encoding = i32(m, 3) if number == 5 else RLE
            if number == 5:
                i32(m, 4)
            if number == 8:
                self.nulls, self.rows, self.repetition = i32(m, 2), i32(m, 3), i32(m, 6)
                self.compress = thrift.field(m, 7, thrift.TRUE, True)


def read_page(file, at, end):
    """The header of a page, its bytes as they are stored, and where they end."""
    size = min(1 << 12, end - at)
    while True:
        file.seek(at)
        data = file.read(size)
        try:
            header = Header(data)
            break
        except thrift.Short:
            if size >= min(1 << 16, end - at):
                raise
            size = min(4 * size, end - at)
    body = at + header.length
    need(0 <= header.compressed <= end - body and header.compressed <= MOST_PAGE, f"page at {at} claims {header.compressed} bytes")
    file.seek(body)
    stored = file.read(header.compressed)
    need(len(stored) == header.compressed, "the file ends early")
    need(header.sum is None or zlib.crc32(stored) == header.sum & 0xFFFFFFFF, f"page at {at}: the checksum is wrong: the file is damaged")
    return header, stored, body + header.compressed


class Pages:
    """Reads the values of a chunk."""

    def __init__(self, file, column, rows, chunk, span, grouped):
        self.file, self.column, self.rows, self.chunk, self.grouped, self.known = file, column, rows, chunk, grouped, {}
        self.at, self.end = span
        self.left, self.table = rows, np.empty(0)
        self.low, self.high, self.nulls, self.faults = math.inf, -math.inf, 0, False
        self.least, self.most, self.exact = bounds(column, chunk)

    def __iter__(self):
        """Yields values page by page, bad ones as NaN."""
        while self.at != self.end:
            header, stored = self.page()
            if header.kind == 2 and header.described:
                self.dictionary(header, stored)
            elif header.kind in (0, 3) and header.described:
                values, nulls = self.data(header, stored)
                self.seen(values, nulls)
                yield values
            else:
                need(header.kind == 1, f"a page of kind {header.kind}")
        need(self.left == 0, f"the chunk ends {self.left} rows early")
        self.compare()

    def page(self):
        header, stored, self.at = read_page(self.file, self.at, self.end)
        return header, stored

    def unpacked(self, codec, stored, size, values):
        if codec == NONE:
            need(size == len(stored) and (size <= MOST_TEXTS or not self.column.text), f"the page has {len(stored)} bytes, its header says {size}")
            return stored
        need(0 <= size <= min(MOST_PAGE, self.chunk.uncompressed) and size // RATIOS[codec] <= len(stored), f"a page claims {size} bytes")
        need(size <= (MOST_TEXTS if self.column.text else values * (self.column.width + 8) + (1 << 20)), f"a page claims {size} bytes for {values} values")
        return decompressed(codec, stored, size) if size else b""

    def dictionary(self, header, stored):
        c = self.column
        need(header.encoding in (PLAIN, PLAIN_DICTIONARY), f"a dictionary in encoding {header.encoding} is not read")
        need(c.width, "booleans with a dictionary")
        data = self.unpacked(self.chunk.codec, stored, header.uncompressed, min(header.values, self.rows))
        need(0 <= header.values <= len(data) // (4 if c.text else c.width), f"{header.values} values in {len(data)} bytes")
        self.table = self.labels(PLAIN, data, header.values) if c.text else from_bytes(c, self.plain(data, header.values))

    def plain(self, data, n):
        """The first n values, behind which nothing may come, but zeros of one writer."""
        size = n * self.column.width if self.column.width else (n + 7) // 8
        need(len(data) >= size and self.ends(data[size:]), f"{len(data)} bytes for {n} values")
        return data[:size]

    def ends(self, rest):
        return not rest or self.column.filled and len(rest) <= 8 and not any(rest)

    def labels(self, encoding, data, n):
        """The numbers of n texts (format.md, 4.4)."""
        found, rest = texts(encoding, data, n)
        need(self.ends(rest) if encoding == PLAIN else not rest, f"{len(rest)} bytes of the page come after its last value")
        for text in set(found) - self.known.keys():
            number = self.known[text] = label(text)
            need(self.grouped.get(number, text) == text, f"column {self.column.name!r} has another text with the label of a group's")
        return np.array([self.known[text] for text in found], float)

    def data(self, header, stored):
        """The values of a data page, and which are null."""
        c, n = self.column, header.values
        need(0 <= n <= self.left, f"a page claims {n} rows, {self.left} are left of the row group's")
        self.left -= n
        leveled, codec, levels = c.deep > 0, self.chunk.codec, b""
        if header.kind == 3:
            need(header.rows == n and 0 <= header.nulls <= n and header.repetition == 0 and 0 <= header.definition <= len(stored)
                 and (c.deep or header.nulls == header.definition == 0) and (header.nulls == 0 or header.definition > 0), "a page claims other rows, values and nulls than a flat column has")
            leveled, codec = leveled and header.definition > 0, codec if header.compress else NONE
            levels, stored = stored[:header.definition], stored[header.definition:]
        data = self.unpacked(codec, stored, header.uncompressed - header.definition, n)
        if leveled and header.kind == 0:
            need(header.level_encoding == RLE and len(data) >= 4, f"definition levels in encoding {header.level_encoding} are not read")
            size = struct.unpack("<I", data[:4])[0]
            need(size <= len(data) - 4, "definition levels end early")
            levels, data = data[4:4 + size], data[4 + size:]
        null = np.zeros(n, bool)
        if leveled:
            level = hybrid(levels, c.deep.bit_length(), n)
            need((level <= c.deep).all(), f"a definition level above {c.deep}")
            null = level != c.deep
        need(header.kind == 0 or null.sum() == header.nulls, "the page has other nulls than its header says")
        values = np.full(n, np.nan)
        values[~null] = self.decode(header.encoding, data, n - int(null.sum()))
        return values, null

    def decode(self, encoding, data, n):
        """n values."""
        c = self.column
        if encoding == PLAIN:
            if c.text:
                return self.labels(encoding, data, n)
            data = self.plain(data, n)
            return np.unpackbits(np.frombuffer(data, np.uint8), count=n, bitorder="little").astype(float) if c.width == 0 else from_bytes(c, data)
        if encoding in (PLAIN_DICTIONARY, DICTIONARY):
            need(c.width, "booleans with a dictionary")
            if not n and not data:
                return np.empty(0)
            need(data and data[0] <= 32 and (len(self.table) or not n), "indexes of more than 32 bits, or without a dictionary")
            index = hybrid(data[1:], data[0], n) if data[0] else np.zeros(n, np.uint64)
            need((index < len(self.table)).all(), f"an index beyond a dictionary of {len(self.table)}")
            return self.table[index.astype(np.int64)]
        if encoding == RLE and c.width == 0:
            if not data and not n:
                return np.empty(0)
            need(len(data) >= 4 and struct.unpack("<I", data[:4])[0] == len(data) - 4, "booleans of another length than the page has")
            bits = hybrid(data[4:], 1, n)
            need((bits <= 1).all(), "a boolean above 1")
            return bits.astype(float)
        if encoding == DELTA and c.physical in (1, 2):
            return from_integers(c, differences(data, n))
        if encoding in (DELTA_LENGTHS, DELTA_TEXTS) and c.text:
            return self.labels(encoding, data, n)
        need(encoding == SPLIT and c.width > 0, f"encoding {encoding} of {c.kind} values is not read")
        need(len(data) == n * c.width, f"{len(data)} bytes for {n} values")
        return from_bytes(c, np.ascontiguousarray(np.frombuffer(data, np.uint8).reshape(c.width, n).T).tobytes())

    def seen(self, values, null):
        self.nulls += int(null.sum())
        present = values[~np.isnan(values)]
        self.faults = self.faults or len(present) + int(null.sum()) < len(values) or bool((np.abs(present) > LARGEST).any())
        self.low, self.high = min(self.low, present.min(initial=math.inf)), max(self.high, present.max(initial=-math.inf))
        need(not (self.low < self.least or self.high > self.most), f"values from {self.low} to {self.high}, but the footer says {self.least} to {self.most}")

    def compare(self):
        m = self.chunk
        need(m.nulls is None or m.nulls == self.nulls, f"{self.nulls} nulls, but the footer's statistics say {m.nulls}")
        if not self.faults and self.nulls < self.rows:
            attained = (math.isnan(self.least) or not self.exact[0] or self.least == self.low) and (math.isnan(self.most) or not self.exact[1] or self.most == self.high)
            need(attained, f"values from {self.low} to {self.high}, but the footer says {self.least} to {self.most}")


def bounds(c, m):
    """The smallest and the largest value by the footer, NaN where that is unknown, and
    whether there are such values. The deprecated fields are in the order of signed integers."""
    if c.kind == "int96" or c.text:
        return math.nan, math.nan, (True, True)
    exact = m.exact_min, m.exact_max
    low, high = (m.min_value, m.max_value) if c.ordered else (None, None)
    if low is None and high is None and c.kind not in ("uint32", "uint64", "bytes", "half"):
        exact, low, high = (True, True), m.min, m.max

    def value(b):
        if b is None:
            return math.nan
        return float(b[0] & 1) if c.kind == "boolean" else float(from_bytes(c, b)[0])
    return value(low), value(high), exact
