"""JSON: strict reading, and the forms of its values."""
import json
import math
from decimal import Decimal

from .refusal import need

integer = lambda v: isinstance(v, int) and not isinstance(v, bool)
count = lambda v: integer(v) and 0 <= v < 1 << 63
number = lambda v: (integer(v) or isinstance(v, float)) and math.isfinite(v)


def read_json(data, what):
    """JSON without NaN, infinities and members that stand twice, and with numbers in their shortest form."""
    constant = lambda name: need(False, f"{name} in the {what}")

    def members(pairs):
        names = [name for name, _ in pairs]
        need(len(set(names)) == len(names), f"a member stands twice in the {what}: {names}")
        return dict(pairs)

    def shortest(text):
        v = float(text)
        short = f"{Decimal(repr(v)).normalize():f}" if v == 0 or 1e-6 <= abs(v) < 1e21 else repr(v).replace("e-0", "e-")
        need(short == text, f"{text} in the {what} is no number in its shortest form")
        return v
    return json.loads(data, parse_constant=constant, object_pairs_hook=members, parse_float=shortest, parse_int=lambda text: int(text) if text != "-0" else -0.0)


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
