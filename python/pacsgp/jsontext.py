"""JSON: strict reading, and the one form of writing (format.md, 6)."""
import json
import math
import re
from decimal import Decimal

from .refusal import Refused, need

FORMAT, BEFORE = "pacsgp-certificate/3", "pacsgp-certificate/2"


def read_json(data, what):
    """JSON without NaN, infinities and members that stand twice."""
    def constant(name):
        raise Refused(f"{name} in the {what}")

    def members(pairs):
        names = [name for name, _ in pairs]
        need(len(set(names)) == len(names), f"a member stands twice in the {what}: {names}")
        return dict(pairs)
    return json.loads(data, parse_constant=constant, object_pairs_hook=members)


def fits(value, form, where):
    """Refuses a value of another form. A form is a dict of the members of an
    object, those with ? may be missing; a list of the form of the elements; a
    set of texts; or a function that says whether it is right."""
    if isinstance(form, dict):
        need(isinstance(value, dict), f"{where} is no object")
        known = {name.rstrip("?"): name for name in form}
        for name in value:
            need(name in known or "*" in form, f"{where} has the unknown member {name!r}")
            fits(value[name], form[known.get(name, "*")], f"{where}.{name}")
        missing = [name for name in form if name[-1] not in "?*" and name not in value]
        need(not missing, f"{where} lacks {missing}")
    elif isinstance(form, list):
        need(isinstance(value, list), f"{where} is no list")
        for i, element in enumerate(value):
            fits(element, form[0], f"{where}[{i}]")
    elif isinstance(form, set):
        need(isinstance(value, str) and value in form, f"{where} is {value!r}, want one of {sorted(form)}")
    else:
        need(form(value), f"{where} is {value!r}")


def integer(v):
    return isinstance(v, int) and not isinstance(v, bool)


def count(v):
    return integer(v) and 0 <= v < 1 << 63


def number(v):
    return (integer(v) or isinstance(v, float)) and math.isfinite(v)


def shortest(x):
    """The fewest decimal digits that read back as x: its sign, the digits, and the
    exponent of the first of them."""
    sign, digits, exponent = Decimal(repr(float(x))).normalize().as_tuple()
    digits = "".join(map(str, digits))
    return "-" if sign else "", digits, len(digits) - 1 + exponent if digits != "0" else 0


def scientific(x, width):
    sign, digits, exponent = shortest(x)
    mantissa = digits[0] + ("." + digits[1:] if digits[1:] else "")
    return f"{sign}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):0{width}d}"


def json_number(x):
    """A float64 as it stands in a document: with an exponent below 10^-6 and from
    10^21 on."""
    if x != 0 and not 1e-6 <= abs(x) < 1e21:
        return scientific(x, 1)
    return format(Decimal(repr(float(x))).normalize(), "f")


def plain(x):
    """A declared number as it stands in a sentence."""
    if x != 0 and not -4 <= shortest(x)[2] < 6:
        return scientific(x, 2)
    return format(Decimal(repr(float(x))).normalize(), "f")


DECLARED_DIGITS = 9         # that a number has which a person declares


def few_digits(x, up):
    """As plain, but with four digits, rounded up or to the nearest, if it has more than a
    person declares."""
    if len(shortest(x)[1]) <= DECLARED_DIGITS:
        return plain(x)
    text = f"{x:.3e}"
    y = float(text)
    if math.isinf(y):
        return plain(x)
    if up and y < x:
        mantissa, exponent = text.split("e")
        y = float(f"{int(mantissa.replace('.', '')) + 1}e{int(exponent) - 3}")
    return plain(y)


def at_most_digits(x):
    return few_digits(x, True)


ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def json_text(v, html):
    """A text in quotes; with html, < > & are escaped, as a configuration has them."""
    def escape(c):
        if c in ESCAPES:
            return ESCAPES[c]
        return f"\\u{ord(c):04x}" if c < " " or c in "\u2028\u2029" or html and c in "<>&" else c
    return '"' + "".join(map(escape, v)) + '"'


class Raw(str):
    """JSON text that is written as it is."""


def compact(value, html=False):
    """JSON without white space: float64 as floats, counts as integers."""
    if isinstance(value, dict):
        return "{" + ",".join(json_text(k, html) + ":" + compact(v, html) for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(compact(v, html) for v in value) + "]"
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, str):
        return json_text(value, html)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else json_number(value)


TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


def indented(compact_text):
    """The same JSON, indented by two spaces, with a line feed at the end."""
    out, depth, last = [], 0, ""
    for token in TOKENS.findall(compact_text):
        if token in "}]":
            depth -= 1
            if last not in ("{", "["):
                out.append("\n" + "  " * depth)
        elif last in ("{", "[", ","):
            out.append("\n" + "  " * depth)
        out.append(": " if token == ":" else token)
        depth += token in ("{", "[")
        last = token
    return "".join(out) + "\n"


WORDS = ("status", "headline", "statement", "text", "diagnostic", "guarantees", "digest")


def difference(stated, follows, path=""):
    """Names the first place where two documents differ."""
    if isinstance(stated, dict) and isinstance(follows, dict):
        for name in sorted([*follows, *stated], key=WORDS.__contains__):  # what sentences rest on first
            if stated.get(name) != follows.get(name):
                return difference(stated.get(name), follows.get(name), f"{path}.{name}")
    if isinstance(stated, list) and isinstance(follows, list) and len(stated) == len(follows):
        for i, pair in enumerate(zip(stated, follows)):
            if pair[0] != pair[1]:
                return difference(*pair, f"{path}[{i}]")
    return f"{path or '.'} is {stated!r}, but what it rests on gives {follows!r}"
