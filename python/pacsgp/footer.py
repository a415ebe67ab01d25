"""What a Parquet file says of itself (format.md, 4.2): its columns, and where their
chunks are. What a file says twice must agree, for a flipped bit looks like that."""
import struct

from . import thrift
from .refusal import Refused, need
from .thrift import I32, STRUCT, blob, each, has, i32, i64

BOOLEAN, INT32, INT64, INT96, FLOAT, DOUBLE, BYTES, FIXED = range(8)  # stored types
PLAIN, PLAIN_DICTIONARY, RLE, DELTA, DELTA_LENGTHS, DELTA_TEXTS, DICTIONARY, SPLIT = 0, 2, 3, 5, 6, 7, 8, 9  # encodings
NONE, SNAPPY, GZIP, LZO, BROTLI, LZ4, ZSTD, LZ4_RAW = range(8)  # codecs

STRING, ENUM, DECIMAL, DATE, TIME, TIMESTAMP, INTEGER, NULL, JSON, BSON, UUID, FLOAT16 = 1, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15
DIGITS = {1: 3, 2: 6, 3: 9}  # of the units of time
# The logical types that older files mean by a converted type: type, unit, bits, sign.
OLDER = {0: (STRING,), 4: (ENUM,), 19: (JSON,), 20: (BSON,), 5: (DECIMAL,), 6: (DATE,), 7: (TIME, 1), 8: (TIME, 2), 9: (TIMESTAMP, 1), 10: (TIMESTAMP, 2),
         **{11 + i: (INTEGER, 0, 8 << i, False) for i in range(4)}, **{15 + i: (INTEGER, 0, 8 << i, True) for i in range(4)}}
EXACT = 1 << 53       # the largest magnitude of an integer
LARGEST = 1e30        # the largest magnitude of a number
MOST_SCALE = 22       # 10^22 is the largest power of ten that float64 holds
MOST_DEPTH = 8        # groups in groups whose leaves are read
ROWS_OF_PAGE = (1 << 31) - 1


class Logical:
    """A logical type; kind 0 is none."""

    def __init__(self, kind=0, unit=0, bits=0, signed=False, utc=False, scale=0, precision=0):
        self.kind, self.unit, self.bits, self.signed = kind, unit, bits, signed
        self.utc, self.scale, self.precision = utc, scale, precision

    @classmethod
    def read(cls, union):
        kind, members = one_of(union)
        need(kind >= 1, f"logical type {kind}")
        allowed = {DECIMAL: (1, 2), TIME: (1, 2), TIMESTAMP: (1, 2), INTEGER: (1, 2)}.get(kind, ())
        need(kind > FLOAT16 or all(n in allowed for n in members), f"a logical type {kind} with fields {sorted(members)}")
        if kind == DECIMAL:
            return cls(kind, scale=i32(members, 1, 0), precision=i32(members, 2, 0))
        if kind in (TIME, TIMESTAMP):
            utc = thrift.field(members, 1, thrift.TRUE, False)
            return cls(kind, unit=one_of(members[2])[0] if 2 in members else 0, utc=utc)
        if kind == INTEGER:
            bits = thrift.field(members, 1, thrift.BYTE, b"\0")
            return cls(kind, bits=struct.unpack("b", bits)[0], signed=thrift.field(members, 2, thrift.TRUE, False))
        return cls(kind)


def one_of(union):
    """The one field of a union, a structure."""
    kind, fields = union
    need(kind == STRUCT and len(fields) == 1, "a union of another number of fields than one")
    (number, (kind, value)), = fields.items()
    need(kind == STRUCT, f"a value of type {kind}, want {STRUCT}")
    return number, value


