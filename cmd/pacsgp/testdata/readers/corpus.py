"""Makes a small lake, and files that differ from its own in one thing each: what two readers
may take for different rows. corpus.py lake DIR; corpus.py cases LAKE DIR;
corpus.py mutants LAKE DIR SEED N;
corpus.py certificates DOCUMENT ROW DIR SEED N."""
import hashlib
import json
import os
import random
import shutil
import struct
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pacsgp import thrift
from pacsgp.flatbuffer import Flat
from pacsgp.thrift import BINARY, BYTE, I32, I64, LIST, STRUCT, TRUE

FILE = "part-0.parquet"


def make_lake(folder):
    """Two files: doubles, integers beyond 16 bits, decimals of five digits, times, text."""
    os.makedirs(folder)
    r = np.random.default_rng(7)
    for i in range(2):
        x = r.uniform(-2, 2, 60)
        rows = pa.table({
            "a": x, "k": pa.array(r.integers(-40001, 40001, 60), pa.int32()),
            "q": pa.array([f"{v:.2f}" for v in r.uniform(-999, 999, 60)]).cast(pa.decimal128(9, 2)),
            "t": pa.array(r.integers(0, 10 ** 15, 60), pa.timestamp("us")), "z": [f"site {v:.0f}" for v in x], "y": np.sin(2 * x) + .1 * r.normal(size=60)})
        group = pa.array([{"v": float(v), "w": int(v)} for v in r.integers(-99, 99, 60)], pa.struct([("v", pa.float64()), ("w", pa.int16())]))
        rows = rows.append_column("s", group)
        pq.write_table(rows, f"{folder}/part-{i}.parquet", row_group_size=30, store_decimal_as_integer=True, use_dictionary=["k"], write_page_checksum=i == 1)


# ---------------------------------------------------------------- footers

def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def encoded(kind, value):
    """The bytes of a value that is no field."""
    if kind in (thrift.I16, I32, I64):
        return varint((value << 1 ^ value >> 63) & (1 << 64) - 1)
    if kind == BINARY:
        return varint(len(value)) + value
    if kind in (LIST, thrift.SET):
        element, values = value
        head = bytes([len(values) << 4 | element]) if len(values) < 15 else bytes([0xF0 | element]) + varint(len(values))
        return head + b"".join(encoded(element, v) for v in values)
    if kind != STRUCT:
        return value
    out, last = b"", 0
    for number, (kind, v) in value.items():
        kind = kind if kind > 2 else 1 if v else 2
        near = 0 < number - last < 16
        out += (bytes([number - last << 4 | kind]) if near else bytes([kind]) + varint((number << 1 ^ number >> 31) & 0xFFFFFFFF)) + (encoded(kind, v) if kind > 2 else b"")
        last = number
    return out + b"\0"


def split(data):
    length, = struct.unpack("<I", data[-8:-4])
    return data[:-8 - length], thrift.Reader(data[-8 - length:-8]).structure()


def joined(body, footer, rest=b""):
    footer = encoded(STRUCT, footer) + rest
    return body + footer + struct.pack("<I", len(footer)) + b"PAR1"


def nodes(value, kind, path=()):
    """Every place of a tree: the container, the key there, the type, the path."""
    if kind == STRUCT:
        for number, (k, v) in value.items():
            yield value, number, k, path + (number,)
            yield from nodes(v, k, path + (number,))
    elif kind == LIST:
        for i, v in enumerate(value[1]):
            yield value, i, value[0], path + (i,)
            yield from nodes(v, value[0], path + (i,))


