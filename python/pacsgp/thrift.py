"""Thrift's compact protocol, in which Parquet describes itself. What it leaves to a
reader's mercy is refused: a field of another type, twice, or out of order."""
from .refusal import Refused, need

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
DEPTH = 24  # of nesting; a footer needs about ten


class Short(Refused):
    """The bytes end before the value does."""


class Reader:
    """Reads values. A structure becomes a dict of (type, value) by field, a list
    (type of its elements, elements)."""

    def __init__(self, data):
        self.data, self.at, self.depth = data, 0, DEPTH

    def take(self, n):
        if n > len(self.data) - self.at:
            raise Short("it ends early")
        self.at += n
        return self.data[self.at - n:self.at]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            need(shift < 63 or byte <= 1, "a number of more than 64 bits")
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def integer(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def value(self, kind):
        """A value that is no field, where true and false have a byte of their own."""
        if kind in (I16, I32, I64):
            return self.integer()
        if kind == BINARY:
            return bytes(self.take(self.varint()))
        if kind == STRUCT:
            return self.structure()
        if kind in (LIST, SET):
            return self.list()
        need(kind in (TRUE, FALSE, BYTE, DOUBLE), f"a value of type {kind}")
        return bytes(self.take(8 if kind == DOUBLE else 1))

    def structure(self):
        self.deeper()
        fields, number, last = {}, 0, -1 << 15
        while True:
            head = self.take(1)[0]
            if head == 0:
                break
            number = number + (head >> 4) if head >> 4 else self.integer()
            need(last < number < 1 << 15, f"field {number} after field {last}")
            last, kind = number, head & 15
            fields[number] = kind, kind == TRUE if kind in (TRUE, FALSE) else self.value(kind)
        self.depth += 1
        return fields

    def list(self):
        head = self.take(1)[0]
        n = self.varint() if head >> 4 == 15 else head >> 4
        if n > len(self.data) - self.at:
            raise Short("it ends early")
        self.deeper()
        elements = [self.value(head & 15) for _ in range(n)]
        self.depth += 1
        return head & 15, elements

    def deeper(self):
        self.depth -= 1
        need(self.depth >= 0, "nested too deep")


def field(structure, number, kind, default=None):
    """The value of a field, which must have the type."""
    if number not in structure:
        return default
    found, value = structure[number]
    need(found == kind or {found, kind} == {TRUE, FALSE}, f"a value of type {found}, want {kind}")
    return value


def i32(structure, number, default=None):
    value = field(structure, number, I32, default)
    need(value is None or -1 << 31 <= value < 1 << 31, f"{value} has more than 32 bits")
    return value


def i64(structure, number, default=None):
    return field(structure, number, I64, default)


def blob(structure, number, default=None):
    return field(structure, number, BINARY, default)


def each(structure, number, kind):
    """The elements of a list, which must have the type."""
    found, elements = field(structure, number, LIST, (kind, []))
    need(not elements or found == kind, f"elements of type {found}, want {kind}")
    return elements


def has(structure, what, *numbers):
    for number in numbers:
        need(number in structure, f"{what} has no field {number}")