class Element:
    """A SchemaElement."""

    def __init__(self, s):
        has(s, "a schema element", 4)
        self.physical, self.length, self.repetition = i32(s, 1, -1), i32(s, 2, 0), i32(s, 3, -1)
        self.name, self.children, self.converted = blob(s, 4).decode("utf-8", "surrogateescape"), i32(s, 5, 0), i32(s, 6, -1)
        self.scale, self.precision = i32(s, 7, 0), i32(s, 8, 0)
        need(1 not in s or 0 <= self.physical <= FIXED, f"a column is stored as type {self.physical}")
        need(3 not in s or 0 <= self.repetition <= 2, f"a column has repetition {self.repetition}")
        need(6 not in s or self.converted >= 0, f"a column has converted type {self.converted}")
        i32(s, 9)
        self.logical = Logical.read(s[10]) if 10 in s else Logical()
        odd = [n for n in s if not 1 <= n <= 10]
        self.odd = (odd[-1] or -1) if odd else 0  # a field that nobody knows

    def contradiction(self):
        """What in the description cannot be; the schema says much of it twice."""
        older, l = OLDER.get(self.converted, (0,)), self.logical
        if self.odd:
            return f"field {self.odd} is unknown"
        if self.repetition < 0:
            return "it is not said whether it has nulls"
        if self.scale and self.converted != 5:
            return "a scale of what is no decimal"
        if l.kind == 0 or self.converted < 0:
            return ""
        if (older + (0, 0, False)[len(older) - 1:]) != (l.kind, l.unit, l.bits, l.signed):
            return f"logical type {l.kind}, converted type {self.converted}"
        if l.kind == DECIMAL and (l.scale, l.precision) != (self.scale, self.precision):
            return f"decimal({l.precision},{l.scale}) and decimal({self.precision},{self.scale})"
        return ""

    def is_plain_group(self):
        """Whether the leaves of a group are columns."""
        return self.logical.kind == 0 and self.converted < 0 and self.repetition != 2 and not self.contradiction()

    def meant(self):
        """The logical type, in older files that of the converted one; None if that is unknown."""
        if self.logical.kind:
            return self.logical
        if self.converted < 0:
            return Logical()
        if self.converted not in OLDER:
            return None
        older = Logical(*OLDER[self.converted])
        older.scale, older.precision = self.scale, self.precision
        return older


class Column:
    """How the values of a leaf become float64. use is numeric, request (times have to be
    asked for) or the reason why it is not read."""

    def __init__(self, name, leaf, use="", kind="", width=0):
        self.name, self.leaf, self.use, self.kind, self.width = name, leaf, use, kind, width
        self.digits, self.low, self.high, self.meaning = 0, 0, 0, "a number"
        self.filled = self.ordered = False
        self.depth = self.deep = 0  # names in its path; definition level of a value
        self.physical, self.refused, self.text = -1, "", False  # text: as labels of units alone

    @property
    def usable(self):
        return self.use in ("numeric", "request")


def leaf_column(e, leaf):
    c = Column(e.name, leaf)
    c.physical = e.physical
    if e.repetition == 2:
        c.use = "a repeated column"
        return c
    why, meant = e.contradiction(), e.meant()
    if why or meant is None:
        c.use = f"described in a way that nobody can be sure of ({why or 'an unknown converted type'})"
        return c
    plain = {BOOLEAN: ("boolean", 0), INT32: ("int32", 4), INT64: ("int64", 8), INT96: ("int96", 12), FLOAT: ("float", 4), DOUBLE: ("double", 8)}
    if meant.kind == 0 and e.physical in plain:
        c.kind, c.width = plain[e.physical]
        c.use = "request" if c.kind == "int96" else "numeric"
        c.meaning = "a time" if c.kind == "int96" else c.meaning
    elif meant.kind == INTEGER:
        integer_column(c, meant)
    elif meant.kind == DECIMAL:
        decimal_column(c, meant, e.length)
    elif meant.kind == FLOAT16 and e.physical == FIXED and e.length == 2:
        c.use, c.kind, c.width = "numeric", "half", 2
    elif meant.kind == DATE and e.physical == INT32:
        c.use, c.kind, c.width, c.meaning = "request", "date", 4, "a time"
    elif meant.kind == TIMESTAMP and e.physical == INT64 and meant.unit in DIGITS:
        c.use, c.kind, c.width, c.digits = "request", "timestamp", 8, DIGITS[meant.unit]
        c.meaning = "a time" if e.logical.kind == 0 else "a time in UTC" if meant.utc else "a local time"
    else:
        c.text = meant.kind == STRING and e.physical == BYTES
        c.width = -1 if c.text else 0
        c.use = f"no number (stored type {e.physical}, logical type {meant.kind})"
    return c