def tree_edit(r, footer):
    """One number, text or field of the footer is another one, lacks, or stands for another."""
    container, key, kind, path = r.choice([n for n in nodes(footer, STRUCT) if n[2] not in (STRUCT,) or r.random() < .2])
    struct_field = isinstance(container, dict)
    if r.random() < .25:
        if struct_field:
            del container[key]
        else:
            del container[1][key]
        return f"{path} is left out"
    value = container[key][1] if struct_field else container[1][key]
    if kind in (I32, I64):
        value = r.choice([0, 1, -1, value + 1, value - 1, r.randrange(22), r.randrange(1 << 20), -r.randrange(1 << 31), (1 << 31) - 1])
    elif kind == BINARY:
        value = r.choice([b"", value + b"x", value[:-1], bytes(r.randrange(256) for _ in value), b"k", b"a"])
    elif kind in (1, 2):
        value = not value
    elif kind == BYTE:
        value = bytes([r.choice([8, 16, 32, 64, r.randrange(256)])])
    elif kind == LIST and value[1]:
        value = (value[0], r.choice([value[1] + [value[1][-1]], value[1][::-1], value[1][1:]]))
    elif kind == STRUCT:
        value = {}
    if struct_field:
        container[key] = kind, value
    else:
        container[1][key] = value
    return f"{path} is {value!r:.60}"


LOGICAL = {"int8": (15, {10: (STRUCT, {1: (BYTE, b"\x08"), 2: (TRUE, True)})}), "int16": (16, {10: (STRUCT, {1: (BYTE, b"\x10"), 2: (TRUE, True)})}),
           "int32": (17, {10: (STRUCT, {1: (BYTE, b"\x20"), 2: (TRUE, True)})}), "int64": (18, {10: (STRUCT, {1: (BYTE, b"\x40"), 2: (TRUE, True)})}),
           "uint8": (11, {10: (STRUCT, {1: (BYTE, b"\x08"), 2: (TRUE, False)})}), "uint16": (12, {10: (STRUCT, {1: (BYTE, b"\x10"), 2: (TRUE, False)})}),
           "uint32": (13, {10: (STRUCT, {1: (BYTE, b"\x20"), 2: (TRUE, False)})}), "uint64": (14, {10: (STRUCT, {1: (BYTE, b"\x40"), 2: (TRUE, False)})}),
           "date": (6, {6: (STRUCT, {})}), "string": (0, {1: (STRUCT, {})}),
           **{f"timestamp {unit} {utc}": (9 + unit - 1 if unit < 3 else None, {8: (STRUCT, {1: (TRUE, utc), 2: (STRUCT, {unit: (STRUCT, {})})})}) for unit in (1, 2, 3) for utc in (True, False)}}


def retyped(footer, column, typ, older=True, newer=True):
    """Declares another logical type of a column."""
    e = next(e for e in footer[2][1][1] if e.get(4, (0, b""))[1] == column.encode())
    for number in (6, 7, 8, 10):
        e.pop(number, None)
    if typ.startswith("decimal"):
        precision, scale = map(int, typ[8:-1].split(","))
        converted, logical = 5, {5: (STRUCT, {1: (I32, scale), 2: (I32, precision)})}
        if older:
            e[7], e[8] = (I32, scale), (I32, precision)
    elif typ == "none":
        converted = logical = None
    else:
        converted, logical = LOGICAL[typ]
    if older and converted is not None:
        e[6] = I32, converted
    if newer and logical:
        e[10] = STRUCT, logical
    for number in sorted(e):
        e[number] = e.pop(number)


# ----------------------------------------------------------------- mutants

def random_type(r):
    return r.choice(["none", *LOGICAL, f"decimal({r.randrange(-1, 12)},{r.randrange(-1, 6)})", "decimal(4,0)", "decimal(5,2)", "decimal(9,2)"])


