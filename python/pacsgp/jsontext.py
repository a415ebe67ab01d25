"""JSON: the canonical form, and the forms of its values."""
import json
import math
import re
from decimal import Decimal

from .refusal import need

integer = lambda v: isinstance(v, int) and not isinstance(v, bool)
count = lambda v: integer(v) and 0 <= v < 1 << 63
parse = lambda text: json.loads(text, parse_int=lambda digits: int(digits) if digits != "-0" else -0.0)
number = lambda v: math.isfinite(v) if isinstance(v, float) else integer(v) and abs(v) < 10 ** 21 and v == Decimal(repr(float(v)))
TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|-?[0-9][-+.0-9e]*')


def canonical(value, indent=None):
    """JSON with numbers in their shortest form, and without white space but this indentation."""
    def shortest(token):
        text = token[0]
        if text[0] == '"' or text.lstrip("-").isdigit():
            return text
        v = Decimal(text)
        return f"{v.normalize():f}" if v == 0 or 1e-6 <= abs(v) < 1e21 else text.replace("e-0", "e-")
    return TOKENS.sub(shortest, json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, separators=(",", ": " if indent else ":")))


def fits(value, form, where):
    """Refuses a value of another form. A form is a dict of the members of an object in their order, those with ? left
    out if they are empty or zero, those with ?? if they are not there; a list of the form of the elements; a
    set of texts; or a function that says whether it is right."""
    if isinstance(form, dict):
        need(isinstance(value, dict), f"{where} is no object")
        known = {name.rstrip("?"): name for name in form}
        wanted = [name for name, said in known.items() if said == name or name in value and (value[name] or said == name + "??")]
        need([*value] == wanted, f"{where} has the members {[*value]}, want {wanted} in this order")
        for name in value:
            fits(value[name], form[known[name]], f"{where}.{name}")
    elif isinstance(form, list):
        need(isinstance(value, list), f"{where} is no list")
        for i, element in enumerate(value):
            fits(element, form[0], f"{where}[{i}]")
    elif isinstance(form, set):
        need(isinstance(value, str) and value in form, f"{where} is {value!r}, want one of {sorted(form)}")
    else:
        need(form(value), f"{where} is {value!r}")
