"""The descriptions in an Arrow file, FlatBuffers, read strictly (format.md, 4.2)."""
import struct

from .refusal import need

# Fields of tables: a code of struct, "?" (a Boolean), "s" (a text), a table, or a vector of one of these.
TABLES = {
    "KeyValue": ("s", "s"), "DictionaryEncoding": ("q", "Int", "?", "h"),
    "Field": ("s", "?", "B", "type", "DictionaryEncoding", ["Field"], ["KeyValue"]), "Schema": ("h", ["Field"], ["KeyValue"], ["q"]),
    "RecordBatch": ("q", ["qq"], ["qq"], "BodyCompression", ["q"]), "BodyCompression": ("b", "b"), "DictionaryBatch": ("q", "RecordBatch", "?"),
    "Message": ("h", "B", "header", "q", ["KeyValue"]), "Footer": ("h", "Schema", ["qi4xq"], ["qi4xq"], ["KeyValue"]),
    "Empty": (), "Int": ("i", "?"), "Unit": ("h",), "Decimal": ("i", "i", "i"), "Time": ("h", "i"), "Timestamp": ("h", "s"), "Union": ("h", ["i"]), "Width": ("i",), "Map": ("?",)}
HEADERS = {1: "Schema", 2: "DictionaryBatch", 3: "RecordBatch"}
# Types by number: the table, how many buffers a column has, how many children (None: any).
TYPES = dict(enumerate((
    ("Empty", 0, 0), ("Int", 2, 0), ("Unit", 2, 0), ("Empty", 3, 0), ("Empty", 3, 0), ("Empty", 2, 0), ("Decimal", 2, 0), ("Unit", 2, 0), ("Time", 2, 0), ("Timestamp", 2, 0),
    ("Unit", 2, 0), ("Empty", 2, 1), ("Empty", 1, None), ("Union", 1, None), ("Width", 2, 0), ("Width", 1, 1), ("Map", 2, 1), ("Unit", 2, 0), ("Empty", 3, 0), ("Empty", 3, 0),
    ("Empty", 2, 1), ("Empty", 0, 2), ("Empty", 2, 0), ("Empty", 2, 0), ("Empty", 3, 1), ("Empty", 3, 1)), 1))
STRUCT, UNION, MAP, RUNS, VIEWS = 13, 14, 17, 22, (23, 24)
DEPTH = 64
WRONG = "the Arrow file is damaged, or was not written to its end"