def mutant(r, folder):
    """Changes one thing in a copy of the lake, and says what."""
    path = f"{folder}/part-{r.randrange(2)}.parquet"
    with open(path, "rb") as f:
        data = f.read()
    body, footer = split(data)
    way = r.randrange(10)
    if way < 2:
        at = r.randrange(len(body), len(data)) if way == 0 else r.randrange(len(data))
        bit = 1 << r.randrange(8)
        data, said = data[:at] + bytes([data[at] ^ bit]) + data[at + 1:], f"byte {at} of {len(data)} with bit {bit} flipped, the footer begins at {len(body)}"
    elif way < 5:
        said = tree_edit(r, footer)
        data = joined(body, footer)
    elif way == 5:
        column, typ, older, newer = r.choice("akqty"), random_type(r), r.random() < .8, r.random() < .8
        retyped(footer, column, typ, older, newer)
        data, said = joined(body, footer), f"{column} is {typ}, converted {older}, logical {newer}"
    elif way == 6:
        data, said = r.choice([(data[:r.randrange(len(data))], "cut short"), (joined(body, footer, b"\0" * r.randrange(1, 30)), "bytes behind the footer"),
                               (body[:4] + bytes(8) + body[4:] + data[len(body):], "pages moved"), (b"XXXX" + data[4:], "another magic at the head")])
    elif way == 7:
        return paths(r, folder)
    else:
        return rewritten(r, path)
    with open(path, "wb") as f:
        f.write(data)
    return f"{os.path.basename(path)}: {said}"


KEYS = ["5", "05", "1e2", "-0", "9007199254740993", "9007199254740992", "1e300", "1e999", "nan", "x", "", "2024-01-01", "__HIVE_DEFAULT_PARTITION__", "%35", "%zz", "٣", "0x10", "1_0", " 5", "+5", ".5", "5."]


def paths(r, folder):
    """Links, loops, keys and names."""
    def move(name, to):
        os.makedirs(os.path.dirname(f"{folder}/{to}"), exist_ok=True)
        os.rename(f"{folder}/{name}", f"{folder}/{to}")
        return f"{name} is {to}"
    one = "part-1.parquet"
    return r.choice([
        lambda: os.link(f"{folder}/{one}", f"{folder}/again.parquet") or "a hard link",
        lambda: os.symlink(one, f"{folder}/again.parquet") or "a symbolic link",
        lambda: os.symlink(".", f"{folder}/loop") or "a folder that links to itself",
        lambda: os.symlink("nowhere", f"{folder}/{r.choice(['gone', 'gone.parquet', '_gone.parquet'])}") or "a link to nowhere",
        lambda: (os.makedirs(f"{folder}/k=1"), os.link(f"{folder}/{one}", f"{folder}/k=1/again.parquet")) and "a hard link with another key",
        lambda: os.mkfifo(f"{folder}/pipe.parquet") or "a pipe",
        lambda: move(one, f"z={r.choice(KEYS)}/{one}".replace("//", "/")),
        lambda: move(one, f"{r.choice('akqty')}={r.choice(KEYS)}/{one}"),
        lambda: move(one, r.choice(["_x", ".x", "x"]) + "/" + one),
        lambda: move(one, r.choice(["A.PARQUET", "zz.pq", "part-1.txt", "part-1.arrow", "part-1\n.parquet"])),
        lambda: shutil.copy(f"{folder}/{one}", f"{folder}/_copy.parquet") and "a hidden copy",
        lambda: shutil.copy(f"{folder}/{one}", f"{folder}/copy.parquet") and "a copy",
        lambda: os.makedirs(f"{folder}/empty.parquet") or "a folder named like a file",
    ])()