def integer_column(c, meant):
    wide = {INT32: (8, 16, 32), INT64: (64,)}.get(c.physical, ())
    if meant.bits not in wide:
        c.use = f"an integer of {meant.bits} bits stored as type {c.physical}"
        return
    c.use, c.width = "numeric", 4 if c.physical == INT32 else 8
    c.kind = "narrow" if meant.bits < 32 else ("int" if meant.signed else "uint") + str(meant.bits)
    c.low, c.high = (-1 << meant.bits - 1, (1 << meant.bits - 1) - 1) if meant.signed else (0, (1 << meant.bits) - 1)


def decimal_column(c, meant, length):
    c.width = {INT32: 4, INT64: 8, FIXED: length}.get(c.physical, 0)
    fits = 1 <= c.width <= 32 and 0 <= meant.scale <= meant.precision and 1 <= meant.precision <= 76 and 10 ** meant.precision <= 1 << 8 * c.width - 1
    if not fits or meant.scale > MOST_SCALE:
        c.use = f"a decimal({meant.precision},{meant.scale}) in {c.width} bytes"
        return
    c.use, c.kind, c.digits, c.high = "numeric", "bytes" if c.physical == FIXED else "decimal", meant.scale, 10 ** meant.precision - 1


def schema_columns(elements, writer, orders):
    """The leaves, and a column that is not read for each group or list. The name of a leaf in
    a group is its path, with dots."""
    need(elements and elements[0].physical < 0, "the schema has no root")
    columns, leaf = [], 0

    def add(at, n, of):
        nonlocal leaf
        for _ in range(n):
            first, open_, leaves = at, 1, 0
            while open_:
                need(at < len(elements), "the schema ends early")
                e = elements[at]
                need(e.physical < 0 or e.children <= 0, f"column {e.name!r} has a type and columns")
                leaves += e.physical >= 0
                open_, at = open_ - 1 + (max(e.children, 0) if e.physical < 0 else 0), at + 1
            e = elements[first]
            c = leaf_column(e, leaf) if e.physical >= 0 else Column(e.name, leaf, "a nested column")
            c.filled, c.ordered = writer.startswith(b"fastparquet"), leaf < len(orders) and orders[leaf]
            c.depth, c.deep = of.depth + 1, of.deep + (e.repetition == 1)
            if of.depth:
                c.name, c.use = f"{of.name}.{e.name}", "request" if c.use == "numeric" else c.use
                if c.name.count(".") != of.depth:
                    c.use, c.text = "in a group, with a dot in a name", False
            columns.append(c)
            if e.physical < 0 and e.is_plain_group() and c.depth < MOST_DEPTH:
                add(first + 1, e.children, c)
            else:
                leaf += leaves
        return at
    need(add(1, elements[0].children, Column("", 0)) == len(elements), "the schema has elements too many")
    return columns


class Chunk:
    """One column of one row group."""

    def __init__(self, s):
        blob(s, 1)
        self.file, self.encrypted = 1 in s and len(blob(s, 1)) > 0, 8 in s or 9 in s
        m = thrift.field(s, 3, STRUCT, {})
        need(3 in s or self.encrypted, "a chunk without a description")
        if 3 in s:
            has(m, "the description of a chunk", 1, 2, 3, 4, 5, 6, 7, 9)
        self.physical, self.codec = i32(m, 1, 0), i32(m, 4, 0)
        self.encodings, self.path = each(m, 2, I32), each(m, 3, thrift.BINARY)
        need(all(-1 << 31 <= e < 1 << 31 for e in self.encodings), "an encoding of more than 32 bits")
        self.values, self.uncompressed, self.compressed = i64(m, 5, 0), i64(m, 6, 0), i64(m, 7, 0)
        self.data, self.dictionary = i64(m, 9, 0), i64(m, 11, 0)
        for p in each(m, 13, STRUCT):
            has(p, "a count of pages", 1, 2, 3)
            for n in (1, 2, 3):
                i32(p, n)
        stats = thrift.field(m, 12, STRUCT, {})
        self.max, self.min, self.max_value, self.min_value = (blob(stats, n) for n in (1, 2, 5, 6))
        self.nulls = i64(stats, 3)
        self.exact_max, self.exact_min = (thrift.field(stats, n, thrift.TRUE, True) for n in (7, 8))


