"""Rows of the files of a lake (formats.md, 4)."""
import json
import re

import numpy as np
import pyarrow as pa

from .encode import LARGEST
from .files import data_file, values
from .listing import NULL_KEY, hive_keys, hive_number, listing
from .refusal import Refused, need
from .unit import label

LEVEL = r'(?:"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"|\{[^{}]*\})'  # of the index of pandas: a name, or what is no column
INDEX = re.compile(rf'"index_columns":[ \t\r\n]*\[((?:[ \t\r\n,]*{LEVEL})*)')  # in what need not be JSON
PANDAS_INDEX = re.compile("__index_level_[0-9]+__")  # no default feature
BAD = np.frombuffer(b"\1\0\0\0\0\0\xf8\x7f", "<f8")[0]  # what a digest takes a bad cell for


def both(a, b):
    """What a column means that has two meanings in different files, None if it may not. Times of old formats state no zone."""
    narrow, wide = (b, a) if a in ("time", "boolean") else (a, b)
    return narrow if a == b or wide == "time" and narrow in ("date", "time in UTC", "local time") or (narrow, wide) == ("", "boolean") else None


class Lake:
    """The rows of the files that the paths mean, which have the features of a model, read in blocks. Unless rejected rows
    are tolerated, the first one is an error. Of labels, columns that may be text, numbers are read (formats.md, 4.4); fills are
    those that may have missing values; and grouped has, by column, the texts of its groups or levels by their numbers."""

    def __init__(self, paths, model, tolerant, labels, fills, grouped, exactly=False):
        self.model, self.tolerant, self.labels, self.fills, self.grouped, self.exactly = model, tolerant, labels, fills, grouped, exactly
        tables = [data_file(path) for path in listing(paths)]
        self.tables = [table for table in tables if any(table.groups)] or tables  # without rows a file may have any columns
        self.keys = [hive_keys(table.path) for table in self.tables]
        self.texts = {name for table in tables for name, value in hive_keys(table.path).items() if hive_number(value) is None}
        self.groups = [(table.path, g, rows) for table in self.tables for g, rows in enumerate(table.groups) if rows]
        self.rows = sum(rows for _, _, rows in self.groups)

    def columns(self, names):
        """For each file the columns of these names, None for a key of its path."""
        found, meanings, depths = [], [None for _ in names], [set() for _ in names]
        for table, keys in zip(self.tables, self.keys):
            found.append([])
            for i, (name, depth) in enumerate(zip(names, depths)):
                mine = [c for c in table.columns if c.name == name]
                need(len(mine) + (name in keys) == 1, f"{table.path} has {len(mine) + (name in keys)} columns {name!r}")
                text = name in self.labels and (mine[0].text if mine else name in self.texts)
                need(text or name not in self.grouped, f"{table.path}: column {name!r} has no text, and its groups or levels are texts")
                need(text or mine or name not in self.texts, f"{table.path}: the key {name!r} is no number")
                need(text or not mine or mine[0].use in ("numeric", "request"), f"{table.path}: column {name!r} is {mine[0].use if mine else ''}, which is not read as numbers")
                mean = "text" if text else mine[0].meaning if mine and name[0] != "$" else ""  # $timestamp: a topic does not state what it means
                meanings[i], before = both(meanings[i], mean) if found[1:] else mean, meanings[i]
                need(meanings[i] is not None, f"column {name!r} is {before or 'number'!r} and {mean or 'number'!r}")
                depth.add(max(mine[0].depth, 1) if mine else 1)
                need(len(depth) == 1, f"column {name!r} is in groups in one file, and in another it is not, or in others")
                found[-1].append(mine[0] if mine else None)
        for feature in self.model.meta["features"]:  # they mean what they meant in training, and exactly that in verification
            name, stated = feature["name"], feature.get("values", "")
            mine = dict(zip(names, meanings)).get(name, stated)
            need(mine == stated or not self.exactly and "boolean" not in (mine, stated) and both(stated, mine) is not None, f"{name!r} is {stated or 'number'!r} in the model and {mine or 'number'!r} in these rows: write the column as it was in training")
        return found

    def blocks(self, names):
        """Yields (first ordinal, values [len(names), rows]) in the order of the rows."""
        first = 0
        for table, keys, columns in zip(self.tables, self.keys, self.columns(names)):
            stored = [c for c in columns if c]
            for g, rows in enumerate(table.groups):
                for found in self.read(table, g, stored, rows) if rows else ():
                    own, n = iter(found), found.shape[1]
                    out = np.stack([next(own) if c else np.full(n, self.of_key(name, keys[name])) for name, c in zip(names, columns)])
                    bad = ~(np.abs(out) <= LARGEST)
                    strict = bad[[name not in self.fills for name in names]].any(0)
                    need(self.tolerant or not strict.any(), f"row {first + int(strict.argmax())} breaks the row rules")
                    out[bad] = BAD
                    yield first, out
                    first += out.shape[1]

    def read(self, table, group, columns, rows):
        """Blocks of the columns of a shard that a file has, with all of its rows."""
        if not columns:
            yield np.empty((0, rows))
            return
        got = 0
        try:
            for batches in table.batches(group, [c.name for c in columns]):
                yield np.stack([values(batches, c, self.grouped.get(c.name)) for c in columns])
                got += batches[0].num_rows
        except pa.ArrowException as err:
            raise Refused(f"{table.path}: {err}") from None
        need(got == rows, f"{table.path} has {got} rows in a shard of {rows}")

    def of_key(self, name, value):
        """The number of a key of a path."""
        if name not in self.texts or value == NULL_KEY:
            return hive_number(value)
        text = value.encode("utf-8", "surrogateescape")
        need(self.grouped.get(name, {}).get(label(text), text) == text, f"the key {name!r} has another text with the label of a group's")
        return label(text)

    def default_columns(self, target, exclude, encoded):
        """The numeric columns that all files have, sorted bytewise, without the target
        and what is excluded, and the encoded ones; times have to be asked for."""
        common, index = None, {json.loads(name) for table in self.tables for found in [INDEX.search((table.schema.metadata or {}).get(b"pandas", b"").decode(errors="replace"))] if found for name in re.findall(LEVEL, found[1]) if name[0] == '"'}
        for table, keys in zip(self.tables, self.keys):
            every = [c.name for c in table.columns] + list(keys)
            usable = {c.name for c in table.columns if c.use == "numeric"} | (keys.keys() - self.texts)
            usable = {name for name in usable if every.count(name) == 1 and name and not PANDAS_INDEX.fullmatch(name)}
            common = usable if common is None else common & usable
        return sorted(common - index - {target, *exclude} | {*encoded}, key=lambda name: name.encode("utf-8", "surrogateescape"))