def rewritten(r, path):
    """The same rows, written in another way."""
    rows = pq.read_table(path)
    if r.random() < .25:
        rows = odd_rows(r, rows)
    if r.random() < .25:
        return as_arrow(r, rows, path)
    how = {"row_group_size": r.choice([30, 30, 30, 60]), "compression": r.choice(["none", "snappy", "gzip", "zstd", "brotli", "lz4"]), "data_page_version": r.choice(["1.0", "2.0"]),
           "use_dictionary": r.random() < .5, "write_statistics": r.random() < .7, "write_page_checksum": r.random() < .5, "store_decimal_as_integer": r.random() < .5,
           "use_deprecated_int96_timestamps": r.random() < .3, "data_page_size": r.choice([64, 1 << 20]), "write_page_index": r.random() < .3}
    if not how["use_dictionary"] and r.random() < .3:
        how["column_encoding"] = {"a": "BYTE_STREAM_SPLIT", "k": r.choice(["DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"])}
    try:
        pq.write_table(rows, path, **how)
    except (pa.ArrowException, OSError) as err:
        return f"half a file: {err}"
    if r.random() < .3:
        with open(path, "rb") as f:
            data = bytearray(f.read())
        at = r.randrange(4, len(data))
        data[at] ^= 1 << r.randrange(8)
        with open(path, "wb") as f:
            f.write(data)
        how["flipped"] = at
    return f"{os.path.basename(path)}: {rows.schema.to_string(show_schema_metadata=False)!r} written with {how}"


def odd_rows(r, rows):
    """The rows with a column twice, of another type, with a null, or fewer of them."""
    name = r.choice(rows.column_names)
    at = rows.column_names.index(name)
    column = rows[name].combine_chunks()
    def cast(t):
        try:
            return rows.set_column(at, name, column.cast(t, safe=False))
        except pa.ArrowException:
            return rows
    return r.choice([
        lambda: rows.append_column(name, column),
        lambda: rows.append_column("more", column),
        lambda: rows.drop_columns([name]),
        lambda: rows.rename_columns([n.upper() if n == name else n for n in rows.column_names]),
        lambda: rows.set_column(at, name, pa.array([None, *column.to_pylist()[1:]], column.type)),
        lambda: rows if pa.types.is_nested(column.type) else rows.set_column(at, name, column.dictionary_encode()),
        lambda: rows.set_column(at, name, pa.array([r.choice([1e30, 1.01e30, -1e155]), *([float(at)] * (len(column) - 1))])),
        lambda: rows.set_column(at, name, pa.array([[v] for v in column.to_pylist()])),
        lambda: rows.select(rows.column_names[::-1]),
        *[lambda t=t: cast(t) for t in (pa.float32(), pa.float64(), pa.int64(), pa.string(), pa.int8(), pa.uint16(), pa.bool_(), pa.date32(), pa.date64(), pa.float16(),
                                        pa.timestamp("ns"), pa.timestamp("ms"), pa.timestamp("s"), pa.timestamp("us", "UTC"), pa.duration("us"), pa.time64("us"), pa.decimal128(20, 4), pa.decimal256(40, 2))]])()


