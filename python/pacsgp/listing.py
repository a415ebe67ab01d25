"""Which files a lake has, in the order of their rows, and what their paths say (formats.md, 4.1 and 4.2)."""
import glob
import math
import os
import re
import urllib.parse
from decimal import Decimal

from .refusal import need

NULL_KEY = "__HIVE_DEFAULT_PARTITION__"  # the value of a key that is null, also among texts
ENDINGS = (".parquet", ".parq", ".pq", ".arrow", ".feather")
TABLES = {"_delta_log": "Delta", ".hoodie": "Hudi", "metadata/*.metadata.json*": "Iceberg"}  # by what lies in their folders


def listing(paths):
    """The files at the paths, each once, even if several links lead to it."""
    known, searched = {}, {}
    for path in paths:
        need(path, "a path is empty")
        found = under(os.path.normpath(path), [], searched) if os.path.isdir(path) else [os.path.normpath(path)]
        need(found, f"{path} holds no data file")
        for f in sorted(filter(None, found), key=lambda p: os.fsencode(p.replace(os.sep, "/"))):
            need(not re.search("[\n\r\ud800-\udfff]", f), f"{f!r} has a line break in its name, or is not UTF-8")
            need(os.path.isfile(f), f"{f} is no file: No such file or directory")
            need(not f.lower().endswith(".json"), f"{f} is a list of files: give the files that it names, in its order")
            first = known.setdefault(os.path.realpath(f), f)
            need([*hive_keys(first).items()] == [*hive_keys(f).items()], f"{first} and {f} are the same, but the keys in their paths differ")
    return [*known.values()]


def no_table(folder, searched):
    """Refuses a folder that is, or lies in, that of a table. Those that were searched are none."""
    for name, kind in TABLES.items():
        need(not glob.glob(os.path.join(glob.escape(folder), name)), f"{folder} is the folder of a table of {kind}, where files with deleted rows may lie: give its current files")
    above = os.path.dirname(folder)
    if above != folder and above not in searched:
        no_table(above, searched)


def under(path, above, searched):
    """The data files of a folder and of those below it, links followed, and "" for a folder that was searched before: folders
    linked to each other can have exponentially many paths. searched has, by their positions, the paths of those."""
    position, found = os.path.realpath(path), []
    if position in searched:
        keys, others = (hive_keys(os.path.join(folder, "-")) for folder in (searched[position], path))
        need(position in above or [*keys.items()] == [*others.items()], f"{searched[position]} and {path} are the same, but the keys in their paths differ")
        return [""] * (position not in above)
    no_table(position, searched)
    searched[position] = path
    for name in sorted((name for name in os.listdir(path) if not name.startswith(("_", "."))), key=os.fsencode):
        below = os.path.join(path, name)
        need(os.path.exists(below) and not {"\n", "\r"} & {*name}, f"{below!r} leads nowhere, or has a line break in its name")
        if os.path.isdir(below):
            found += under(below, [*above, position], searched)
        elif name.lower().endswith(ENDINGS) and os.path.isfile(below):  # no pipe
            found.append(below)
    return found


def unescaped(text):
    """Undoes the %-escapes that writers put into folder names."""
    return text if re.search("%(?![0-9a-fA-F]{2})", text) else urllib.parse.unquote_to_bytes(os.fsencode(text)).decode("utf-8", "surrogateescape")


def hive_keys(path):
    """The folders name=value of a path, the inner one of two with the same name."""
    keys = {}
    for part in os.path.dirname(path).replace(os.sep, "/").split("/"):
        name, equals, value = part.partition("=")
        if equals and name:
            keys.pop(unescaped(name), None)
            keys[unescaped(name)] = unescaped(value)
    return keys


def hive_number(value):
    """The value of a key: NaN if it is bad, None if it is text or a date."""
    if not re.fullmatch(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?", value, re.ASCII) or math.isinf(number := float(value)):
        return math.nan if value == NULL_KEY else None
    return math.nan if abs(number) >= 1 << 53 and Decimal(value).copy_abs() > 1 << 53 else number  # abs would round