class Footer:
    """The footer of a Parquet file."""

    def __init__(self, file):
        size = file.seek(0, 2)
        need(size >= 12, f"{size} bytes are too few for a Parquet file")
        file.seek(size - 8)
        length, magic = struct.unpack("<I4s", file.read(8))
        need(magic == b"PAR1", "it does not end like a Parquet file that is read")
        need(length <= min(size - 12, 1 << 28), f"the footer claims {length} bytes of a file of {size}")
        self.start = size - 8 - length
        file.seek(self.start)
        reader = thrift.Reader(file.read(length))
        s = reader.structure()
        rest = length - reader.at
        need(rest == 0 or rest == 28 and 8 in s, f"{rest} bytes follow the footer")
        has(s, "the footer", 2, 3, 4)
        elements = self.elements = [Element(e) for e in each(s, 2, STRUCT)]
        leaves = sum(e.physical >= 0 for e in elements)
        self.rows, self.groups = i64(s, 3), []
        for g in each(s, 4, STRUCT):
            has(g, "a row group", 1, 3)
            chunks = [Chunk(c) for c in each(g, 1, STRUCT)]
            need(len(chunks) == leaves and i64(g, 3) >= 0, f"a row group has {len(chunks)} columns, the schema {leaves}")
            self.groups.append((i64(g, 3), chunks))
        need(sum(rows for rows, _ in self.groups) == self.rows < 1 << 62, "the rows of the row groups are not those of the file")
        self.keys = []
        for kv in each(s, 5, STRUCT):
            has(kv, "a key and its value", 1)
            self.keys.append((blob(kv, 1), blob(kv, 2, b"")))
        orders = [1 in o for o in each(s, 7, STRUCT)]
        self.columns = schema_columns(elements, blob(s, 6, b""), orders)
        for c in self.columns:
            c.refused = self.refusal(c)
        self.refuse_shared()

    def refusal(self, c):
        """Why a column of a readable type cannot be read all the same."""
        for g, (rows, chunks) in enumerate(self.groups):
            m = chunks[c.leaf] if rows and c.leaf < len(chunks) else None
            try:
                if m is None:
                    continue
                need(not m.encrypted and not m.file, "its data are encrypted, or in another file")
                need(m.codec in (NONE, SNAPPY, GZIP, BROTLI, ZSTD, LZ4_RAW), f"codec {m.codec} is not read")
                if c.usable or c.text:
                    self.span(c, rows, m)
            except Refused as err:
                return f"row group {g}: {err}"
        return ""

    def span(self, c, rows, m):
        """Where the pages of a chunk are, checked against the file."""
        start = m.dictionary if 0 < m.dictionary < m.data else m.data
        need(len(m.path) == c.depth and b".".join(m.path).decode("utf-8", "surrogateescape") == c.name and m.physical == c.physical, f"the footer's chunk is of column {m.path}, type {m.physical}")
        need(m.values == rows, f"the footer claims {m.values} values for {rows} rows")
        need(4 <= start <= self.start and 0 <= m.compressed <= self.start - start, f"the footer puts {m.compressed} bytes at {start}")
        need(rows <= m.compressed // 16 * ROWS_OF_PAGE, f"the footer claims {rows} rows in {m.compressed} bytes")
        nulls = m.nulls or 0
        need(m.uncompressed >= 0 and 0 <= nulls <= rows and (not nulls or c.deep), f"the footer claims {m.uncompressed} bytes and {nulls} nulls")
        if c.kind != "int96" and not c.text:
            need(all(b is None or len(b) == max(c.width, 1) for b in (m.min, m.max, m.min_value, m.max_value)), "the footer's statistics have bounds of another length than the values")
        return start, start + m.compressed

    def refuse_shared(self):
        """Refuses columns that have bytes in common with another one, or in two row
        groups: rows would count twice."""
        spans = []
        for c in self.columns:
            if (c.usable or c.text) and not c.refused:
                spans += [(*self.span(c, rows, chunks[c.leaf]), g, c) for g, (rows, chunks) in enumerate(self.groups) if rows]
        spans.sort(key=lambda s: (s[0], s[2]))
        last = 0
        for i in range(1, len(spans)):
            if spans[i][0] < spans[last][1]:
                for c in (spans[i][3], spans[last][3]):
                    c.refused = c.refused or "its bytes are also those of another column or row group"
            if spans[i][1] > spans[last][1]:
                last = i