def as_arrow(r, rows, path):
    """The rows in an Arrow file, of which a bit of a description may be flipped."""
    os.remove(path)
    path = path[:-len("parquet")] + r.choice(["arrow", "feather", "parquet"])
    packed = r.choice([None, None, "lz4", "zstd"])
    if r.random() < .3:
        rows = rows.append_column("more", pa.array([["x"], None, []] * (len(rows) // 3) + [None] * (len(rows) % 3))).append_column("text", pa.array(["abc"] * len(rows)))
    if r.random() < .3:
        at = r.randrange(rows.num_columns)
        column = rows[at].combine_chunks()
        rows = rows.set_column(at, rows.column_names[at], column if pa.types.is_nested(column.type) or pa.types.is_dictionary(column.type) else column.dictionary_encode())
    with pa.ipc.new_file(path, rows.schema, options=pa.ipc.IpcWriteOptions(compression=packed)) as out:
        out.write_table(rows, max_chunksize=30)
    said = f"{os.path.basename(path)}: Arrow, {packed}, {rows.schema.to_string(show_schema_metadata=False)!r}"
    if r.random() < .8:
        data = bytearray(read(path))
        first, last = r.choice(descriptions(bytes(data)))
        at, bit = r.randrange(first, last), 1 << r.randrange(8)
        data[at] ^= bit
        write(path, data)
        said += f", byte {at} of {first} to {last} with bit {bit} flipped"
    return said


def descriptions(data):
    """Where the descriptions of an Arrow file stand, with what is before and behind the footer."""
    length, = struct.unpack("<I", data[-10:-6])
    size, = struct.unpack("<I", data[12:16])
    footer = Flat(data[-10 - length:-10]).table("Footer")
    return [(0, 16 + size), (len(data) - 10 - length, len(data)), *((at, at + n) for at, n, _ in (footer[2] or []) + (footer[3] or []))]


def cases(lake, folder):
    """Files that once told two readers apart."""
    def retype(column, typ):
        def change(folder):
            body, footer = split(read(f"{folder}/{FILE}"))
            retyped(footer, column, typ)
            write(f"{folder}/{FILE}", joined(body, footer))
        return change

    def twice(folder):
        rows = pq.read_table(f"{folder}/{FILE}")
        pq.write_table(rows.append_column("a", rows["y"]), f"{folder}/{FILE}", row_group_size=30)

    def key(value):
        def change(folder):
            for i in range(2):
                rows = pq.read_table(f"{folder}/part-{i}.parquet").drop_columns(["k"])
                os.makedirs(f"{folder}/k={value}", exist_ok=True)
                os.remove(f"{folder}/part-{i}.parquet")
                pq.write_table(rows, f"{folder}/k={value}/part-{i}.parquet", row_group_size=30)
        return change

    def linked(folder):
        os.link(f"{folder}/{FILE}", f"{folder}/x.parquet")

    def loop(folder):
        os.makedirs(f"{folder}/x")
        os.symlink("..", f"{folder}/x/up")

    def empty_group(folder):
        body, footer = split(read(f"{folder}/{FILE}"))
        footer[2][1][1].append({3: (I32, 0), 4: (BINARY, b"g"), 5: (I32, 0)})
        footer[2][1][1][0][5] = I32, 6
        write(f"{folder}/{FILE}", joined(body, footer))

    def grown(folder):
        pq.write_table(pq.read_table(f"{folder}/{FILE}").slice(7), f"{folder}/more.parquet")

    def int96(folder):
        rows = pq.read_table(f"{folder}/{FILE}")
        pq.write_table(rows, f"{folder}/{FILE}", row_group_size=30, use_deprecated_int96_timestamps=True, use_dictionary=False, compression="none", write_statistics=False)
        data = read(f"{folder}/{FILE}")
        at = data.index(struct.pack("<i", 2440588 + rows["t"].cast(pa.int64())[0].as_py() // 86_400_000_000)) - 8
        nanos, day = struct.unpack("<qi", data[at:at + 12])
        wrapped = day + (1 << 64) // (86_400 * 10 ** 9), nanos - (1 << 64) % (86_400 * 10 ** 9)
        day, nanos = wrapped if wrapped[1] >= 0 else (wrapped[0] - 1, wrapped[1] + 86_400 * 10 ** 9)
        write(f"{folder}/{FILE}", data[:at] + struct.pack("<qi", nanos, day) + data[at + 12:])

    every = {"k is INT_8": retype("k", "int8"), "k is UINT_16": retype("k", "uint16"), "q is DECIMAL(4,2)": retype("q", "decimal(4,2)"), "a name twice": twice, "a key": key(7),
             "a key beyond 2^53": key(9007199254740993), "a hard link": linked, "a loop of links": loop, "an INT96 that wraps": int96, "a group of no columns": empty_group, "a lake that has grown": grown}
    for i, (said, change) in enumerate(every.items()):
        shutil.copytree(lake, f"{folder}/{i}")
        change(f"{folder}/{i}")
        print(json.dumps(said))


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


# ------------------------------------------------------------ certificates

def places_of(value, path=()):
    """Every place of a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, v in items:
        yield value, key
        yield from places_of(v)


def forged_document(r, text):
    """A document with one change."""
    way = r.randrange(4)
    if way == 0:
        at = r.randrange(len(text))
        return text[:at] + r.choice(["", chr(ord(text[at]) ^ 1 << r.randrange(5)), text[at] * 2]) + text[at + 1:], f"character {at}"
    if way == 1:
        return r.choice([(text + " ", "a space behind"), (text.replace("  ", " "), "other white space"), (text[:-1], "no line feed"), (text.replace('"format"', '"format": "x", "format"', 1), "a member twice"),
                         ("\ufeff" + text, "a mark in front"), (text.replace(": 0.", ": .", 1), "a number without its zero"), (text.replace("e-", "E-", 1), "another exponent")])
    document = json.loads(text)
    container, key = r.choice(list(places_of(document)))
    old = container[key]
    if r.random() < .2:
        del container[key]
    elif isinstance(old, bool):
        container[key] = not old
    elif isinstance(old, (int, float)):
        container[key] = r.choice([0, -1, old + 1, old * 2, old / 2, 1e308, 1.7e308, 5e-324, 0.5, 1 << 53, (1 << 63) - 1, 1 << 64, str(old), None])
    elif isinstance(old, str):
        container[key] = r.choice(["", old + " ", old.upper(), old[::-1], "\u202e" + old, "certified", "holdout", None, 1])
    else:
        container[key] = r.choice([None, [], {}, old, [old]])
    said = f"{key} is {container.get(key, 'left out') if isinstance(container, dict) else 'changed'!r:.60}"
    if "configuration" in document and isinstance(document["configuration"], dict):
        values = json.dumps(document["configuration"].get("values"), separators=(",", ":"), ensure_ascii=False)
        if r.random() < .7:
            document["configuration"]["digest"] = hashlib.sha256(values.encode()).hexdigest()
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n", said


def forged_row(r, data):
    """A row of Parquet with a changed number or text outside of its document, sealed anew
    or not."""
    row = pq.read_table(pa.BufferReader(data)).to_pydict()
    name = r.choice([n for n in row if n not in ("document", "guarantees")])
    value = row[name][0]
    if isinstance(value, float):
        old, new = struct.pack("<d", value), struct.pack("<d", r.choice([value / 2, 0.0, 1.0, -0.0, float("nan")]))
    elif isinstance(value, int) and not isinstance(value, bool):
        old, new = struct.pack("<q", value), struct.pack("<q", r.choice([0, 1, value + 1]))
    else:
        old = str(value).encode()
        new = old[::-1]
    places = [i for i in range(len(data) - len(old)) if data.startswith(old, i)] or [r.randrange(len(data) - len(old))]
    at = r.choice(places)
    data = data[:at] + new + data[at + len(new):]
    if r.random() < .8:
        data = sealed(data)
    return data, f"{name} at {at}"


def sealed(data):
    mark = b"pacsgp-sha256\x18\x40"
    at = data.rfind(mark) + len(mark)
    return data[:at] + hashlib.sha256(data[:at] + b"0" * 64 + data[at + 64:]).hexdigest().encode() + data[at + 64:]


def certificates(document, row, folder, seed, n):
    with open(document, encoding="utf-8") as f:
        text = f.read()
    with open(row, "rb") as f:
        data = f.read()
    for i in range(int(n)):
        r = random.Random(f"{seed} {i}")
        changed, said = forged_row(r, data) if r.random() < .3 else forged_document(r, text)
        with open(f"{folder}/{i}", "wb") as f:
            f.write(changed if isinstance(changed, bytes) else changed.encode("utf-8", "surrogatepass"))
        print(json.dumps(said))


def main(command, *args):
    if command == "lake":
        return make_lake(args[0])
    if command in ("cases", "certificates"):
        return globals()[command](*args)
    lake, folder, seed, n = args
    for i in range(int(n)):
        r = random.Random(f"{seed} {i}")
        shutil.copytree(lake, f"{folder}/{i}")
        print(json.dumps(mutant(r, f"{folder}/{i}")))


main(*sys.argv[1:])
sys.stdout.flush()
os._exit(0)  # Arrow's threads can abort an interpreter that is taken down: apache/arrow#34314