class Flat:
    """A FlatBuffer. Tables are lists of their fields, None for one that is missing. Each visit
    of a table is counted, at most one a byte."""

    def __init__(self, data):
        self.data, self.left = data, len(data)

    def number(self, code, at, aligned=True):
        size = struct.calcsize("<" + code)
        need(0 <= at <= len(self.data) - size and not (aligned and at % size), WRONG)
        value, = struct.unpack_from("<" + ("B" if code == "?" else code), self.data, at)
        need(code != "?" or value < 2, WRONG)
        return value

    def follow(self, at):
        by = self.number("I", at)
        need(by, WRONG)
        return at + by

    def table(self, name, at=0, depth=0):
        start, self.left = self.follow(at), self.left - 1
        fields = start - self.number("i", start)
        count, size = self.number("H", fields), self.number("H", fields + 2)
        need(self.left >= 0 and depth <= DEPTH and count >= 4 and count % 2 == 0 and size >= 4 and fields + count <= len(self.data) and start + size <= len(self.data), WRONG)
        out = []
        for i, kind in enumerate(TABLES[name]):
            offset = self.number("H", fields + 4 + 2 * i) if 4 + 2 * i < count else 0
            width = struct.calcsize("<" + kind) if isinstance(kind, str) and kind in "?bBhHiq" else 4
            need(offset == 0 or 4 <= offset <= size - width, WRONG)
            out.append(self.value(kind, start + offset, out, depth) if offset else None)
        return out

    def value(self, kind, at, before, depth):
        if isinstance(kind, list):
            return self.vector(kind[0], self.follow(at), depth)
        if kind == "s":
            return self.text(self.follow(at))
        if kind in ("type", "header"):
            chosen = TYPES.get(before[2], (None,))[0] if kind == "type" else HEADERS.get(before[1])
            need(chosen, WRONG)
            return self.table(chosen, at, depth + 1)
        return self.table(kind, at, depth + 1) if kind in TABLES else self.number(kind, at)

    def vector(self, kind, at, depth):
        n, tables = self.number("I", at), kind in TABLES
        form = struct.Struct("<" + ("I" if tables else kind))
        need(n <= (len(self.data) - at - 4) // form.size, WRONG)
        places = range(at + 4, at + 4 + n * form.size, form.size)
        return [self.table(kind, p, depth + 1) if tables else form.unpack_from(self.data, p) for p in places]

    def text(self, at):
        n = self.number("I", at)
        need(n < len(self.data) - at - 4 and self.data[at + 4 + n] == 0, WRONG)
        try:
            return self.data[at + 4:at + 4 + n].decode()
        except UnicodeDecodeError:
            need(False, WRONG)


def check_schema(schema, version):
    """Refuses a schema that is none. Returns the fields with a dictionary by its identifier."""
    endianness, fields, pairs, _ = schema
    dictionaries = {}
    need(version in (3, 4) and not endianness and fields is not None, WRONG)
    for f in fields:
        check_field(f, version, dictionaries)
    check_pairs(pairs)
    return dictionaries


def check_pairs(pairs):
    need(all(None not in pair for pair in pairs or ()), WRONG)


def check_field(field, version, dictionaries):
    name, _, kind, of, dictionary, children, pairs = field
    need(name is not None and of is not None and children is not None, WRONG)
    n, count = TYPES[kind][2], len(children)
    need((n is None or n == count) and right_type(kind, [v or 0 for v in of], of, children, version), WRONG)
    if dictionary:
        number, index, _, way = dictionary
        need(not way and (index is None or index[0] in (8, 16, 32, 64)), WRONG)
        same = dictionaries.setdefault(number or 0, field)
        need((same[2], same[3], same[5]) == (kind, of, children), WRONG)
    for child in children:
        check_field(child, version, dictionaries)
    check_pairs(pairs)


def right_type(kind, of, stated, children, version):
    """Whether the numbers of a type are those of one."""
    if kind == 2:
        return of[0] in (8, 16, 32, 64)
    if kind == 7:
        return of[2] in (0, 128, 256) and 1 <= of[0] <= (76 if of[2] == 256 else 38) and abs(of[1]) <= 76
    if kind == 9:
        return (1 if stated[0] is None else of[0], of[1] or 32) in ((0, 32), (1, 32), (2, 64), (3, 64))
    if kind in (3, 8, 10, 11, 18):
        return 0 <= of[0] <= {3: 2, 8: 1, 11: 2}.get(kind, 3)
    if kind == UNION:
        codes = stated[1] if stated[1] is not None else [(i,) for i in range(len(children))]
        return version == 4 and of[0] in (0, 1) and len({*codes}) == len(codes) == len(children) and all(0 <= c <= 127 for c, in codes)
    if kind == MAP:
        pair = children[0]
        return pair[2] == STRUCT and not pair[1] and len(pair[5]) == 2 and not pair[5][0][1]
    if kind == RUNS:
        ends = children[0]
        return ends[2] == 2 and ends[3] and ends[3][0] in (16, 32, 64) and ends[3][1] == 1 and not ends[1]
    return kind not in (15, 16) or of[0] >= 0


def parts(field, dictionary=False):
    """How many nodes and buffers a column has, and how many counts of more buffers."""
    if field[4] and not dictionary:
        return 1, 2, 0
    mine = 1, TYPES[field[2]][1] + (1 if field[2] == UNION and field[3][0] else 0), int(field[2] in VIEWS)
    return tuple(map(sum, zip(mine, *map(parts, field[5]))))


def check_batch(batch, fields, body, dictionary=False):
    """Refuses the description of a record batch that does not fit its columns and its body."""
    rows, nodes, buffers, packed, more = batch
    rows, more = rows or 0, [n for n, in more or ()]
    columns = [parts(f, dictionary) for f in fields]
    n, least, views = (sum(c[i] for c in columns) for i in range(3))
    need(rows >= 0 and nodes is not None and buffers is not None and len(nodes) == n and len(more) == views and min(more, default=0) >= 0 and len(buffers) == least + sum(more), WRONG)
    need(packed is None or packed[0] in (None, 0, 1) and not packed[1], WRONG)
    need(all(0 <= nulls <= length for length, nulls in nodes), WRONG)
    need(all(offset >= 0 and offset % 8 == 0 and 0 <= size and offset + size <= body for offset, size in buffers), WRONG)
    at = 0
    for c in columns:
        need(nodes[at][0] == rows, WRONG)
        at += c[0]
    return rows
