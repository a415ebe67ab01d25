"""Which files a lake has, in the order of their rows, and what their paths say
(format.md, 4.1 and 4.2)."""
import math
import os
import re
import stat
import urllib.parse

from .refusal import Refused, need

ENDINGS = (".parquet", ".parq", ".pq", ".arrow", ".feather")
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def hidden(name):
    return name.startswith(("_", "."))


class Listing:
    """Collects files. A folder is searched once, a file read once, by whatever names and
    links they are met again; but then the keys of both paths must be the same."""

    def __init__(self, paths):
        self.folders, self.places, self.inodes, self.files = {}, {}, {}, []
        for path in paths:
            found, known = self.entry(os.path.normpath(path)), len(self.folders)
            for f in sorted(found, key=lambda p: os.fsencode(p.replace(os.sep, "/"))):
                if self.is_new(f):
                    self.files.append(f)

    def entry(self, path):
        one_line(path)
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            self.again = False
            found = self.folder(path, [])
            need(found or self.again, f"{path} holds no data file")
            return found
        need(stat.S_ISREG(mode), f"{path} is neither a file nor a directory")
        need(not path.lower().endswith(".json"), f"{path} is a list of files: give the files that it names, in its order")
        return [path]

    def folder(self, path, above):
        place = os.path.realpath(path)
        if place in above:
            return []
        if place in self.folders:
            self.again = True
            same_keys(self.folders[place], path, os.path.join(self.folders[place], "-"), os.path.join(path, "-"))
            return []
        self.folders[place], found = path, []
        for name in os.listdir(path):
            below = os.path.join(path, name)
            if hidden(name):
                continue
            one_line(below)
            data = name.lower().endswith(ENDINGS)
            try:
                mode = os.stat(below).st_mode
            except OSError:
                need(not data and os.path.islink(below), f"{below} cannot be read")
                continue
            if stat.S_ISDIR(mode):
                found += self.folder(below, above + [place])
            elif stat.S_ISREG(mode) and data:
                found.append(below)
        return found

    def is_new(self, path):
        """Whether a file was not met before, by links of both kinds."""
        place, info = os.path.realpath(path), os.stat(path)
        for names, key in ((self.places, place), (self.inodes, (info.st_dev, info.st_ino))):
            if key in names:
                same_keys(names[key], path, names[key], path)
                return False
        self.places[place] = self.inodes[info.st_dev, info.st_ino] = path
        return True


def one_line(path):
    need(path and "\n" not in path and "\r" not in path, f"{path!r} is no path that is read")


def same_keys(first, second, one, other):
    need(list(hive_keys(one).items()) == list(hive_keys(other).items()), f"{first} and {second} are the same, but the keys in their paths differ")


def unescaped(text):
    """Undoes the %-escapes that writers put into folder names."""
    if re.search("%(?![0-9a-fA-F]{2})", text):
        return text
    return urllib.parse.unquote_to_bytes(os.fsencode(text)).decode("utf-8", "surrogateescape")


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
    """A key's value, NaN for a bad one; None for a text, which a date is too."""
    if value == NO_VALUE:
        return math.nan
    if not re.fullmatch(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?", value, re.ASCII):
        return None
    number = float(value)
    if math.isinf(number):
        return None
    return math.nan if number == math.trunc(number) and abs(number) > 1 << 53 else number
