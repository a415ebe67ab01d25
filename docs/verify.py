#!/usr/bin/env python3
"""Predict from a model file, and verify its certificate, without pacsgp.

A second implementation of docs/format.md on pyarrow, numpy and scipy. It shares
no code with the Go program, so that one need not trust either.

    verify.py MODEL --certificate CERT [--id ID] [DATA ...]
    verify.py MODEL --predict OUT [--certificate CERT] DATA ...

MODEL is a model file, CERT the certificate's JSON document or its row of Parquet,
DATA the files or directories of the lake in the order of the job. The whole document is derived
again from model, configuration and rows, sentences included, and compared to the
letter. Three kinds of numbers are held to bounds instead, because two programs
round differently: the sums of losses, KL, and what follows from them. Without
DATA the findings about the rows (roles, scaling, losses) are believed as stated.

What is declared is the maker's word and printed apart. Lines with NOT CHECKED say
what is not checked. One of these things is that training did not see the hold-out
rows: a model does not tell, and this program does not train. Exit status: 0
everything checked agrees, 1 something does not, 2 usage, 3 everything checked
agrees, but what is said about the mean rests on the maker's word alone.
"""
import argparse
import datetime
import hashlib
import json
import math
import os
import re
import struct
import sys
import unicodedata
import urllib.parse
from decimal import MAX_EMAX, MIN_EMIN, Decimal, getcontext
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.linalg import cho_solve, solve_triangular
from scipy.special import ndtr

getcontext().prec, getcontext().Emax, getcontext().Emin = 60, MAX_EMAX, MIN_EMIN
UNIT = 1 << 60            # losses are counted in units of 2^-60
XI_LIMIT = 10_000_000_000
BLOCK = 1024              # rows predicted at once
READ = 1 << 16            # rows read at once
START_ROWS = 8000         # of lowest rank, that training starts with
AGREEMENT = 1e-7          # of mean losses whose bounds were proven in two ways
ROW_RULES = ["values-present", "values-finite", "integers-exact"]


class Refused(Exception):
    """Something does not agree with the specification or the certificate."""


def need(condition, message):
    if not condition:
        raise Refused(message)


def ok(message):
    print("ok    " + message)


# ---------------------------------------------------------------------- JSON

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


def positive(v):
    return number(v) and v > 0


def share(v):
    return number(v) and 0 <= v <= 1


def weight(v):
    return integer(v) and 1 <= v <= 1000


def flag(v):
    return isinstance(v, bool)


def text(v):
    return isinstance(v, str)


def digest(v):
    return text(v) and re.fullmatch("[0-9a-f]{64}", v)


LOOKALIKES = "`´ʹʺʻʼʽˊˋ˝ˮ׳״′″‴‵‶‷〃ʾʿ＂＇｀❛❜❝❞❟❠🙶🙷🙸ᐦᑊ˵˶ꞌ՚՛᳓ߴߵ"
FILLERS = "\u115f\u1160\u2800\u3164\uffa0"  # printed as nothing
QUOTES = "\"'«»‘’‚‛“”„‟‹›⹂「」『』〝〞〟﹁﹂﹃﹄＂＇｢｣"  # Unicode's Quotation_Mark


def word(most):
    """The form of a word that stands in quotes: it cannot close them, and is
    printed as it is (format.md, 7)."""
    def right(v):
        if not (text(v) and 1 <= len(v) <= most and not any(c == "\\" or c in LOOKALIKES or c in QUOTES or c in FILLERS for c in v)
                and all(c == " " or unicodedata.category(c)[0] in "LMNPS" for c in v)):
            return False
        kinds = [unicodedata.category(c) for c in v]
        return all(k[0] != "M" or k != "Me" and i > 0 and kinds[i - 1][0] in "LM" for i, k in enumerate(kinds))
    return right


FROM_THE_RIGHT = ((0x590, 0x8FF), (0xFB1D, 0xFDFF), (0xFE70, 0xFEFF), (0x10800, 0x10FFF), (0x1E800, 0x1EFFF))  # blocks of scripts


def unit_word(v):
    """The form of a unit: nothing that runs from the right, and letters alone in a
    unit of several words."""
    return (word(32)(v) and not any(low <= ord(c) <= high for c in v for low, high in FROM_THE_RIGHT)
            and (" " not in v or all(c == " " or unicodedata.category(c)[0] == "L" for c in v)))


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


FAMILIES = {   # of kernels: values (below), and how often distance and value are rounded
    "squared-exponential": (lambda r: squared_exponential(r), 0, 12),
    "matern-3/2": (lambda r: matern(3 * r, lambda a: (1 + a, 3)), 2, 20),
    "matern-5/2": (lambda r: matern(5 * r, lambda a: (1 + a * (1 + a / 3), 5 / 3 * (1 + a))), 2, 20)}
KINDS = {"zero-one", "band", "squared", "exponential", "relative"}
TOLERANCES = {"epsilon?": positive, "below?": positive, "above?": positive}
AFFINE = {"name": word(128), "centre": number, "scale": positive}
PARAMETER = {"name": text, "index": count, "grid": {
    "min": number, "step": positive, "count": count, "prior": {"flat", "peaked"}, "centre?": count, "width?": positive}}
SUM = {"count": count, "sum": lambda v: text(v) and re.fullmatch("[0-9a-f]{32}", v)}
LOWER = {"exact": SUM, "lower": share}

METADATA = {
    "format": {"pacsgp-model/2"}, "kernel": {*FAMILIES}, "ard": flag, "theta": [PARAMETER],
    "features": [AFFINE], "target": AFFINE, "loss": {"kind": KINDS, **TOLERANCES}, "row_rules": [text],
    "lengthscales": [positive], "variance": positive, "jitter": positive, "inducing": count}

topic_name = lambda v: text(v) and re.fullmatch("[a-zA-Z0-9._-]{1,249}", v)
KERNEL = {"family": [{*FAMILIES}], "isotropic": flag}
ALTERNATIVE = {"loss?": {**TOLERANCES, "epsilon_std?": positive}, "features?": [word(128)], "exclude?": [word(128)],
               "kernel?": {name + "?": form for name, form in KERNEL.items()}}
SETTINGS = {
    "target": word(128), "features?": [word(128)], "exclude?": [word(128)], "delta": positive, "kernel": KERNEL,
    "loss": {"kind": KINDS, **TOLERANCES, "epsilon_std?": positive, "unit?": unit_word},
    "grid": {"min": number, "max": number, "step": lambda v: number(v) and v >= 0, "prior": {"flat", "peaked"}, "width": number},
    "inducing?": [count], "roles": {"key": word(128), "holdout?": share, "by?": {"first"}, "reference?": count}, "guarantees?": [{"id": {"pac-bayes", "holdout"}, "weight": weight}], "copies": {"policy": {"limited", "drop", "independent"}, "limit": share}, "bad_rows?": {"tolerance": share},
    "scaling": {"mode": {"reference", "all-rows", "declared"}, "features?": {"*": AFFINE}, "target?": AFFINE},
    "train": {"method?": {"kl-PAC-SGP", "sqrt-PAC-SGP", "kl-PAC-GP", "sqrt-PAC-GP", "full-GP", "VFE", "DTC", "FITC"}, "alpha?": number, "free_alpha?": flag, "evaluations?": count, "noise?": [positive],
              "mode": {"mini-batch", "full-pass", "arrival"}, "rows?": count, "batch?": count, "buffer?": count, "passes?": positive, "time_seconds?": positive, "seed": lambda v: integer(v) and 0 <= v < 1 << 64, "warm_start?": flag},
    "sweep?": [ALTERNATIVE], "alternative?": count, "delta_policy?": {"sequence", "each"}}

CERTIFICATE = {
    "format": {"pacsgp-certificate/2"},
    "guarantees": [{
        "id": {"holdout", "mean-2b", "pb-full"}, "predictor": text, "role": text, "method": text, "status": text, "headline": text, "statement": text,
        "loss": {"kind": KINDS, **TOLERANCES, "target": word(128)}, "delta": positive, "n": count,
        "empirical_risk": {"exact": SUM, "upper": share}, "lower_risk": LOWER,
        "unproven": count, "ln_inverse_delta": number, "bound": share, "lower_bound": share,
        **{f"{k}?": number for k in ("kl", "ln_inverse_weight", "ln_xi", "exponent", "bound_pinsker")}}],
    "baseline": {"constant": number, "origin": {"reference", "start"}, "empirical_risk": LOWER, "bound": share, "statement": text},
    "dependence": {"pairs": count, "correlation": number, "suspicious": flag},
    "copies": {"policy": {"limited", "drop", "independent"}, "limit": share, "distinct": count, "rows": count, "features": count},
    "accuracy": {"tau": positive},
    "assumptions": [{"id": text, "status": text, "text": text, "diagnostic?": text}],
    "ledger": {"unit": text, "rows": count, "reference": count, "train": count, "holdout": count, "copies": count, "bad": count},
    "sample": {"digest": digest, "targets": digest, "shards": count, "rows": count, "columns": [word(128)],
               "segments?": [{"topic": topic_name, "partition": count, "first": count, "end": count, "rows": count}]}, "row_rules": [text], "model": {"digest": digest},
    "configuration": {"digest": digest, "values": SETTINGS}, "kernel": {"family": {*FAMILIES}, "families": [{*FAMILIES}], "ard": flag},
    "theta": [{**PARAMETER, "value": number}], "roles": {"key": text}, "optimiser": {"seed": text}, "jitter": {"limit": positive, "holds": flag},
    "delta": {"declared": positive, "alternatives": count, "alternative": count, "methods": [{"id": {"pac-bayes", "holdout"}, "weight": weight}],
              "sequence?": {"policy": {"sequence", "each"}, "name": word(128), "number": lambda v: integer(v) and 1 <= v <= 1 << 40}},
    "declared": {"unit?": unit_word, "software": word(128), "attempt": {"on_these_rows": count, "in_this_log": count},
                 "training": {"machine": word(128), "hurried_after?": count, "ancestor?": {"certificate": digest, "model": digest, "rows": [{"topic": topic_name, "partition": count, "first": count, "end": count}]}},
                 "scaling?": [{"column": word(128), "centre": number, "scale": positive}]}}


# ----------------------------------------------------------------------- job

def members(*pairs):
    """An object with its members in this order, those left out that are zero or empty."""
    return {name: value for name, value in pairs if value}


def floats(d, *names):
    return [(name, float(d.get(name, 0))) for name in names]


def affine(a, name=None):
    return {"name": a["name"] if name is None else name, "centre": float(a["centre"]), "scale": float(a["scale"])}


def canonical_settings(v):
    """The settings as a run writes them into its certificate: members in their order,
    texts, counts and float64 numbers in their form. What a run would have refused is
    refused here."""
    scaling, train, grid, loss = v["scaling"], v["train"], v["grid"], v["loss"]
    job = {"target": v["target"], **members(("features", v.get("features")), ("exclude", v.get("exclude")))}
    job["loss"] = {"kind": loss["kind"], **members(*floats(loss, "epsilon", "epsilon_std", "below", "above"), ("unit", loss.get("unit")))}
    job["delta"], job["kernel"] = float(v["delta"]), {k: v["kernel"][k] for k in KERNEL}
    job["grid"] = {**dict(floats(grid, "min", "max", "step")), "prior": grid["prior"], "width": float(grid["width"])}
    job.update(members(("inducing", v.get("inducing"))))
    job["scaling"] = {"mode": scaling["mode"], **members(
        ("features", {k: affine(a, k) for k, a in sorted(scaling.get("features", {}).items(), key=lambda p: p[0].encode())}),
        ("target", "target" in scaling and affine(scaling["target"], v["target"])))}
    job["roles"] = {"key": v["roles"]["key"], **members(*floats(v["roles"], "holdout"), ("by", v["roles"].get("by")), ("reference", v["roles"].get("reference")))}
    job["copies"] = {"policy": v["copies"]["policy"], "limit": float(v["copies"]["limit"])}
    job.update({"bad_rows": {"tolerance": float(v["bad_rows"]["tolerance"])}} if v.get("bad_rows", {}).get("tolerance") else {})
    job["train"] = {**members(("method", train.get("method"))), **({"alpha": float(train["alpha"])} if "alpha" in train else {}),
                    **members(("free_alpha", train.get("free_alpha")), ("evaluations", train.get("evaluations")), ("noise", [float(x) for x in train.get("noise", [])])),
                    "mode": train["mode"], **members(("rows", train.get("rows")), ("batch", train.get("batch")), ("buffer", train.get("buffer")),
                                                     *floats(train, "passes", "time_seconds")), "seed": train["seed"], **members(("warm_start", train.get("warm_start")))}
    if "sweep" in v:
        job["sweep"] = [{
            **members(("loss", members(*floats(a.get("loss", {}), "epsilon", "epsilon_std", "below", "above")))),
            **{k: a[k] for k in ("features", "exclude") if k in a},
            **members(("kernel", {k: a["kernel"][k] for k in KERNEL if k in a["kernel"]} if "kernel" in a else None))} for a in v["sweep"]]
    job.update(members(("alternative", v.get("alternative"))))
    job.update(members(("guarantees", [{"id": m["id"], "weight": m["weight"]} for m in v.get("guarantees", [])])))
    job.update(members(("delta_policy", v.get("delta_policy"))))
    return job


def for_rows(job, n):
    """The job with the step (format.md, 6.2) and the methods (6.6) that it has on n rows, where it names none."""
    if not job["grid"]["step"]:
        job = {**job, "grid": {**job["grid"], "step": 0.25 if n < 30_000 else 0.05}}
    if "guarantees" in job:
        return job
    if n < 2000 or "by" in job["roles"]:
        return {**job, "guarantees": [{"id": "pac-bayes", "weight": 1}]}
    return {**job, "guarantees": [{"id": "pac-bayes", "weight": 1}, {"id": "holdout", "weight": 9}], "roles": {**job["roles"], "holdout": 0.1}}


def alternative(job):
    """The job that a certificate is about: of a sweep, the alternative that it names."""
    if "sweep" not in job:
        need("alternative" not in job, "the configuration names an alternative without a sweep")
        return job
    need(2 <= len(job["sweep"]) <= 100 and 1 <= job.get("alternative", 0) <= len(job["sweep"]), "the configuration does not say which alternative of its sweep this is")
    need(not any("exclude" in a and "features" not in a and "features" in job for a in job["sweep"]), "an alternative excludes what the job names")
    every = [with_changes(job, changes) for changes in job["sweep"]]
    for each in every:
        check_job(each)
    need(len({compact(each) for each in every}) == len(every), "two alternatives of the sweep are the same")
    return every[job["alternative"] - 1]


def with_changes(job, changes):
    """The job with what an alternative changes in it."""
    chosen, loss = dict(job), dict(job["loss"])
    if {"epsilon", "epsilon_std"} & changes.get("loss", {}).keys():
        loss.pop("epsilon", None), loss.pop("epsilon_std", None)
    chosen["loss"] = {**loss, **changes.get("loss", {})}
    if "features" in changes or "exclude" in changes:
        chosen.pop("features", None), chosen.pop("exclude", None)
        chosen.update({k: changes[k] for k in ("features", "exclude") if k in changes})
    chosen["kernel"] = {**job["kernel"], **changes.get("kernel", {})}
    return chosen


def check_job(job):
    """Refuses a job that no run would have accepted."""
    loss, grid, mode = job["loss"], job["grid"], job["scaling"]["mode"]
    methods, held = [m["id"] for m in job.get("guarantees", [{"id": "pac-bayes"}])], job["roles"].get("holdout", 0)
    tolerances = loss.keys() & {"epsilon", "epsilon_std", "below", "above"}
    right = {"band": tolerances == {"below", "above"}, "relative": not tolerances}.get(
        loss["kind"], tolerances in ({"epsilon"}, {"epsilon_std"}))
    for what, right in (
            ("the loss takes other tolerances", right),
            ("the families of kernels are no list without repetition", 1 <= len(job["kernel"]["family"]) == len({*job["kernel"]["family"]})),
            ("delta is not below 1", 0 < job["delta"] < 1),
            ("the target is a feature", job["target"] not in job.get("features", [])),
            ("features and exclude are both declared", not ("features" in job and "exclude" in job)),
            ("the grid is none", -300 <= grid["min"] < grid["max"] <= 300 and all(0 < s <= grid["max"] - grid["min"] and (grid["max"] - grid["min"]) / s <= 1e5 for s in ([grid["step"]] if grid["step"] else [0.25, 0.05]))),
            ("the width of the peaks is out of range", grid["width"] == 0 if grid["prior"] == "flat" else 0 < grid["width"] <= 100),
            ("scaling constants belong to declared scaling", mode == "declared" or job["scaling"].keys() == {"mode"}),
            ("a peaked prior needs reference rows for its centre", grid["prior"] == "flat" or mode == "reference"),
            ("standard deviations need reference rows", "epsilon_std" not in loss or mode != "declared"),
            ("declared scaling lacks its constants", mode != "declared" or {"features", "target"} <= job["scaling"].keys()),
            ("a number of inducing points is out of range", all(1 <= m <= 4000 for m in job.get("inducing", []))),
            ("roles.by first needs a number of reference rows, and reference rows", 2 <= job["roles"].get("reference", 0) <= 20000 and mode == "reference" if "by" in job["roles"] else "reference" not in job["roles"]),
            ("the methods are none", sorted(methods) in (["pac-bayes"], ["holdout", "pac-bayes"])),
            ("a share of hold-out rows belongs to the method holdout", 0 < held <= 0.9 if "holdout" in methods else held == 0),
            ("the shuffle buffer is empty", "method" in job["train"] or job["train"].get("buffer", 0) >= 1),
            ("the settings do not go with training while rows arrive", fits_arrival(job)),
            ("the settings of a method do not fit it", fits_method(job)),
            ("a limit of copies belongs to the policy limited", job["copies"]["policy"] == "limited" or job["copies"]["limit"] == 0)):
        need(right, "configuration: " + what)


def fits_method(job):
    """Whether the settings of train belong to its method, and lie within its limits."""
    train = job["train"]
    method, alpha = train.get("method"), train.get("alpha")
    if method is None:
        return not {"alpha", "free_alpha", "evaluations", "noise"} & train.keys()
    exact, bounds = method in ("kl-PAC-GP", "sqrt-PAC-GP", "full-GP"), "PAC" in method
    return (not {"batch", "passes", "buffer", "warm_start"} & train.keys() and not (exact and "inducing" in job)
            and (alpha is None or 0 <= alpha <= 1) and (not train.get("free_alpha") or bounds and alpha is not None and 0 < alpha < 1)
            and 0 <= train.get("evaluations", 0) <= 100000 and len(train.get("noise", [])) <= 1000
            and all(1e-8 <= v <= 1e8 for v in train.get("noise", [])))


def fits_arrival(job):
    """Whether the settings allow a training that begins before all rows are there, if they name one."""
    train = job["train"]
    if train["mode"] != "arrival":
        return "rows" not in train
    return ("method" not in train and "by" in job["roles"] and len(job["kernel"]["family"]) == 1 and len(job.get("inducing", [])) <= 1
            and job["copies"]["policy"] != "drop" and "time_seconds" not in train
            and ("rows" not in train or job["roles"]["reference"] < train["rows"] <= 1 << 30))


def reference_count(n, job):
    """How many of n rows are reference rows."""
    if job["scaling"]["mode"] != "reference":
        return 0
    if "by" in job["roles"]:
        return min(n, job["roles"]["reference"])
    return min(20000, max(n // 20, min(200, n // 10)))


def grid_count(grid):
    return int((grid["max"] - grid["min"]) / grid["step"] + 1e-6) + 1


def inducing_most(job, train, d):
    """The largest number of inducing points that the job allows (format.md, 2)."""
    method = job["train"].get("method", "")
    if method in ("kl-PAC-GP", "sqrt-PAC-GP", "full-GP"):
        return 4000
    if "inducing" in job:
        return max(job["inducing"])
    return 500 if method else inducing_rule(train, d)


def inducing_rule(n, d):
    """The largest number of inducing points of a job that lists none (format.md, 2)."""
    x = min(n, 2000, 9 * math.sqrt(n), 300 * d)
    return math.floor(x + 0.5)


# ---------------------------------------------------------------- model file

SEAL = b"pacsgp-sha256\x18\x40"


class Model:
    """The numbers of a model file (format.md, 2)."""

    def __init__(self, path):
        with open(path, "rb") as f:
            data = f.read()
        self.digest = hashlib.sha256(data).hexdigest()
        at = data.rfind(SEAL)
        need(at >= 0, "the model file has no checksum")
        at += len(SEAL)
        seal = hashlib.sha256(data[:at] + b"0" * 64 + data[at + 64:]).hexdigest()
        need(data[at:at + 64] == seal.encode(), "the model file is damaged")
        f = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
        self.text = f.schema_arrow.metadata[b"pacsgp"].decode()
        self.meta = meta = read_json(self.text, "model's metadata")
        fits(meta, METADATA, "the model's metadata")
        table = f.read()
        need(table.column_names == ["z", "mean", "l", "s"], f"the model file has the columns {table.column_names}")
        for name, t in zip(table.column_names, table.schema.types):
            need(t == pa.float64() if name == "mean" else pa.types.is_list(t) and t.value_type == pa.float64(), f"the column {name} of the model file is {t}")
        need(table.num_rows == meta["inducing"], "the number of rows is not that of the metadata")
        d = len(meta["features"])
        self.z = rows_of(table["z"], lambda i: d).reshape(-1, d)
        self.mean = table["mean"].to_numpy()
        self.l = lower_triangle(table["l"], len(self.mean))
        self.c = lower_triangle(table["s"], len(self.mean))
        for a in (self.z, self.mean, self.l, self.c):
            need(np.isfinite(a).all(), "a number of the model is not finite")
        need((self.l.diagonal() > 0).all() and (self.c.diagonal() > 0).all(), "a diagonal is not positive")
        self.features = [f["name"] for f in meta["features"]]
        need(len({*self.features, meta["target"]["name"]}) == d + 1, "two columns have one name")
        self.centre = np.array([float(f["centre"]) for f in meta["features"]])
        self.scale = np.array([float(f["scale"]) for f in meta["features"]])
        self.target, self.loss = affine(meta["target"]), meta["loss"]
        self.lengthscales = np.array(meta["lengthscales"], dtype=float)
        self.variance, self.jitter = float(meta["variance"]), float(meta["jitter"])
        need(len(self.lengthscales) == d, "there are not as many lengthscales as features")
        for p in meta["theta"]:
            need(p["index"] < p["grid"]["count"] <= 100_001 and p["grid"].get("centre", 0) < p["grid"]["count"], f"{p['name']!r} is not on its grid")

    def scale_features(self, raw):
        """x in scaled units: one difference, one quotient."""
        return (raw - self.centre) / self.scale

    def scale_target(self, y):
        return (y - self.target["centre"]) / self.target["scale"]

    def tau(self):
        """How near to the exact mean a reader's prediction has to be, in raw units (format.md, 5.3)."""
        part = 2.0 ** -20
        if self.loss["kind"] == "band":
            return min(self.loss["below"], self.loss["above"]) * part
        return (self.target["scale"] if self.loss["kind"] == "relative" else self.loss["epsilon"]) * part


def rows_of(column, size):
    """The values of a list column, whose list i must have size(i) elements."""
    lists = column.combine_chunks()
    lists = lists.chunk(0) if isinstance(lists, pa.ChunkedArray) else lists
    lengths = lists.value_lengths().to_numpy(zero_copy_only=False)
    need(all(n == size(i) for i, n in enumerate(lengths)), "a list has another length than the format says")
    return lists.flatten().to_numpy(zero_copy_only=False)


def lower_triangle(column, m):
    a = np.zeros((m, m))
    a[np.tril_indices(m)] = rows_of(column, lambda i: i + 1)
    return a


def exponential(x):
    """e^x, rounded to the nearest float64: Decimal has 60 digits, and reading is rounded correctly."""
    return float(Decimal(x).exp())


def describe(model, job, columns):
    """The metadata that a model file must have: all that follows from the job and the
    scaling (columns: the features, then the target), with what only the model can
    tell, which are the family, indices and peaks on the grid, jitter and size."""
    *features, target = [affine(a) for a in columns]
    need(len(job.get("features", features)) == len(features), f"the job has {len(job.get('features', []))} features, the model {len(features)}")
    for a, name in zip(features, job.get("features", model.features)):
        a["name"] = name
    target["name"] = job["target"]
    need(model.meta["kernel"] in job["kernel"]["family"], f"the kernel is {model.meta['kernel']}, the job declares {job['kernel']['family']}")
    loss = job["loss"]
    epsilon = loss["epsilon_std"] * target["scale"] if "epsilon_std" in loss else loss.get("epsilon", 0.0)
    ard = not job["kernel"]["isotropic"]
    names = [f"ln lengthscale of {a['name']}" for a in features] if ard else ["ln lengthscale"]
    names.append("ln variance")
    need(len(names) == len(model.meta["theta"]), f"{len(model.meta['theta'])} hyper-parameters for {len(features)} features, want {len(names)}")
    grid = {"min": job["grid"]["min"], "step": job["grid"]["step"], "count": grid_count(job["grid"]), "prior": job["grid"]["prior"]}
    theta = []
    for name, p in zip(names, model.meta["theta"]):
        own = dict(grid)
        if grid["prior"] == "peaked":
            own.update(members(("centre", p["grid"].get("centre", 0)), ("width", job["grid"]["width"])))
        theta.append({"name": name, "grid": own, "index": p["index"]})
    values = [value_of(p) for p in theta]
    spread = values[:-1] if ard else values[:1] * len(features)
    return {
        "format": "pacsgp-model/2", "kernel": model.meta["kernel"], "ard": ard, "theta": theta, "features": features, "target": target,
        "loss": {"kind": loss["kind"], **members(("epsilon", epsilon), *floats(loss, "below", "above"))},
        "row_rules": ROW_RULES, "lengthscales": [exponential(v) for v in spread], "variance": exponential(values[-1]),
        "jitter": model.jitter, "inducing": len(model.mean)}


def value_of(p):
    """The value of a hyper-parameter on its grid, product and sum rounded each."""
    return p["grid"]["min"] + p["index"] * p["grid"]["step"]


# ---------------------------------------------------------------------- lake

def data_files(paths):
    """Files in the order of their rows (format.md, 4.1)."""
    seen, files = set(), []
    for path in paths:
        found = [path] if not os.path.isdir(path) else [
            os.path.join(folder, name)
            for folder, folders, names in os.walk(path, followlinks=True)
            for name in names
            if name.lower().endswith((".parquet", ".parq", ".pq")) and not name.startswith(("_", "."))
            and not any(part.startswith(("_", ".")) for part in os.path.relpath(folder, path).split(os.sep) if part != ".")]
        need(found, f"{path} holds no data file (this program reads Parquet alone, no Arrow files)")
        for f in sorted(found, key=lambda p: os.path.normpath(p).replace(os.sep, "/").encode()):
            real = os.path.realpath(f)
            if real not in seen:
                seen.add(real)
                files.append(f)
    return files


def hive_keys(path):
    keys = {}
    for part in os.path.dirname(path).replace(os.sep, "/").split("/"):
        name, equals, value = part.partition("=")
        if equals and name:
            keys[urllib.parse.unquote(name)] = urllib.parse.unquote(value)
    return keys


def hive_number(value):
    """A key's value, or NaN for a text, which a date is too."""
    if not re.fullmatch(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?", value):
        return math.nan
    return float(value) if math.isfinite(float(value)) else math.nan


def numbers(column, name):
    """A column as float64, with NaN for what is null (format.md, 4.2)."""
    t = column.type
    if isinstance(t, pa.DictionaryType):
        return numbers(column.dictionary_decode(), name)
    if isinstance(t, pa.BaseExtensionType):
        return numbers(column.storage, name)
    if pa.types.is_duration(t):  # that it is no plain integer only Arrow's own note says
        column, t = column.cast(pa.int64()), pa.int64()
    if pa.types.is_float32(t) or pa.types.is_float64(t) or pa.types.is_boolean(t):
        return column.cast(pa.float64()).to_numpy(zero_copy_only=False).astype(float)
    valid = ~column.is_null().to_numpy(zero_copy_only=False)
    divisor = 1
    if pa.types.is_decimal(t):
        divisor = 10 ** t.scale
        ints = [0 if v is None else int(v.scaleb(t.scale)) for v in column.to_pylist()]
    elif pa.types.is_date(t):
        epoch = datetime.date(1970, 1, 1)
        ints = [0 if v is None else (v - epoch).days * 86400 for v in column.to_pylist()]
    elif pa.types.is_timestamp(t):
        divisor = {"s": 1, "ms": 10 ** 3, "us": 10 ** 6, "ns": 10 ** 9}[t.unit]
        ints = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    elif pa.types.is_integer(t):
        ints = column.fill_null(0).to_numpy(zero_copy_only=False)
    else:
        raise Refused(f"column {name!r} of type {t} is no number")
    time = pa.types.is_timestamp(t)
    if isinstance(ints, np.ndarray) and all(abs(int(b)) <= 2 ** 53 for b in (ints.min(initial=0), ints.max(initial=0))):
        values = ints.astype(float) / divisor
    else:  # Python divides integers correctly rounded
        values = np.array([int(v) / divisor if time or abs(int(v)) <= 2 ** 53 else math.nan for v in ints], dtype=float)
    return np.where(valid, values, np.nan)


BAD = np.frombuffer(b"\1\0\0\0\0\0\xf8\x7f", "<f8")[0]  # what a digest takes a bad cell for


class Lake:
    """The rows of the files that the paths mean, read in blocks. Unless bad rows are
    tolerated, the first one is an error."""

    tolerant = False

    def __init__(self, paths):
        self.files = data_files(paths)
        self.groups = []  # (file, row group, rows), one for each shard
        for path in self.files:
            meta = pq.ParquetFile(path).metadata
            self.groups += [(path, g, meta.row_group(g).num_rows) for g in range(meta.num_row_groups) if meta.row_group(g).num_rows]
        self.rows = sum(rows for _, _, rows in self.groups)

    def blocks(self, columns):
        """Yields (shard, first ordinal, values [len(columns), rows]) in the order of the rows."""
        first, opened = 0, None
        for shard, (path, g, _) in enumerate(self.groups):
            if opened != path:
                f, keys, opened = pq.ParquetFile(path), hive_keys(path), path
                stored = [c for c in columns if c in f.schema_arrow.names]
                for name in columns:
                    need((name in stored) + (name in keys) == 1, f"{path} has no column {name!r}, or two")
            for batch in f.iter_batches(batch_size=READ, row_groups=[g], columns=stored):
                out = np.empty((len(columns), batch.num_rows))
                for j, name in enumerate(columns):
                    out[j] = numbers(batch.column(batch.schema.get_field_index(name)), name) if name in stored else hive_number(keys[name])
                bad = ~np.isfinite(out)
                need(self.tolerant or not bad.any(), f"row {first + int(bad.any(0).argmax())} breaks the row rules")
                out[bad] = BAD
                yield shard, first, out
                first += batch.num_rows

    def default_columns(self, target, exclude):
        """The numeric columns that all files have, sorted bytewise, without the target
        and what is excluded; times have to be asked for."""
        def numeric(t):
            t = t.value_type if isinstance(t, pa.DictionaryType) else t
            t = t.storage_type if isinstance(t, pa.BaseExtensionType) else t
            return pa.types.is_integer(t) or pa.types.is_duration(t) or pa.types.is_float32(t) or pa.types.is_float64(t) or pa.types.is_boolean(t) or pa.types.is_decimal(t)
        keys = [hive_keys(path) for path in self.files]
        texts = {name for k in keys for name, value in k.items() if math.isnan(hive_number(value))}
        common = None
        for path, k in zip(self.files, keys):
            schema = pq.ParquetFile(path).schema_arrow
            every = schema.names + list(k)
            usable = {f.name for f in schema if numeric(f.type)} | (k.keys() - texts)
            usable = {name for name in usable if every.count(name) == 1 and name}
            common = usable if common is None else common & usable
        return sorted(common - {target, *exclude}, key=str.encode)


class Digests:
    """Digest of the sample and of its targets (format.md, 4.3 and 4.6), block by block."""

    def __init__(self, lake, columns):
        self.lake, self.columns, self.shard = lake, columns, None
        self.whole = hashlib.sha256(b"pacsgp/sample/1\0" + struct.pack("<Q", len(lake.groups)))
        self.sum = 0

    def add(self, shard, first, block):
        if shard != self.shard:
            self.close()
            self.shard, self.parts = shard, [hashlib.sha256() for _ in range(self.columns)]
            self.head = b"pacsgp/shard/1\0" + struct.pack("<QQQ", first, self.lake.groups[shard][2], self.columns)
        for part, column in zip(self.parts, block):
            part.update(np.ascontiguousarray(column).astype("<f8").tobytes())
        values, times = np.unique(block[-1] + 0.0, return_counts=True)  # -0.0 + 0.0 is 0.0
        for y, n in zip(values.tolist(), times.tolist()):
            y = struct.pack("<d", y) if y == y else BAD.tobytes()
            self.sum += n * int.from_bytes(hashlib.sha256(b"pacsgp/target/1\0" + y).digest(), "little")

    def close(self):
        if self.shard is not None:
            self.whole.update(hashlib.sha256(self.head + b"".join(p.digest() for p in self.parts)).digest())
            self.shard = None

    def found(self):
        self.close()
        targets = hashlib.sha256(b"pacsgp/targets/1\0" + struct.pack("<Q", self.lake.rows) + (self.sum % 2 ** 256).to_bytes(32, "little"))
        return self.whole.hexdigest(), targets.hexdigest()


def ranked_rows(key, n, k, share, place=None):
    """Ordinals of the hold-out rows, ascending, and of the k other rows of lowest rank, in
    the order of their rank; with a place, before which all are reference rows, of the others
    among the first ones (format.md, 4.4)."""
    apart, held = (1 << 64) - int(Fraction(share) * (1 << 64)), []
    prefix = b"pacsgp/roles/1\0" + key.encode() + b"\0"
    hashes, ordinals = np.empty(0, np.uint64), np.empty(0, np.int64)
    for first in range(0, n, 1 << 20):
        last = min(n, first + (1 << 20))
        more = np.fromiter((int.from_bytes(hashlib.sha256(prefix + struct.pack(">Q", i)).digest()[:8], "big")
                            for i in range(first, last)), dtype=np.uint64, count=last - first)
        out = more >= np.uint64(apart) if apart < 1 << 64 else np.zeros(len(more), dtype=bool)
        out[:max(0, (place or 0) - first)] = False
        held.append(first + np.flatnonzero(out))
        hashes, ordinals = np.append(hashes, more[~out]), np.append(ordinals, first + np.flatnonzero(~out))
        best = np.argsort(hashes, kind="stable")[:k]  # of equal hashes the lower ordinal
        hashes, ordinals = hashes[best], ordinals[best]
    if place is not None:
        ordinals = ordinals[ordinals < max(place, START_ROWS)]
        ordinals = np.concatenate([ordinals[ordinals < place], ordinals[ordinals >= place]])
    return np.concatenate(held), ordinals


class Neighbours:
    """Correlation of the targets of consecutive rows (format.md, 7): plain sums by
    shard, in the order of the rows, of values less the shard's first one. Then the
    shards are added up in their order, moved to values less the first of all."""

    def __init__(self):
        self.shard = None
        self.rows = self.last = self.sum = self.squares = self.products = 0.0

    def add(self, shard, y):
        if not len(y):
            return
        if shard != self.shard:
            self.close()
            self.shard, self.of = shard, [0, float(y[0]), 0.0, 0.0, 0.0, 0.0]
        n, first, last, total, squares, products = self.of
        self.block_last = float(y[-1])
        y = y - first
        products = in_order(products, y * np.append(last, y[:-1]))
        self.of = [n + len(y), first, y[-1], in_order(total, y), in_order(squares, y * y), products]

    def close(self):
        if self.shard is None:
            return
        n, first, last, total, squares, products = self.of
        if self.rows == 0:
            self.first = first
        d = first - self.first
        if self.rows:
            self.products = self.products + d * (self.last - self.first)
        self.products = self.products + ((products + d * (2 * total - last)) + ((n - 1) * d) * d)
        self.sum = self.sum + (total + n * d)
        self.squares = self.squares + ((squares + (2 * d) * total) + (n * d) * d)
        self.rows, self.last, self.shard = self.rows + n, self.block_last, None

    def found(self):
        self.close()
        mean = self.sum / self.rows
        variance = self.squares / self.rows - mean * mean
        r, pairs = 0.0, int(self.rows) - 1
        if pairs and 0 < variance < math.inf:
            r = (self.products / pairs - mean * mean) / variance
            r = 0.0 if math.isnan(r) else max(-1.0, min(1.0, r))
        return {"pairs": pairs, "correlation": float(r), "suspicious": bool(pairs > 30 and r * r * pairs > 15.21)}


def in_order(start, values):
    """start + values[0] + values[1] + …, each sum rounded: cumsum adds one after the other."""
    return np.cumsum(np.append(start, values))[-1]


def standardise(x):
    """Mean and population standard deviation of the usual values, summed in order
    (format.md, 4.5)."""
    if x.min() == x.max():
        return float(x[0]), 0.0
    ordered, last = np.sort(x), len(x) - 1
    low, middle, high = (ordered[last * i // 10] for i in (1, 5, 9))
    if 1e4 * (high - low) > 0:
        x = x[np.abs(x - middle) <= 1e4 * (high - low)]
    mean = in_order(0.0, x) / len(x)
    return float(mean), math.sqrt(in_order(0.0, (x - mean) ** 2) / len(x))


class Copies:
    """Rows that equal an earlier row, by 128-bit hashes: some 100 bytes a row while they
    are sorted, the one thing here that grows with the rows (format.md, 4.7)."""

    def __init__(self, lake, columns):
        self.lake = lake
        every, features, good = bytearray(), bytearray(), []
        for _, first, block in lake.blocks(columns):
            good.append(first + np.flatnonzero(~np.isnan(block).any(0)))
            block = block[:, good[-1] - first]
            rows = np.ascontiguousarray((block + 0.0).T)  # -0 equals 0
            whole, part = rows.shape[1] * 8, (rows.shape[1] - 1) * 8
            data = rows.tobytes()
            for at in range(0, len(data), whole):
                every += hashlib.blake2b(data[at:at + whole], digest_size=16).digest()
                features += hashlib.blake2b(data[at:at + part], digest_size=16).digest()
        first = np.unique(np.frombuffer(every, dtype="V16"), return_index=True)[1]
        good = np.concatenate(good)
        self.bad, self.later = np.ones(lake.rows, dtype=bool), np.zeros(lake.rows, dtype=bool)
        self.bad[good], self.later[good] = False, True
        self.later[good[first]] = False
        self.counts = {"distinct": len(first), "rows": len(good) - len(first),
                       "features": len(good) - len(np.unique(np.frombuffer(features, dtype="V16")))}


def within(ordinals, first, rows):
    return ordinals[(ordinals >= first) & (ordinals < first + rows)]


class Survey:
    """What a pass over the rows finds without the model: copies, digests, neighbours,
    and the rows that scaling, constant and start values come from. It keeps no other
    row."""

    def __init__(self, lake, columns, job):
        self.lake, self.job = lake, job
        k = reference_count(lake.rows, job)
        found = Copies(lake, columns)
        self.copies, self.bad, self.dropped = found.counts, int(found.bad.sum()), 0
        self.gone = found.bad  # rows that are used for nothing
        if job["copies"]["policy"] == "drop":
            self.gone, self.dropped = found.bad | found.later, int(found.later.sum())
        held, ranked = ranked_rows(job["roles"]["key"], lake.rows, lake.rows if self.gone.any() or "by" in job["roles"] else max(START_ROWS, k), job["roles"].get("holdout", 0),
                                   k if "by" in job["roles"] else None)
        self.holdout = self.used(held)
        self.reference = np.sort(self.used(ranked[:k]))
        self.start = self.used(ranked)[:max(START_ROWS, k)]  # in the order of their rank
        self.targets_from = self.reference if len(self.reference) else np.sort(self.start[:START_ROWS])
        self.train = lake.rows - len(self.reference) - len(self.holdout) - int(self.gone.sum())
        self.wanted, kept = np.union1d(self.start, self.reference), []
        digests, neighbours = Digests(lake, len(columns)), Neighbours()
        for shard, first, block in lake.blocks(columns):
            digests.add(shard, first, block)
            neighbours.add(shard, block[-1, ~self.gone[first:first + block.shape[1]]])
            kept.append(block[:, self.wanted[(self.wanted >= first) & (self.wanted < first + block.shape[1])] - first])
        self.digest, self.targets = digests.found()
        self.dependence = neighbours.found()
        self.kept = np.concatenate(kept, axis=1)

    def used(self, ordinals):
        return ordinals[~self.gone[ordinals]]

    def is_train(self, first, rows):
        """Which rows from the ordinal first on are train rows."""
        train = ~self.gone[first:first + rows]
        for others in (self.reference, self.holdout):
            train[within(others, first, rows) - first] = False
        return train

    def values(self, ordinals):
        """Some of the rows that were kept, [columns, len(ordinals)]."""
        return self.kept[:, np.searchsorted(self.wanted, ordinals)]

    def scaling(self, model):
        """Centre and scale of each column, as far as job and rows tell."""
        mode, columns = self.job["scaling"]["mode"], model.meta["features"] + [model.meta["target"]]
        if mode == "reference":
            found = [standardise(column) for column in self.values(self.reference)]
            return [{"name": a["name"], "centre": c, "scale": s} for a, (c, s) in zip(columns, found)]
        return declared_scaling(self.job, columns)

def declared_scaling(job, columns):
    """The scaling that a job declares; the model's own where all rows decide, which is a
    broken assumption: there is nothing to hold it to."""
    if job["scaling"]["mode"] != "declared":
        return columns
    features, target = job["scaling"]["features"], job["scaling"]["target"]
    for a in columns[:-1]:
        need(a["name"] in features, f"the job declares no scaling of the feature {a['name']!r}")
    return [features[a["name"]] for a in columns[:-1]] + [{**target, "name": columns[-1]["name"]}]


# ------------------------------------------------------------ start and peaks

def different_starts(survey, model):
    """How many start rows differ in their scaled features."""
    rows = model.scale_features(survey.values(survey.start)[:-1].T)
    return len(np.unique(rows + 0.0, axis=0))


def estimate(x, y, family, ard):
    """ln of lengthscales and variance that fit the reference rows, for the centre of a
    peaked prior (format.md, 6.2): 50 steps of Adam on the log evidence of an exact
    process with noise, on the first 1000 rows."""
    x, y = x[:1000], y[:1000]
    n, d = x.shape
    scales = d if ard else 1
    theta = np.zeros(scales + 2)                    # lengthscales, variance, noise
    theta[:scales], theta[-1] = 0.5 * math.log(d), math.log(0.1)
    best, at = math.inf, theta.copy()
    mean, square = np.zeros_like(theta), np.zeros_like(theta)
    for step in range(50):
        value, gradient = negative_log_evidence(x, y, theta, family, ard)
        off = (theta[:scales] - 0.5 * math.log(d)) / 2   # a normal prior on ln lengthscales
        value += 0.5 * off @ off
        gradient[:scales] += off / 2
        if value < best:
            best, at = value, theta.copy()
        mean = 0.9 * mean + (1 - 0.9) * gradient
        square = 0.99 * square + (1 - 0.99) * gradient * gradient
        direction = mean / (1 - 0.9 ** (step + 1)) / (np.sqrt(square / (1 - 0.99 ** (step + 1))) + 1e-12)
        theta = np.clip(theta - 0.15 * (1 - 0.8 * step / 50) * direction, -6, 6)
        theta[-1] = max(math.log(1e-4), theta[-1])
    at[:scales] += math.log(1.5)                    # the bound likes smoother functions
    return at[:-1]


def negative_log_evidence(x, y, theta, family, ard):
    """½ yᵀK⁻¹y + ½ ln det K and its derivatives in theta."""
    n, d = x.shape
    scaled = x * np.exp(-theta[:-2])
    variance, noise = math.exp(theta[-2]), math.exp(theta[-1])
    squares = np.zeros((n, n))
    for column in scaled.T:
        squares += (column[:, None] - column) ** 2
    value, slope, _ = FAMILIES[family][0](squares)
    k = variance * value
    l = np.linalg.cholesky(k + (noise + 1e-8 * variance) * np.eye(n))
    inverse = cho_solve((l, True), np.eye(n))
    alpha = inverse @ y
    w = 0.5 * (inverse - np.outer(alpha, alpha))
    g = w * variance * slope
    gradient = np.empty(len(theta))
    by_feature = [2 * (column * (column * g.sum(1) - g @ column)).sum() for column in scaled.T]
    gradient[:-2] = by_feature if ard else sum(by_feature)
    gradient[-2], gradient[-1] = (w * k).sum(), np.trace(w) * noise
    return 0.5 * y @ alpha + np.log(l.diagonal()).sum(), gradient


def check_peaks(model, job, survey):
    """The peaks stand at one of the two places beside the estimate (format.md, 6.2)."""
    rows = survey.values(survey.reference)
    estimates = estimate(model.scale_features(rows[:-1].T), model.scale_target(rows[-1]), model.meta["kernel"], model.meta["ard"])
    for p, at in zip(model.meta["theta"], estimates):
        grid, apart = p["grid"], spacing(p["grid"])
        place = (at - grid["min"]) / (grid["step"] * apart)
        beside = [apart * max(0, min((grid["count"] - 1) // apart, k)) for k in (math.floor(place), math.ceil(place))]
        need(grid.get("centre", 0) in beside, f"the reference rows put the peak of {p['name']!r} at the index {beside[0]} or {beside[1]}, the certificate at {grid.get('centre', 0)}")
    ok("the peaks of the weights stand beside the estimate from the reference rows")


def check_inducing(model, job, survey):
    """A number of inducing points that the list of the job does not have is that of the
    different start rows, or fewer: training makes do with them."""
    m = len(model.mean)
    if "inducing" in job and m not in job["inducing"]:
        different = different_starts(survey, model)
        need(any(m <= different < listed for listed in job["inducing"]),
             f"the model has {m} inducing points, the job lists {job['inducing']}, and there are {different} different start rows")


def check_default_features(model, job, lake, survey):
    """Without a list, the features are all numeric columns that are not constant on the
    rows that the scaling comes from."""
    if "features" in job:
        return
    columns = lake.default_columns(job["target"], job.get("exclude", []))
    more = [name for name in columns if name not in model.features]
    need([name for name in columns if name in model.features] == model.features,
         f"the model has features that are not among the default ones, {columns}")
    if more:
        mode = job["scaling"]["mode"]
        need(mode != "declared", f"the data have the columns {more}, which the job does not leave out")
        wanted, kept = survey.reference, []
        for _, first, block in lake.blocks(more):
            mine = wanted[(wanted >= first) & (wanted < first + block.shape[1])] - first
            kept.append(block if mode == "all-rows" else block[:, mine])
        for name, column in zip(more, np.concatenate(kept, axis=1)):
            column = column[~np.isnan(column)]
            need(not len(column) or not standardise(column)[1] > 0, f"the data have the column {name!r}, which the job does not leave out")
    ok("the features are those that the job's rule gives on these data")


# ----------------------------------------------------------------- laws of f

U = 2.0 ** -53
OUTWARDS = 1 + 2.0 ** -30   # for the rounding of the bounds themselves
STEP = 64                   # terms that a product of matrices adds at a time
TAIL = 2.0 ** -400          # of the variance: what underflow may hide in a kernel value


def gamma(n):
    """The relative error of n roundings."""
    return n * U / (1 - n * U) * OUTWARDS


def length(x):
    return math.sqrt(float(np.sum(np.square(x)))) * OUTWARDS * (1 + gamma(np.size(x)))


def products(a, b):
    """a @ b, added STEP terms at a time: each term is rounded at most
    STEP + terms/STEP + 2 times, in whatever order the library adds."""
    out = np.zeros(a.shape[:-1] + b.shape[1:])
    for i in range(0, a.shape[-1], STEP):
        out += a[..., i:i + STEP] @ b[i:i + STEP]
    return out


def exact_products(a, b):
    """Two arrays whose sum is a·b exactly, but for underflow (Veltkamp, Dekker)."""
    def halves(x):
        t = 134217729.0 * x
        high = t - (t - x)
        return high, x - high
    p, (a1, a2), (b1, b2) = a * b, halves(a), halves(b)
    return p, a2 * b2 - (((p - a1 * b1) - a2 * b1) - a1 * b2)


def squared_exponential(r):
    """Of a kernel of variance 1 at squared scaled distances r: the value, −2 times its
    derivative there, and by how much at most its logarithm moves with that of the distance."""
    e = np.exp(-0.5 * r)
    return e, e, r


def matern(squares, factors):
    """The same of factors times exp(−a), a² = squares."""
    a = np.sqrt(squares)
    e = np.exp(-a)
    value, slope = factors(a)
    return value * e, slope * e, a


def kernel(model, x):
    """k(x, Z) [len(x), M], and a bound on the error of each value."""
    r = np.zeros((len(x), len(model.z)))
    with np.errstate(over="ignore"):
        for j, l in enumerate(model.lengthscales):
            r += ((x[:, j, None] - model.z[None, :, j]) / l) ** 2
    profile, distance, rest = FAMILIES[model.meta["kernel"]]
    value, _, moves = profile(np.minimum(r, 4e5))  # beyond is nothing, and there is no 0·∞
    k = model.variance * value
    return k, k * ((0.51 * gamma(model.z.shape[1] + 6) + distance * U) * moves + rest * U)


class Laws:
    """Means and variances of f(x) under Q, with proven bounds on their errors against
    the stored numbers in exact arithmetic (docs/proofs.md, 12).

    Kernel values come from direct differences, so that their error is relative. φ is
    found by substitution in blocks, the mean with weights that a residual in exact
    arithmetic has corrected. The bounds rest on the jitter condition, which
    check_jitter proves; where it fails nothing is known."""

    def __init__(self, model, holds):
        self.model, m = model, len(model.mean)
        self.sigma2 = model.variance
        self.sigma = math.sqrt(model.variance) * OUTWARDS
        self.gamma = gamma(STEP + m / STEP + 8)
        self.sums = gamma(m + 8)
        self.size, self.spread_root = length(model.l), length(model.c)
        self.inverse = self.inverse_norm() if holds else math.inf                     # ≥ ‖L⁻¹‖
        s = products(model.c, model.c.T)
        row_sums = np.abs(s).sum(1).max() * OUTWARDS + m * self.gamma * self.spread_root ** 2
        self.spread = min(row_sums, self.spread_root ** 2) * OUTWARDS                 # ≥ ‖C‖²
        self.weights, rest = self.unwhitened()
        self.residual = self.sigma * length(rest) if holds else math.inf
        self.both = np.stack([self.weights, np.abs(self.weights)], axis=1)
        self.diagonal = [np.ascontiguousarray(model.l[i:i + STEP, i:i + STEP]) for i in range(0, m, STEP)]

    def inverse_norm(self):
        """A bound on ‖L⁻¹‖: that of an approximate inverse X, with what is proven of
        I − XL, or what the jitter condition gives, L Lᵀ ⪰ j/2."""
        l = self.model.l
        x = solve_triangular(l, np.eye(len(l)), lower=True, check_finite=False)
        size = length(x)
        rest = length(np.eye(len(l)) - products(x, l)) + self.gamma * size * self.size
        norm = min(size, math.sqrt(np.abs(x).sum(0).max() * np.abs(x).sum(1).max()))
        least = math.sqrt(2 / self.model.jitter)
        return (min(least, norm / (1 - rest)) if rest < 0.5 else least) * OUTWARDS

    def unwhitened(self):
        """α near L⁻ᵀm, and m − Lᵀα, of which each element is rounded once."""
        l, m = self.model.l, self.model.mean
        alpha = solve_triangular(l, m, lower=True, trans=1, check_finite=False)
        for again in range(3):
            high, low = exact_products(l, alpha[:, None])
            rest = np.array([math.fsum(np.concatenate([[m[i]], -high[i:, i], -low[i:, i]])) for i in range(len(m))])
            if again < 2:
                alpha = alpha + solve_triangular(l, rest, lower=True, trans=1, check_finite=False)
        return alpha, rest

    def substitute(self, k):
        """φ [M, n] from k [M, n]: L + ΔL has it exactly, |ΔL| ≤ gamma·|L|."""
        phi = k.copy()
        for block, i in enumerate(range(0, len(k), STEP)):
            j = i + STEP
            phi[i:j] = solve_triangular(self.diagonal[block], phi[i:j], lower=True, check_finite=False)
            phi[j:] -= self.model.l[j:, i:j] @ phi[i:j]
        return phi

    def at(self, x):
        """Mean, variance, and the bounds on their errors, at scaled rows [n, d]."""
        k, dk = kernel(self.model, x)
        mean, mass = products(k, self.both).T
        tail = TAIL * self.sigma2 * len(self.model.mean)
        mean_error = (self.gamma * mass + dk @ self.both[:, 1] * (1 + self.sums) + tail * length(self.weights) + self.residual) * OUTWARDS

        phi = self.substitute(np.ascontiguousarray(k.T))
        q = products(np.ascontiguousarray(self.model.c.T), phi)
        phi2, q2 = (phi * phi).sum(0), (q * q).sum(0)
        variance = self.sigma2 - phi2 + q2
        size = np.sqrt(phi2) * OUTWARDS
        off = self.inverse * (np.sqrt((dk * dk).sum(1)) * OUTWARDS + tail + self.gamma * self.size * size)   # of φ
        spread = self.gamma * self.spread_root * size                                                        # of Cᵀφ
        variance_error = ((1 + self.spread) * off * (2 * size + off) + spread * (2 * math.sqrt(self.spread) * size + spread)
                          + self.sums * (self.sigma2 + phi2 + q2)) * OUTWARDS
        return mean, variance, mean_error, variance_error


def check_jitter(model):
    """Whether ‖K_ZZ + jI − L Lᵀ‖ ≤ j/2 is proven (format.md, 6.1): the residual in
    float64 and a bound on its rounding."""
    m = len(model.mean)
    squares = rounding = 0.0
    trace = float(np.square(model.l).sum())
    for i in range(0, m, BLOCK):
        k, dk = kernel(model, model.z[i:i + BLOCK])
        rounding += length(dk)
        k -= products(model.l[i:i + BLOCK], model.l.T)
        k[np.arange(len(k)), i + np.arange(len(k))] += model.jitter
        squares += float(np.square(k).sum())
    rounding += gamma(STEP + m / STEP + 8) * (trace + m * model.variance + math.sqrt(m) * model.jitter) + m * TAIL * model.variance
    return (math.sqrt(squares) * (1 + gamma(m * m + 8)) + rounding) * OUTWARDS <= model.jitter / 2


# -------------------------------------------------------------------- losses

ROUNDING = 2e-13          # of a few values of Φ and φ


def density(x):
    return np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


class Losses:
    """Bounds on the expected loss of a draw of Q at each row (format.md, 5.3)."""

    def __init__(self, model):
        loss, self.scale = model.loss, model.target["scale"]
        self.kind, self.model = loss["kind"], model
        self.tau = model.tau() / self.scale * (1 + 2.0 ** -40)
        self.below, self.above = (loss.get(k, loss.get("epsilon", 0.0)) / self.scale for k in ("below", "above"))
        self.offset = model.target["centre"] / self.scale
        self.size = abs(self.offset) if self.kind == "relative" else self.below + self.above

    def points(self, raw_y, mean, mean_error):
        """The same of the means: of every prediction that is within tau of the exact one."""
        y = self.model.scale_target(raw_y)
        room = (mean_error + 6 * U * (np.abs(mean) + np.abs(y) + self.size)) * (1 + 2.0 ** -40)
        two_sided = self.kind in ("zero-one", "band")
        g = np.abs(mean - (y + (self.above - self.below) / 2 if two_sided else y))
        room = room if two_sided else room + self.tau
        least, most = np.maximum(0, g - room), g + room
        with np.errstate(all="ignore"):
            if two_sided:
                half = (self.below + self.above) / 2
                low, high = np.where(least > half + self.tau, 1.0, 0.0), np.where(most < half - self.tau, 0.0, 1.0)
            elif self.kind == "exponential":
                low, high = (-np.expm1(-(d / self.below) ** 2) for d in (least, most))
            elif self.kind == "squared":
                low, high = (np.minimum(d / self.below, 1) ** 2 for d in (least, most))
            else:
                t, off = np.abs(y + self.offset), 6 * U * (np.abs(y) + abs(self.offset))
                low, high = np.minimum(least / (t + off), 1), np.where(t > off, np.minimum(most / (t - off), 1), 1.0)
        if not two_sided:
            low, high = low - ROUNDING, high + ROUNDING
        proven = mean_error <= self.tau
        known = proven & (low <= high)
        return np.where(known, np.clip(low, 0, 1), 0.0), np.where(known, np.clip(high, 0, 1), 1.0), proven

    def bounds(self, raw_y, mean, variance, mean_error, variance_error):
        """Lower and upper ends, and which rows are proven: of the others nothing is known."""
        y = self.model.scale_target(raw_y)
        room = (mean_error + 6 * U * (np.abs(mean) + np.abs(y) + self.size)) * (1 + 2.0 ** -40)
        proven = (mean_error <= self.tau) & np.isfinite(variance_error) & np.isfinite(variance)
        small, large = np.sqrt(np.maximum(0, variance - variance_error)), np.sqrt(np.maximum(0, variance + variance_error))
        centre = y + (self.above - self.below) / 2 if self.kind in ("zero-one", "band") else y
        g = np.abs(mean - centre)
        least, most = np.maximum(0, g - room), g + room
        ends = {"zero-one": self.band, "band": self.band, "exponential": self.exponential,
                "squared": self.slope, "relative": self.slope}[self.kind]
        with np.errstate(all="ignore"):
            low, high = ends(y, least, most, small, large)
            ordered = low <= high
        known = proven & ordered
        return np.where(known, np.clip(low, 0, 1), 0.0), np.where(known, np.clip(high, 0, 1), 1.0), proven

    def band(self, y, least, most, small, large):
        """Φ((g−w)/s) + Φ(−(g+w)/s): each term is monotone in g, w and, on each side of
        its zero, in s."""
        half = (self.below + self.above) / 2
        inner, outer = half - self.tau, half + self.tau
        high = ndtr((most - inner) / np.where(most > inner, small, large)) + ndtr(-(least + inner) / large)
        low = ndtr((least - outer) / np.where(least > outer, large, small)) + ndtr(-(most + outer) / small)
        return low - ROUNDING, high + ROUNDING

    def exponential(self, y, least, most, small, large):
        """1 − ε/√k·exp(−g²/k), k = 2s² + ε²: both factors are monotone in g and in k."""
        e = self.below
        few, many = 2 * small * small + e * e, 2 * large * large + e * e
        modulus = 0.858 * self.tau / e + ROUNDING
        return (1 - e / np.sqrt(few) * np.exp(-least * least / many) - modulus,
                1 - e / np.sqrt(many) * np.exp(-most * most / few) + modulus)

    def slope(self, y, least, most, small, large):
        """A loss that rises with |f−y| up to 1 at t: monotone in g and in t, and with s it
        moves by 0.8·steepest/t times what s moves by."""
        steepest = 2 if self.kind == "squared" else 1
        near = far = np.full_like(y, self.below)
        if self.kind == "relative":
            t, room = np.abs(y + self.offset), 6 * U * (np.abs(y) + abs(self.offset))
            near, far = t - room, t + room
        move = steepest * (0.8 * (large - small + 4 * U * large) + self.tau) / near + ROUNDING
        high = np.where(near > 0, self.sloped(most, large, near)[1] + move, 1.0)
        low = np.where(near > 0, self.sloped(least, large, far)[0] - move, 0.0)
        apart = 1 - 0.8 * (far + self.tau) / small - ROUNDING  # a draw is within t of y with 0.8t/s at most
        return np.fmax(low, np.minimum(apart, high)), high

    def sloped(self, g, s, t):
        """Bounds on E at one g, s, t, but for the rounding of Φ (format.md, 5.2)."""
        a, h, c = (-t - g) / s, -g / s, (t - g) / s
        if self.kind == "squared":
            size = (g * g + s * s) / (t * t)
            d = 1 - ndtr(a) - ndtr(-c)
            inside = ((g * g + s * s) * d + 2 * g * s * (density(a) - density(c)) + s * s * (a * density(a) - c * density(c))) / (t * t)
        else:
            size = (g + s) / t
            inside = (g * (1 - ndtr(-c) - 2 * ndtr(h) + ndtr(a)) + s * (2 * density(h) - density(a) - density(c))) / t
        e, off = ndtr(a) + ndtr(-c) + np.maximum(0, inside), ROUNDING * (1 + size)
        wide, far = s > 1024 * t, g - t > 9 * s
        low = np.where(far, 1 - ROUNDING, np.where(wide, 1 - 0.8 * t / s, e - off))
        return low, np.where(far | wide, 1.0, e + off)


def exp_negative(x):
    """exp(−x) for x ≥ 0, with the same bits everywhere (format.md, 5.4)."""
    k = np.floor(x * 1.4426950408889634 + 0.5)
    k = np.where(x < 700, k, 0)
    r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10
    total = np.ones_like(x)
    for i in range(13, 0, -1):
        total = 1 - r * total / i
    return np.where(x < 700, np.ldexp(total, -k.astype(int)), 0.0)


def constant_loss(loss, y, c):
    """A lower bound on the loss of predicting the constant c, in raw units (format.md, 5.4)."""
    r, kind = c - y, loss["kind"]
    if kind in ("zero-one", "band"):
        below, above = (loss["epsilon"],) * 2 if kind == "zero-one" else (loss["below"], loss["above"])
        return np.where((-below * 1.000000001 <= r) & (r <= above * 1.000000001), 0.0, 1.0)
    with np.errstate(all="ignore"):
        if kind == "relative":
            return np.where(y == 0, 1.0, np.minimum(np.abs(r) / np.abs(y), 1) * (1 - 2.0 ** -48))
        t = r / loss["epsilon"]
        if kind == "squared":
            return np.minimum(t * t, 1) * (1 - 2.0 ** -48)
        return np.maximum(0, 1 - exp_negative(t * t) - 2.0 ** -48)


def best_constant(loss, targets):
    """The best of 512 candidates on these targets (format.md, 6.4)."""
    ordered, width = np.sort(targets), max(loss.get("epsilon", 0.0), loss.get("above", 0.0))
    places = ordered[np.arange(256) * (len(ordered) - 1) // 255] + 0.0  # no -0
    candidates = np.stack([places, places + width], axis=1).ravel()
    sums = [in_order(0.0, constant_loss(loss, targets, c)) for c in candidates]
    return float(candidates[int(np.argmin(sums))])


def units(losses, up):
    """The sum of the losses, each rounded to a multiple of 2^-60."""
    need(((0 <= losses) & (losses <= 1)).all(), "a loss is outside [0, 1]")
    each = (np.ceil if up else np.floor)(losses * float(UNIT)).astype(np.int64)
    return (int((each >> 30).sum()) << 30) + int((each & ((1 << 30) - 1)).sum())


# --------------------------------------------------------------------- bound

def gaussian_kl(model):
    """KL(N(m, CC') || N(0, I)) in nats (format.md, 6.1): squares without an error, and
    one logarithm of the determinant."""
    every = np.concatenate([model.mean, model.c[np.tril_indices(len(model.mean))]])
    squares = Decimal(math.fsum(np.concatenate(exact_products(every, every))))
    determinant = Decimal(1)
    for c in model.c.diagonal().tolist():
        determinant *= Decimal(c)
    return max(Decimal(0), (squares - len(model.mean)) / 2 - determinant.ln())


def spacing(grid):
    """K: peaks stand at indices that are multiples of it (format.md, 6.2)."""
    return int(max(1.0, min(float(grid["count"]), math.floor(0.25 / grid["step"] + 0.5))))


def ln_inverse_weight(families, theta):
    """ln 1/p of the kernel's family and of the hyper-parameters (format.md, 6.2)."""
    total = Decimal(families).ln()
    for p in theta:
        g, i = p["grid"], p["index"]
        if g["prior"] == "flat":
            total += Decimal(g["count"]).ln()
            continue
        rate, centre = Decimal(g["step"]) / Decimal(g["width"]), g.get("centre", 0)
        rho = (-rate).exp()
        z = min(Decimal(g["count"]), spacing(g) - 1 + 2 / (1 - rho))
        total -= (Decimal(7) / 8 * (-rate * abs(i - centre)).exp() / z + Decimal(1) / 8 / g["count"]).ln()
    return total


def ln_xi(n):
    """ln of sum_k C(n,k) (k/n)^k (1-k/n)^(n-k) = sum_i n!/((n-i)! n^i) (format.md, 6.3)."""
    if n > XI_LIMIT:
        return Decimal(2).ln() + Decimal(n).ln() / 2
    total, term = Decimal(0), Decimal(1)
    for i in range(n + 1):
        total += term
        term = term * (n - i) / n
        if term < Decimal("1e-40"):
            break
    return total.ln()


def kl(q, p):
    first = q * (q / p).ln() if q > 0 else Decimal(0)
    return first + ((1 - q) * ((1 - q) / (1 - p)).ln() if q < 1 else 0)


def kl_inverse(q, c, up=True):
    """The largest (smallest) p with kl(q, p) <= c."""
    if up and q >= 1 or not up and q <= 0:
        return Decimal(1 if up else 0)
    inner, outer = q, Decimal(1 if up else 0)
    for _ in range(160):
        middle = (inner + outer) / 2
        if kl(q, middle) <= c:
            inner = middle
        else:
            outer = middle
    return outer


def close(stated, true, what, upper=True, loose="4e-15"):
    """A stated bound is on the safe side of the truth, and not far from it."""
    true, size = Decimal(true), max(Decimal(1), abs(Decimal(true)))
    excess = (Decimal(stated) - true) * (1 if upper else -1)
    need(excess >= Decimal("-1e-40") * size, f"{what} is stated as {stated}, which is {'below' if upper else 'above'} {float(true)}")
    need(excess <= Decimal(loose) * size, f"{what} is stated as {stated}, far from {float(true)}")


def mean_of(total, n, up):
    """total·2^-60/n, rounded to a float64 on the side asked for."""
    exact = Fraction(total, n * UNIT)
    nearest = float(exact)
    if up and nearest < exact:
        return math.nextafter(nearest, math.inf)
    return math.nextafter(nearest, -math.inf) if not up and nearest > exact else nearest


def decimal_fraction(x):
    """The decimal number that a float64 is written as."""
    return Fraction(repr(float(x)))


def guarantee(cert, name):
    """The guarantee of this identifier, or None."""
    return next((g for g in cert["guarantees"] if g["id"] == name), None)


def ln_factorial(n):
    """ln n!, by Stirling's series for large n, to 30 digits."""
    if n < 300:
        return Decimal(math.factorial(n)).ln()
    m, two_pi = Decimal(n), Decimal("6.283185307179586476925286766559005768394338798750211641949889")
    series = ((1, 12), (-1, 360), (1, 1260), (-1, 1680), (1, 1188), (-691, 360360), (1, 156))
    return (m + Decimal("0.5")) * m.ln() - m + two_pi.ln() / 2 + sum(Decimal(a) / b / m ** (2 * j + 1) for j, (a, b) in enumerate(series))


SUMMABLE = 10 ** 10  # hold-out rows: of more the tail takes more than some seconds


def ln_tail(k, n, p):
    """ln P(at most k of n), summed from its largest term down; 0 < p < 1. Where p is no
    less than k/n, some 12 √k terms are all that count."""
    term = total = Decimal(1)
    for j in range(k, 0, -1):
        term *= j * (1 - p) / ((n - j + 1) * p)
        total += term
        if term < total * Decimal("1e-30"):
            break
    return ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k) + k * p.ln() + (n - k) * (1 - p).ln() + total.ln()


def check_holdout(cert, found, inverse):
    """The number of a hold-out (format.md, 6.4); inverse is ln 1/delta of its share."""
    g, n = guarantee(cert, "holdout"), found["ledger"]["holdout"]
    need(n <= SUMMABLE, f"{n} hold-out rows are more than this program can check")
    close(g["ln_inverse_delta"], inverse, "ln 1/delta of the hold-out")
    if g["loss"]["kind"] not in ("zero-one", "band"):
        return close(g["bound"], kl_inverse(Decimal(mean_of(found["holdout"], n, True)), Decimal(g["ln_inverse_delta"]) / n), "the bound of the hold-out")
    k, p = -(-found["holdout"] // UNIT), Decimal(g["bound"])
    if k == n:
        return need(p == 1, "the bound of a hold-out that is all wrong is not 1")
    need(Decimal(k) / n <= p and (p == 1 or ln_tail(k, n, p) < -inverse), f"the bound of the hold-out, {g['bound']}, is below the limit of Clopper and Pearson")
    need(k == 0 or p * Decimal("0.99999999999") * n <= k or ln_tail(k, n, p * Decimal("0.99999999999")) >= -inverse, f"the bound of the hold-out, {g['bound']}, is far from the limit of Clopper and Pearson")
    ok(f"hold-out: {k} of {n} rows lose, of fresh rows at most {g['bound']:.6f}")


def check_bound(cert, model, found):
    """The numbers of the bound, each from those before it (format.md, 6.4)."""
    draw, delta, n = guarantee(cert, "pb-full"), cert["delta"], found["ledger"]["train"]
    divergence = gaussian_kl(model)
    slack = Decimal("1e-9") * (1 + divergence)
    close(draw["kl"], divergence + slack - Decimal("2e-11") * (1 + divergence), "KL", loose="4e-11")
    close(draw["ln_inverse_weight"], ln_inverse_weight(len(cert["kernel"]["families"]), cert["theta"]), "ln 1/weight of theta")
    close(draw["ln_xi"], ln_xi(n), "ln xi(N)", loose="2e-11")
    need(0 < delta["declared"] < 1 and 1 <= delta["alternative"] <= delta["alternatives"], "the share of delta is out of range")
    declared = Decimal(repr(float(delta["declared"])))
    weights = {m["id"]: m["weight"] for m in delta["methods"]}
    shared = delta["alternatives"] * sum(weights.values())
    if delta.get("sequence", {}).get("policy") == "sequence":
        shared *= delta["sequence"]["number"] * (delta["sequence"]["number"] + 1)
    inverse = {name: (Decimal(shared) / w / declared).ln() for name, w in weights.items()}
    close(draw["ln_inverse_delta"], inverse["pac-bayes"], "ln 1/delta of the share")
    if "holdout" in weights:
        check_holdout(cert, found, inverse["holdout"])
    c = sum(Decimal(draw[k]) for k in ("kl", "ln_inverse_weight", "ln_xi", "ln_inverse_delta")) / n
    close(draw["exponent"], c, "the exponent")
    c = Decimal(draw["exponent"])
    upper, lower = (Decimal(mean_of(found[k], n, up)) for k, up in (("risk", True), ("lower_risk", False)))
    close(draw["bound"], min(Decimal(1), kl_inverse(upper, c)), "the bound B")
    close(draw["bound_pinsker"], min(Decimal(1), upper + (c / 2).sqrt()), "Pinsker's bound")
    close(draw["lower_bound"], kl_inverse(lower, c, up=False), "the lower bound", upper=False)
    yardstick = Decimal(mean_of(found["baseline"], n, False))
    close(cert["baseline"]["bound"], kl_inverse(yardstick, -declared.ln() / n), "the bound of the constant")
    ok(f"B = {draw['bound']:.6f} follows from risk, KL, ln 1/weight, xi(N) and delta; here {float(kl_inverse(upper, c)):.12f}")


# --------------------------------------------------------------------- words

def decimals(x, places, up=None):
    """A fraction with so many decimals, rounded up or down (None: it is exact)."""
    scaled = x * 10 ** places
    digits = str(-(-scaled.numerator // scaled.denominator) if up else scaled.numerator // scaled.denominator).rjust(places + 1, "0")
    return digits[:len(digits) - places] + ("." + digits[len(digits) - places:] if places else "")


def outward(x, up):
    """A number in [0, 1] rounded outwards: four decimals, and three digits that count."""
    x, places = Fraction(x), 4
    while x > 0 and places < 18 and x * 10 ** places < 100:
        places += 1
    return decimals(x, places, up)


def percent_up(x):
    """A percentage rounded up: one decimal, and two digits that count."""
    x, places = Fraction(x) * 100, 1
    while x > 0 and places < 16 and x * 10 ** places < 10:
        places += 1
    rounded = decimals(x, places, True)
    return "100 %" if Fraction(rounded) >= 100 else rounded + " %"


def at_least_digits(x):
    """A positive number rounded down to three digits that count."""
    y = x
    while float(f"{y:.3g}") > x:
        y /= 1.0005
    return f"{y:.3g}"


def confidence(delta):
    """1 − δ in percent, without rounding."""
    percent, places = (1 - decimal_fraction(delta)) * 100, 0
    while (percent * 10 ** places).denominator != 1 and places < 400:
        places += 1
    return decimals(percent, places) + " %"


class Sentences:
    """The sentences of a certificate (format.md, 6.7). cert needs all but them."""

    def __init__(self, cert):
        self.cert, self.unit = cert, cert["declared"].get("unit", "")

    def amount(self, x, digits):
        return digits(x) + (f' "{self.unit}"' if self.unit else "")

    def subject(self, g):
        target = f'"{g["loss"]["target"]}"'
        if g["predictor"] == "mean of Q":
            return f"predictions (the mean of Q) of {target}"
        return f"predictions of {target} by a function drawn at random from Q"

    def miss(self, loss, digits):
        if loss["kind"] == "band":
            return f"more than {self.amount(loss['below'], digits)} too low or more than {self.amount(loss['above'], digits)} too high"
        return f"off by more than {self.amount(loss['epsilon'], digits)}"

    def cost(self, loss, digits):
        if loss["kind"] == "squared":
            return f"(e / {self.amount(loss['epsilon'], digits)})^2, but at most 1"
        return f"1 - exp(-(e / {self.amount(loss['epsilon'], digits)})^2)"

    def places(self, most=None):
        """Of which partitions the rows are. With more ranges than most, only how many."""
        topics = {}
        for s in self.cert["sample"].get("segments") or []:
            topics.setdefault(s["topic"], set()).add(s["partition"])
        words = []
        for topic, partitions in topics.items():
            ranges = []
            for p in sorted(partitions):
                if ranges and ranges[-1][1] == p - 1:
                    ranges[-1][1] = p
                else:
                    ranges.append([p, p])
            names = "partitions " + ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)
            if len(partitions) == 1:
                names = f"partition {ranges[0][0]}"
            elif most is not None and len(ranges) > most:
                names = f"{len(partitions)} partitions"
            words.append(f'{names} of "{topic}"')
        return " and ".join(words)

    def headline(self, g):
        fresh = "fresh rows" + (" of " + self.places(8) if self.places(8) else "") + (" that satisfy the row rules" if self.cert["ledger"]["bad"] else "")
        word = any(o["status"] == "conditional" and o["predictor"] == g["predictor"] for o in self.cert["guarantees"])
        nothing = "without its maker's word nothing" if word else "nothing"
        who, loss, sure = self.subject(g), g["loss"], f"{confidence(g['delta'])} confidence" + (" if training did not see the hold-out rows" if g["role"] == "holdout" else "")
        if g["status"] == "indicative":
            broken = ["the assumption " + a["id"] for a in self.cert["assumptions"] if a["status"] == "broken"]
            return f"nothing is certified about {who}: {' and '.join(broken)} {'does' if len(broken) == 1 else 'do'} not hold"
        if g["status"] == "vacuous" and not g["bound"] < 1:
            return f"{nothing} is promised about {who}: the bound is 1, which holds for every predictor"
        if g["status"] == "vacuous":
            return (f"{nothing} useful is promised about {who}: the bound, {percent_up(g['bound'])}, is not below "
                    f"{percent_up(self.cert['baseline']['bound'])}, what the formula gives for a constant")
        if loss["kind"] in ("zero-one", "band"):
            return f"{who} are {self.miss(loss, at_most_digits)} in at most {percent_up(g['bound'])} of {fresh}, {sure}"
        if loss["kind"] == "relative":
            return f"{who} are off by at most {percent_up(g['bound'])} of the target on average over {fresh} (each counted as 100 % at most), {sure}"
        return f"{who} lose at most {outward(g['bound'], True)} on average over {fresh}, where an error e costs {self.cost(loss, at_most_digits)}, {sure}"

    def statement(self, g):
        if g["status"] == "indicative":
            words = "Indicative only: NOTHING IS CERTIFIED, because an assumption of the theorem is broken."
            for a in self.cert["assumptions"]:
                if a["status"] == "broken":
                    words += f" Broken: {a['id']}. The theorem needs: {a['text']} What happened: {a['diagnostic']}"
            return words + f" The formula gives {outward(g['bound'], True)} for {self.subject(g)}, which bounds nothing."
        if g["status"] == "vacuous" and not g["bound"] < 1:
            return f"Vacuous: nothing is promised about {self.subject(g)}. The bound is 1, which holds for every predictor."
        if g["status"] == "vacuous":
            b = self.cert["baseline"]
            return (f"Vacuous: nothing useful is promised about {self.subject(g)}. Its bound, {outward(g['bound'], True)}, is not below {outward(b['bound'], True)}, "
                    f"what the formula gives for the constant prediction {few_digits(b['constant'], False)} on the train rows.")
        return self.certified(g)

    def certified(self, g):
        rows, words = "certified rows (the train rows; reference rows are not counted)", "Under the stated assumptions"
        if g["role"] == "holdout":
            rows, words = "hold-out rows", "If training did not see the hold-out rows, which is its maker's word (holdout-unseen), under the other stated assumptions"
        words += (f", and with confidence of at least {confidence(g['delta'])} over the draw of the N = {g['n']} {rows}, "
                 f"for a fresh row drawn independently from the same source{', ' + self.places() + ',' if self.places() else ''} that satisfies the row rules: " + self.claim(g))
        if g["predictor"] == "mean of Q":
            words += ". " + ("This is twice the bound of pb-full and holds on the same event. " if g["id"] == "mean-2b" else "")
            words += ("It speaks of predictions that are within "
                      f"{self.amount(self.cert['accuracy']['tau'], at_least_digits)} of the exact mean; a reader that cannot prove this of a row gives no prediction for it")
        else:
            if g["lower_bound"] >= 1e-4:
                zero_one = g["loss"]["kind"] in ("zero-one", "band")
                room = ", even if each tolerance is wider by the accuracy" if zero_one else ", but for the accuracy"
                words += f" (and, on the same event, at least {outward(g['lower_bound'], False)}{room})"
            words += (". The fresh row and the function are drawn together, once; the number is an average over both and speaks of no single row, "
                      "nor of the mean of Q")
        if len(self.cert["delta"]["methods"]) > 1:
            words += ". It holds together with the other guarantees of this certificate"
        k = self.cert["delta"]["alternatives"]
        if k > 1:
            words += (f". It holds together with the guarantees of the other {k - 1} of {k} alternatives that the job declared, "
                      "so that the best of them may be chosen")
        return words + self.sequence() + "."

    def sequence(self):
        s = self.cert["delta"].get("sequence")
        if not s:
            return ""
        k = s["number"]
        if s["policy"] == "each":
            return f". It is number {k} of a sequence of certificates each of which holds by itself: nothing is said of several at once, nor of one that was chosen among them"
        if k == 1:
            return ". It is the first of a sequence of certificates that hold all at once: it has spent a half of delta"
        return f". It is number {k} of a sequence of certificates that hold all at once: it has spent delta/({k}*{k + 1})"

    def claim(self, g):
        most, kind = "at most " + outward(g["bound"], True), g["loss"]["kind"]
        if kind in ("zero-one", "band"):
            return f"{self.subject(g)} are {self.miss(g['loss'], plain)} with probability {most}"
        loss = "|e| / |target|, but at most 1 (and 1 for a target of 0)" if kind == "relative" else self.cost(g["loss"], plain)
        return f"{self.subject(g)} have an expected loss of {most}, where an error e (prediction less target) costs {loss}"

    def baseline(self):
        b, n = self.cert["baseline"], self.cert["ledger"]["train"]
        rows = "the reference rows" if b["origin"] == "reference" else "the first rows by rank"
        return (f"A yardstick: of constant predictions, {few_digits(b['constant'], False)} is the best of 512 on {rows}. It loses at least {outward(b['empirical_risk']['lower'], False)} "
                f"on the N = {n} certified rows, for which the formula gives {outward(b['bound'], True)}. "
                "A guarantee whose bound is not below this is called vacuous; about fresh rows the number says nothing.")


METHODS = {
    "pb-full": "PAC-Bayes-kl inequality (Maurer 2004) with the exact sum xi(N), and a union over the declared families of kernels and grid of hyper-parameters; kl inverted upwards",
    "holdout": "upper limit of Clopper and Pearson (1934) on rows that were used for nothing else; the binomial tail inverted upwards",
    "chernoff": "Chernoff's bound (Langford 2005) on rows that were used for nothing else; kl inverted upwards",
    "mean-2b": "twice the bound of pb-full: the loss is quasi-convex and the law of a draw at a row is symmetric about the mean, so that at least half of all draws lose at least as much as the mean"}

ASSUMPTIONS = {
    "independent-rows": "The certified rows and the fresh row are independent draws from one distribution. No program can establish this from the rows.",
    "prior-before-rows": "The prior (kernel family, choice of features, scaling, grid and weights of the hyper-parameters) follows from declarations, from names and types of columns, and from reference rows.",
    "loss-before-rows": "The loss, its tolerance and delta follow from declarations and reference rows.",
    "roles-by-key": "Each row has one role, which follows from its ordinal and from declarations; bad rows and copies are left out by their values. Only scaling of the mode all-rows uses rows beside their role.",
    "separate-last-pass": "The empirical risk was computed in a separate pass over exactly the rows of the sample, with the model as read back from its file; the digests of both readings agree.",
    "losses-proven": "Each certified row has a proven interval of its loss (on train rows the expected loss of a draw, on hold-out rows the loss of the mean), for the stored numbers in exact arithmetic; a row without one counts as a loss of 1. Tolerances leave room for predictions that are off by the stated accuracy.",
    "jitter": "With the stored factor L, L L' - K_ZZ is positive semi-definite, so that the KL of the stored numbers is the KL of the theorem.",
    "grid-weights": "The kernel is of a declared family, and the hyper-parameters are values of the declared grids; the weights of all choices together add up to at most 1.",
    "one-attempt": "The job (files, features, kernel, grid, declared constants, loss, tolerance, delta, key, methods, share of hold-out rows) was declared without a look at the certified rows, and not chosen among several after their results were seen. Where there are hold-out rows, neither were the seed and the settings of training, nor the time at which it ended.",
    "holdout-unseen": "Training did not see the hold-out rows. A model does not tell what it was trained on: who doubts it trains again, without these rows, and compares the bytes."}


EQUAL_ROWS = {
    "drop": "The first of equal rows is used and the later ones are left out: it is assumed that those are copies, made after the rows were drawn.",
    "independent": "That equal rows are separate draws is declared by the user.",
    "limited": "Equal rows are taken for separate draws."}


def assumptions(job, found, jitter):
    """The assumptions with status and diagnostic (format.md, 6.5)."""
    mode, dependence = job["scaling"]["mode"], found["dependence"]
    rows = f"The correlation of the targets of consecutive rows is {dependence['correlation']:.3f} over {dependence['pairs']} {'pair' if dependence['pairs'] == 1 else 'pairs'}."
    if dependence["suspicious"]:
        rows += " Independent rows in order of arrival would hardly show this: unless the rows were sorted, they depend on each other, and the bound may be too low."
    copies = found["copies"]
    bad, every = found["ledger"]["bad"], found["ledger"]["rows"]
    rows += (f" Of {every - bad} rows, {copies['rows']} equal an earlier row in every used column, and {copies['features']} in the features alone. "
             + EQUAL_ROWS[copies["policy"]])
    if "bad_rows" in job:
        rows += f" {bad} of {every} rows break a row rule and are left out: of these nothing is promised."
    said = {
        "independent-rows": ("assumed", rows),
        "one-attempt": ("assumed", "No program can see what was tried elsewhere. What the maker counted stands under declared."),
        "holdout-unseen": ("assumed", "What training again takes stands under declared and in the configuration.")}
    if mode == "declared":
        said["prior-before-rows"] = ("assumed", "The scaling constants were declared. That they were not computed from the certified rows cannot be seen.")
    if mode == "all-rows":
        said["prior-before-rows"] = ("broken", "scaling.mode is all-rows: features and target were scaled with the mean and deviation of all rows, the certified ones included.")
        if "epsilon_std" in job["loss"]:
            said["loss-before-rows"] = ("broken", "The tolerance was given in standard deviations of the target over all rows, the certified ones included.")
    if not jitter["holds"]:
        said["jitter"] = ("broken", f"The error of the factor is not proven to be at most {plain(jitter['limit'])}.")
    return [{"id": name, "status": said.get(name, ("enforced",))[0], "text": words, **members(("diagnostic", said.get(name, ("", ""))[1]))}
            for name, words in ASSUMPTIONS.items() if name != "holdout-unseen" or found["ledger"]["holdout"]]


# --------------------------------------------------------------- certificate

def certificate_row(path):
    """The document in a certificate's row of Parquet, and the row's columns."""
    table = pq.read_table(path)
    need(table.num_rows == 1 and {"certificate", "format", "document"} <= set(table.column_names), "it is Parquet, but no certificate")
    row = table.to_pydict()
    need(isinstance(row["document"][0], str), "the row has no document")
    return row["document"][0].encode(), row


def check_row(row, cert):
    """The columns about guarantees say what the document says."""
    plain = ("id", "predictor", "role", "status", "n", "ln_inverse_delta", "bound", "lower_bound", "headline", "statement")
    listed = [{**{k: g[k] for k in plain}, "empirical_risk": g["empirical_risk"]["upper"]} for g in cert["guarantees"]]
    need(row.get("guarantees") == [listed], "the guarantees of the row are not those of its document")
    mean = min((g for g in cert["guarantees"] if g["predictor"] == "mean of Q" and g["status"] != "conditional"), key=lambda g: g["bound"])
    draw = guarantee(cert, "pb-full")
    for column, value in {
            "mean_guarantee": mean["id"], "mean_n": mean["n"], **{f"mean_{k}": mean[k] for k in ("status", "bound", "headline", "statement")},
            **{f"draw_{k}": draw[k] for k in ("status", "bound", "lower_bound", "headline", "statement")}}.items():
        need(row.get(column) == [value], f"the column {column} is {row.get(column)}, but the document of the row gives {value!r}")


def read_certificate(path, wanted):
    """The certificate, its bytes as text, its id, and whether it was read from a row."""
    with open(path, "rb") as f:
        data = f.read()
    row = data.startswith(b"PAR1")
    if row:
        data, row = certificate_row(path)
    found = hashlib.sha256(data).hexdigest()
    if row:
        need(row["certificate"] == [found], "the row is not that of its document")
    named = re.fullmatch(r"certificate-([0-9a-f]{64})\.(json|parquet)", os.path.basename(path))
    for expected in filter(None, (wanted, named and named.group(1))):
        need(found == expected, f"the certificate's id is {found}, not {expected}")
    cert = read_json(data, "certificate")
    need(isinstance(cert, dict) and cert.get("format") == "pacsgp-certificate/2", f"the format of the certificate is {cert.get('format')!r}, this program reads 'pacsgp-certificate/2'")
    fits(cert, CERTIFICATE, "the certificate")
    methods = [m["id"] for m in cert["delta"]["methods"]]
    need(sorted(methods) in (["pac-bayes"], ["holdout", "pac-bayes"]), "the methods are not pac-bayes, alone or with holdout")
    need(all(g.keys() >= {"kl", "ln_inverse_weight", "ln_xi", "exponent", "bound_pinsker"} or g["id"] == "holdout" for g in cert["guarantees"]), "a guarantee lacks its terms")
    need(sorted(g["id"] for g in cert["guarantees"]) == ["holdout"] * ("holdout" in methods) + ["mean-2b", "pb-full"], "the guarantees are not those of the methods")
    if row:
        check_row(row, cert)
    return cert, data.decode(), found, bool(row)


def read_job(cert, document):
    """The job that a certificate states, in the form that a run gives it, and its text."""
    canonical = compact(canonical_settings(cert["configuration"]["values"]), html=True)
    stated = "".join(TOKENS.findall(document))
    start = stated.index('"values":', stated.index('"configuration":{"digest":')) + len('"values":')
    raw = stated[start:json.JSONDecoder().raw_decode(stated, start)[1]]
    need(hashlib.sha256(raw.encode()).hexdigest() == cert["configuration"]["digest"], "the digest of the configuration is another one")
    settings = json.loads(canonical)
    need(raw == canonical, f"the configuration is not in the form that a run gives it: {difference(cert['configuration']['values'], settings)}")
    job = alternative(settings)
    check_job(job)
    return for_rows(job, cert["sample"]["rows"]), raw


def segments(sample):
    """The segments of a sample that was read from a log, in the order of their members:
    where its shards stand there. Without the log they are the maker's word."""
    stated, ends = sample.get("segments"), {}
    if not stated:
        return {}
    need(len(stated) == sample["shards"] and sum(s["rows"] for s in stated) == sample["rows"], "the segments are not the shards of the sample")
    for s in stated:
        at = s["topic"], s["partition"]
        need(ends.get(at, s["first"]) == s["first"] < s["end"] and s["rows"] >= 1, "the segments of a partition overlap or leave offsets out, or one has no rows")
        ends[at] = s["end"]
    return {"segments": [{k: s[k] for k in ("topic", "partition", "first", "end", "rows")} for s in stated]}


def ancestor(cert, job):
    """The model that training began with: the maker's word. Of hold-out rows it may have seen none."""
    stated = cert["declared"]["training"].get("ancestor")
    if not stated:
        return None
    need(job["train"].get("warm_start"), "training began with another model, which the job does not declare")
    spans, found = [[s[k] for k in ("topic", "partition", "first", "end")] for s in stated["rows"]], cert["sample"].get("segments", [])
    need(spans and all(s[2] < s[3] for s in spans) and all(a < b and (a[:2] != b[:2] or a[3] < b[2]) for a, b in zip(spans, spans[1:])),
         "the rows of an ancestor are no ranges of a log in their order")
    need(not cert["ledger"]["holdout"] or found and not any(s[:2] == [g["topic"], g["partition"]] and s[2] < g["end"] and g["first"] < s[3] for s in spans for g in found),
         "there are hold-out rows, and training began with a model that may have seen them")
    need(not cert["ledger"]["holdout"] or cert["copies"]["policy"] != "drop",
         "there are hold-out rows, and training began with a model that may have seen copies of them")
    return {"certificate": stated["certificate"], "model": stated["model"], "rows": [dict(zip(("topic", "partition", "first", "end"), s)) for s in spans]}


def stated_findings(cert, job):
    """What a check without rows has to believe, as far as it does not contradict the job."""
    ledger, copies, n = cert["ledger"], cert["copies"], cert["ledger"]["train"]
    k = reference_count(ledger["rows"], job)
    drop, tolerated = job["copies"]["policy"] == "drop", job.get("bad_rows", {}).get("tolerance", 0)
    need(ledger["bad"] <= tolerated * ledger["rows"], f"{ledger['bad']} of {ledger['rows']} rows are bad, and the job tolerates {tolerated}")
    need(ledger["reference"] == k or (drop or tolerated) and ledger["reference"] < k,
         f"the job makes {k} reference rows of {ledger['rows']}, the certificate says {ledger['reference']}")
    need((ledger["holdout"] > 0) == (job["roles"].get("holdout", 0) > 0), "the ledger's hold-out rows are not the job's")
    share = job["roles"].get("holdout", 0)
    if share and ledger["rows"] <= 1 << 20:  # a second
        held = len(ranked_rows(job["roles"]["key"], ledger["rows"], 0, share, k if "by" in job["roles"] else None)[0])
        need(ledger["holdout"] == held or (drop or tolerated) and ledger["holdout"] < held, f"the key makes {held} hold-out rows, the certificate says {ledger['holdout']}")
    need(n >= 1 and ledger["rows"] == ledger["reference"] + n + ledger["holdout"] + ledger["copies"] + ledger["bad"] and ledger["copies"] == (copies["rows"] if drop else 0), "the ledger does not add up")
    dependence = cert["dependence"]
    need(dependence["pairs"] < ledger["rows"] and abs(dependence["correlation"]) <= 1, "the correlation of the targets is out of range")
    r = float(dependence["correlation"])
    draw, held, baseline = guarantee(cert, "pb-full"), guarantee(cert, "holdout"), cert["baseline"]
    found = {
        "ledger": {k: ledger[k] for k in ("rows", "reference", "train", "holdout", "copies", "bad")},
        "sample": {**{k: cert["sample"][k] for k in ("digest", "targets", "shards", "rows")}, **segments(cert["sample"])},
        "dependence": {"pairs": dependence["pairs"], "correlation": r, "suspicious": dependence["pairs"] > 30 and r * r * dependence["pairs"] > 15.21},
        "copies": stated_copies(copies, job, ledger["rows"] - ledger["bad"]),
        "constant": float(baseline["constant"]), "origin": "reference" if ledger["reference"] else "start", }
    sums = [("baseline", baseline["empirical_risk"], n)]
    for name, g, rows in (("risk", draw, n), ("holdout", held, ledger["holdout"])):
        if g:
            sums += [(name, g["empirical_risk"], rows), ("lower_" + name, g["lower_risk"], rows)]
    for name, risk, rows in sums:
        need(risk["exact"]["count"] == rows, f"a risk is over {risk['exact']['count']} rows, not over {rows}")
        found[name] = int(risk["exact"]["sum"], 16)
        need(found[name] <= rows * UNIT, "a risk is above 1")
    for name, g, rows in (("risk", draw, n), ("holdout", held, ledger["holdout"])):
        if g:
            unproven = found["unproven_" + name] = g["unproven"]
            need(found["lower_" + name] <= found[name], "the lower sum of the losses is above the upper one")
            need(unproven * UNIT <= found[name] and found["lower_" + name] <= (rows - unproven) * UNIT, "rows that are not proven count 1 and 0")
    return found


def stated_copies(copies, job, rows):
    """The counts of copies with the policy of the job."""
    need(copies["distinct"] >= 1 and copies["distinct"] + copies["rows"] == rows and copies["rows"] <= copies["features"] < rows, "the copies do not add up")
    policy = job["copies"]
    need(policy["policy"] != "limited" or not float(copies["rows"]) > policy["limit"] * rows, f"{copies['rows']} of {rows} rows are copies, and the job allows {policy['limit']}")
    return {**policy, **{k: copies[k] for k in ("distinct", "rows", "features")}}


def derive(model, job, raw, cert, found, jitter):
    """The document that follows from model, job and findings. Taken from the stated one
    are the maker's word and the numbers that check_bound has held to bounds."""
    meta, ledger, stated = model.meta, found["ledger"], guarantee(cert, "pb-full")
    n, delta, loss = ledger["train"], float(job["delta"]), {**model.loss, "target": model.target["name"]}
    risk = lambda name, rows=n: {"count": rows, "sum": f"{found[name]:032x}"}
    declared = {**members(("unit", job["loss"].get("unit"))), "software": cert["declared"]["software"],
                "attempt": {k: cert["declared"]["attempt"][k] for k in ("on_these_rows", "in_this_log")},
                "training": {"machine": cert["declared"]["training"]["machine"], **members(("hurried_after", cert["declared"]["training"].get("hurried_after")), ("ancestor", ancestor(cert, job)))}}
    need("hurried_after" not in declared["training"] or "time_seconds" in job["train"], "training was hurried by a time limit that the job does not have")
    if job["scaling"]["mode"] == "declared":
        declared["scaling"] = [{"column": a["name"], "centre": float(a["centre"]), "scale": float(a["scale"])} for a in meta["features"] + [meta["target"]]]
    need(1 <= declared["attempt"]["on_these_rows"] <= declared["attempt"]["in_this_log"], "the attempts do not count from 1")
    kinds = {k: float(v) if k in ("epsilon", "below", "above") else v for k, v in loss.items()}
    bounds = {k: float(stated[k]) for k in ("kl", "ln_inverse_weight", "ln_xi", "ln_inverse_delta", "exponent", "bound", "bound_pinsker", "lower_bound")}
    def about(name, predictor, role, of, rows):
        return {"id": name, "predictor": predictor, "role": role, "method": "", "status": "", "headline": "", "statement": "", "loss": kinds, "delta": delta, "n": rows,
                "empirical_risk": {"exact": risk(of, rows), "upper": mean_of(found[of], rows, True)},
                "lower_risk": {"exact": risk("lower_" + of, rows), "lower": mean_of(found["lower_" + of], rows, False)}, "unproven": found["unproven_" + of]}
    draw = {**about("pb-full", "draw of Q", "train", "risk", n), **{k: v for k, v in bounds.items() if v or k in ("ln_inverse_delta", "bound", "lower_bound")}}
    mean = {**draw, "id": "mean-2b", "predictor": "mean of Q", "lower_bound": 0.0,
            **{k: min(1.0, 2 * draw[k]) for k in ("bound", "bound_pinsker") if k in draw}}
    means = [mean]
    if ledger["holdout"]:
        held = guarantee(cert, "holdout")
        means.append({**about("holdout", "mean of Q", "holdout", "holdout", ledger["holdout"]),
                      "ln_inverse_delta": float(held["ln_inverse_delta"]), "bound": float(held["bound"]), "lower_bound": 0.0})
    document = {
        "format": "pacsgp-certificate/2", "guarantees": sorted(means, key=lambda g: g["bound"]) + [draw],
        "baseline": {"constant": found["constant"], "origin": found["origin"],
                     "empirical_risk": {"exact": risk("baseline"), "lower": mean_of(found["baseline"], n, False)},
                     "bound": float(cert["baseline"]["bound"]), "statement": ""},
        "dependence": found["dependence"], "copies": found["copies"],
        "accuracy": {"tau": model.tau()},
        "assumptions": assumptions(job, found, jitter),
        "ledger": {"unit": "row", "rows": ledger["rows"], "reference": ledger["reference"], "train": n, "holdout": ledger["holdout"], "copies": ledger["copies"], "bad": ledger["bad"]},
        "sample": {**{k: found["sample"][k] for k in ("digest", "targets", "shards", "rows")}, "columns": model.features + [model.target["name"]], **members(("segments", found["sample"].get("segments")))},
        "row_rules": ROW_RULES, "model": {"digest": model.digest},
        "configuration": {"digest": hashlib.sha256(raw.encode()).hexdigest(), "values": Raw(raw)},
        "kernel": {"family": meta["kernel"], "families": job["kernel"]["family"], "ard": meta["ard"]},
        "theta": [{"name": p["name"], "grid": grid_of(p), "index": p["index"], "value": float(value_of(p))} for p in meta["theta"]],
        "roles": {"key": job["roles"]["key"]}, "optimiser": {"seed": str(job["train"]["seed"])}, "jitter": jitter,
        "delta": {"declared": delta, "alternatives": len(job.get("sweep", [0])), "alternative": job.get("alternative", 1), "methods": job["guarantees"],
                  **members(("sequence", place(job, cert["delta"].get("sequence"))))},
        "declared": declared}
    words = Sentences(document)
    document["baseline"]["statement"] = words.baseline()
    broken = any(a["status"] == "broken" for a in document["assumptions"])
    for g in document["guarantees"]:
        useful = g["bound"] < 1 and g["bound"] < document["baseline"]["bound"]
        g["status"] = "indicative" if broken else "vacuous" if not useful else "conditional" if g["role"] == "holdout" else "certified"
    for g in document["guarantees"]:
        chernoff = g["id"] == "holdout" and g["loss"]["kind"] not in ("zero-one", "band")
        g["method"], g["headline"], g["statement"] = METHODS["chernoff" if chernoff else g["id"]], words.headline(g), words.statement(g)
    return document


def place(job, stated):
    """The place of the certificate in its sequence: the policy is the job's, name and
    number are the maker's word."""
    need(("delta_policy" in job) == (stated is not None), "the job and the certificate do not agree on whether there is a sequence")
    return stated and {"policy": job["delta_policy"], "name": stated["name"], "number": stated["number"]}


def grid_of(p):
    g = p["grid"]
    return {**dict(floats(g, "min", "step")), "count": g["count"], "prior": g["prior"], **members(("centre", g.get("centre", 0)), *floats(g, "width"))}


def follows(model, job, columns, train):
    """The model file is one that the job gives with this scaling."""
    derived = compact(describe(model, job, columns))
    need(derived == model.text, f"the model does not follow from the job: {difference(model.meta, json.loads(derived))}")
    m, most = len(model.mean), inducing_most(job, train, len(model.features))
    need(m <= most, f"the model has {m} inducing points, the job allows {most}")


def compare(cert, document, derived):
    """Demands every byte of the document."""
    derived = indented(compact(derived))
    if derived != document:
        raise Refused("the certificate does not follow from model, rows and configuration: " + (
            difference(cert, json.loads(derived)) if cert != json.loads(derived) else "it is not in canonical form"))


def check_files(model, cert, document):
    """What follows from model file and certificate alone. Returns the job, its text and
    the verdict on the jitter."""
    need(cert["model"]["digest"] == model.digest, f"the certificate is about another model file than {model.digest}")
    ok(f"the model file is the one that the certificate names, {model.digest[:12]}…")
    job, raw = read_job(cert, document)
    found = stated_findings(cert, job)
    follows(model, job, declared_scaling(job, model.meta["features"] + [model.meta["target"]]), found["ledger"]["train"])
    ok("the model's description follows from the configuration: hyper-parameters, kernel, loss, row rules")
    jitter = {"limit": model.jitter / 2, "holds": bool(check_jitter(model))}
    check_bound(cert, model, found)
    compare(cert, document, derive(model, job, raw, cert, found, jitter))
    ok("every number, status and sentence of the certificate follows from what it rests on")
    return job, raw, jitter


def check_rows(model, cert, document, job, raw, jitter, paths):
    """What follows from the rows."""
    lake, columns = Lake(paths), cert["sample"]["columns"]
    lake.tolerant = "bad_rows" in job
    need((lake.rows, len(lake.groups)) == (cert["sample"]["rows"], cert["sample"]["shards"]),
         f"the data have {lake.rows} rows in {len(lake.groups)} shards, the certificate says {cert['sample']['rows']} in {cert['sample']['shards']}")
    survey = Survey(lake, columns, job)
    need(survey.digest == cert["sample"]["digest"], f"the data have the sample digest {survey.digest}, not {cert['sample']['digest']}")
    ok(f"the data are the sample: {lake.rows} rows in {len(lake.groups)} shards, digest {survey.digest[:12]}…")
    need((len(survey.reference), len(survey.holdout), survey.train) == tuple(cert["ledger"][k] for k in ("reference", "holdout", "train")), "the ledger is not what the key gives")
    if cert["sample"].get("segments"):
        check_places(lake, cert["sample"]["segments"])
    elif places_told(lake):
        print(f"NOT CHECKED: of which topic and partitions the rows are: the data have columns that tell it ({', '.join(places_told(lake))}), and the certificate names no segments, so that its sentences speak of no topic")
    follows(model, job, survey.scaling(model), survey.train)
    ok(f"roles and scaling: {len(survey.reference)} reference, {len(survey.holdout)} hold-out and {survey.train} train rows by "
       + ("position, hold-out rows by " if "by" in job["roles"] else "") + f"the key {job['roles']['key']!r}")
    targets = survey.values(survey.targets_from)[-1]
    constant = best_constant(model.loss, targets)
    need(constant == cert["baseline"]["constant"], f"the constant of the baseline is {constant} on these rows, the certificate says {cert['baseline']['constant']}")
    found = stated_findings(cert, job)
    found.update({
        "ledger": {"rows": lake.rows, "reference": len(survey.reference), "holdout": len(survey.holdout), "train": survey.train, "copies": survey.dropped, "bad": survey.bad},
        "sample": {"digest": survey.digest, "targets": survey.targets, "shards": len(lake.groups), "rows": lake.rows, **segments(cert["sample"])},
        "dependence": survey.dependence, "copies": stated_copies(survey.copies, job, lake.rows - survey.bad), "constant": constant})
    found["baseline"], same = check_losses(model, cert, survey, constant, jitter["holds"], found)
    compare(cert, document, derive(model, job, raw, cert, found, jitter))
    ok("derived again from model, rows and configuration, the certificate is the same to the last byte")
    check_default_features(model, job, lake, survey)
    check_inducing(model, job, survey)
    if job["grid"]["prior"] == "peaked":
        check_peaks(model, job, survey)
    return same


PLACES = ("$topic", "$partition", "$offset")  # columns of a spool that say where a row stood


def places_told(lake):
    """Those of the columns of a spool that a file has, or its path as a key."""
    names = {name for path in lake.files for name in [*pq.ParquetFile(path).schema_arrow.names, *hive_keys(path)]}
    return [name for name in PLACES if name in names]


def check_place_types(path, schema, told):
    """A file has each column of a spool that another one has, once, and not as a key of its
    path: $topic as text, the others as integers."""
    every = [*schema.names, *hive_keys(path)]
    for name in told:
        need(every.count(name) == 1, f"{path} has {every.count(name)} columns {name}, and has to have one, as other files do")
        need(name in schema.names, f"{path}: {name} is a key of the path and no column: where a row stood is not read from there")
        kind = schema.field(name).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if name == "$topic":
            need(kind in (pa.string(), pa.large_string(), pa.string_view()), f"{path}: the column {name} is {kind}, and has to be text")
        else:
            need(pa.types.is_integer(kind), f"{path}: the column {name} is {kind}, and has to be integers")


def check_places(lake, stated):
    """Each shard has the rows of its segment, and they stood there, as far as they say it
    themselves: at its topic, at its partition, and at offsets of it in their order."""
    told = places_told(lake)
    for path in lake.files:
        check_place_types(path, pq.ParquetFile(path).schema_arrow, told)
    for (path, g, rows), s in zip(lake.groups, stated):
        where = f"{path}, row group {g}"
        need(rows == s["rows"], f"{where} has {rows} rows, the segment that the certificate names has {s['rows']}")
        if not told:
            continue
        before = s["first"]
        for batch in pq.ParquetFile(path).iter_batches(batch_size=READ, row_groups=[g], columns=told):
            for name in told:
                values = batch.column(batch.schema.get_field_index(name)).to_pylist()
                if name == "$offset":
                    right = None not in values and all(a <= b for a, b in zip([before, *values], values)) and values[-1] < s["end"]
                    before = values[-1]
                else:
                    right = set(values) == {s["topic" if name == "$topic" else "partition"]}
                need(right, f"{where}: the column {name} does not say that the shard is topic {s['topic']!r}, partition {s['partition']}, offsets {s['first']} to {s['end'] - 1}, in their order")
    if told:
        ok(f"the columns {', '.join(told)} of the data say of each row what the certificate's {len(stated)} segments say")


def check_losses(model, cert, survey, constant, holds, found):
    """The stated sums of losses lie where this program's own proven bounds allow it.
    Returns the constant's sum, and whether as many rows are unproven as stated."""
    laws, losses = Laws(model, holds), Losses(model)
    low = high = baseline = unproven = n = 0
    held = HeldOut()
    digests = Digests(survey.lake, len(model.features) + 1)
    for shard, first, block in survey.lake.blocks(model.features + [model.target["name"]]):
        digests.add(shard, first, block)
        apart, block = block[:, within(survey.holdout, first, block.shape[1]) - first], block[:, survey.is_train(first, block.shape[1])]
        for i in range(0, apart.shape[1], BLOCK):
            y, (mean, _, error, _) = apart[-1, i:i + BLOCK], laws.at(model.scale_features(apart[:-1, i:i + BLOCK].T))
            held.add(*losses.points(y, mean, error))
        for i in range(0, block.shape[1], BLOCK):
            x, y = block[:-1, i:i + BLOCK], block[-1, i:i + BLOCK]
            below, above, proven = losses.bounds(y, *laws.at(model.scale_features(x.T)))
            low, high, baseline = low + units(below, False), high + units(above, True), baseline + units(constant_loss(model.loss, y, constant), False)
            unproven, n = unproven + int((~proven).sum()), n + len(y)
    need(digests.found()[0] == survey.digest and n == survey.train, "the data have changed between two readings")
    upper, lower, one = found["risk"], found["lower_risk"], n * UNIT
    need(upper >= low, f"the upper sum of the losses is {upper / one:.12f} of N, which is below the lower one that is proven here, {low / one:.12f}")
    need(lower <= high, f"the lower sum of the losses is {lower / one:.12f} of N, which is above the upper one that is proven here, {high / one:.12f}")
    room = Fraction(AGREEMENT) * one
    more = max(0, found["unproven_risk"] - unproven) * UNIT  # rows that are not proven there, but here
    need(high - upper <= room, f"the empirical risk is stated as at most {upper / one:.12f}, but proven here is at most {high / one:.12f}")
    need(lower - low <= room, f"the empirical risk is stated as at least {lower / one:.12f}, but proven here is at least {low / one:.12f}")
    need(upper - high <= room + more and low - lower <= room + more, f"the empirical risk is stated as {lower / one:.12f} to {upper / one:.12f}, far from what is proven here, {low / one:.12f} to {high / one:.12f}")
    need(baseline == found["baseline"], f"the constant loses {baseline / one:.12f} on the train rows, the certificate says {found['baseline'] / one:.12f}")
    ok(f"empirical risk: proven here from {low / one:.10f} to {high / one:.10f}, {unproven} rows unproven")
    ok(f"stated from {lower / one:.10f} to {upper / one:.10f}: the upper end off by {(upper - high) / one:+.1e}, the lower one by {(lower - low) / one:+.1e} (at most {AGREEMENT:g})")
    ok(f"the constant {constant:.6g} is the best of 512, and loses what is stated to the last unit")
    return baseline, held.check(found) and unproven == found["unproven_risk"]


class HeldOut:
    """Sums of the bounds on what the mean loses on hold-out rows."""

    def __init__(self):
        self.low = self.high = self.unproven = 0

    def add(self, low, high, proven):
        self.low, self.high = self.low + units(low, False), self.high + units(high, True)
        self.unproven = self.unproven + int((~proven).sum())

    def check(self, found):
        """The stated sums are these, up to rounding; further out only as far as there are
        more rows that are not proven. Returns whether as many are unproven."""
        if "holdout" not in found:
            return True
        n = found["ledger"]["holdout"]
        upper, lower = found["holdout"], found["lower_holdout"]
        room = Fraction(AGREEMENT) * n * UNIT
        more = max(0, found["unproven_holdout"] - self.unproven) * UNIT
        need(self.high - upper <= room and lower - self.low <= room, f"the mean loses from {self.low / UNIT:.3f} to {self.high / UNIT:.3f} on the {n} hold-out rows, the certificate says {lower / UNIT:.3f} to {upper / UNIT:.3f}")
        need(upper - self.high <= room + more and self.low - lower <= room + more, f"the mean loses from {self.low / UNIT:.3f} to {self.high / UNIT:.3f} on the {n} hold-out rows, far from {lower / UNIT:.3f} to {upper / UNIT:.3f}")
        ok(f"hold-out: the mean loses {self.low / UNIT:.3f} to {self.high / UNIT:.3f} on {n} rows, as stated")
        return found["unproven_holdout"] == self.unproven


def mean_statuses(cert):
    """What the guarantees about the mean of Q are worth."""
    return {g["status"] for g in cert["guarantees"] if g["predictor"] == "mean of Q"}


def unchecked(cert, rows, same, row):
    """What this program leaves unchecked, in words."""
    left = ["what is declared", "how training went", "that the last pass of the run was separate"]
    if row:
        left.append("that the columns of the certificate's row that are not about guarantees say what its document says")
    if not rows:
        left.append("everything that takes the rows: sample, roles, copies, scaling, losses, constant, features, peaks")
    elif not same:
        left.append("how many rows the maker's program could not prove (here it is another number)")
    print("NOT CHECKED here: " + "; ".join(left))
    if any(g["status"] == "conditional" for g in cert["guarantees"]):
        print("NOT CHECKED: that training did not see the hold-out rows (pacsgp verify --retrain checks it)")
    if cert["delta"].get("sequence"):
        print("NOT CHECKED: that the number in the sequence was taken before a bound was known, that no other certificate has it, and that the sequence has this name")
    if cert["sample"].get("segments"):
        print("NOT CHECKED: that the rows are of the topic and of the partitions that the sentences name (pacsgp verify --source reads them there)")


def show_attempts(cert):
    """What the maker says of other jobs on the same rows."""
    others = cert["declared"]["attempt"]["on_these_rows"] - 1
    if others > 0:
        print(f"NOTE  {others} other {'job was' if others == 1 else 'jobs were'} tried on these rows before this one, says its maker")


def show(cert):
    """The guarantees, those on a condition last, and apart from them the maker's word."""
    for g in sorted(cert["guarantees"], key=lambda g: g["status"] == "conditional"):
        print(f"{g['status'].upper():11} {g['headline']}")
    print("declared, the maker's word, which model and rows do not show: " + compact(cert["declared"]))


# ------------------------------------------------------------------- predict

FAR = "the prediction cannot be computed with the accuracy that the certificate asks for: the row lies too far from all rows that the model knows"


def write_predictions(model, paths, out, certificate):
    """Writes row, mean, deviation, certificate, reason. A mean is given where it is
    proven to be within tau of the exact one, and a deviation where its square is
    (format.md, 3)."""
    schema = pa.schema([("row", pa.int64()), ("mean", pa.float64()), ("deviation", pa.float64()),
                        ("certificate", pa.string()), ("reason", pa.string())])
    laws, rows, withheld = Laws(model, check_jitter(model)), 0, 0
    centre, scale, loss = model.target["centre"], model.target["scale"], model.loss
    tolerance = {"band": min(loss.get("below", 0), loss.get("above", 0)), "relative": scale}.get(loss["kind"], loss.get("epsilon"))
    with pq.ParquetWriter(out, schema, write_page_checksum=True) as writer:
        lake = Lake(paths)
        lake.tolerant = True
        for _, first, block in lake.blocks(model.features):
            bad = ~np.isfinite(block).all(0)
            x = model.scale_features(np.where(bad, model.centre[:, None], block).T)
            parts = [laws.at(x[i:i + BLOCK]) for i in range(0, len(x), BLOCK)]
            mean, variance, mean_error, variance_error = (np.concatenate(part) for part in zip(*parts))
            mean = mean * scale + centre
            rounding = 2.0 ** -51 * (np.abs(mean) + abs(centre))
            far = ~(mean_error * scale + rounding <= model.tau()) & ~bad
            deviation = np.sqrt(np.maximum(variance, 0)) * scale
            vague = ~(variance_error * scale ** 2 * (1 + 1e-9) + 1e-15 * deviation ** 2 <= model.tau() * tolerance)
            none = bad | far
            reasons = ["the row breaks the row rules" if b else FAR if f else None for b, f in zip(bad, far)]
            writer.write_table(pa.table([
                pa.array(np.arange(first, first + len(mean))), pa.array(mean, mask=none), pa.array(deviation, mask=none | vague),
                pa.array([None if b else certificate for b in none], pa.string()), pa.array(reasons, pa.string())], schema=schema))
            rows, withheld = rows + len(mean), withheld + int(none.sum())
    ok(f"{rows} rows are in {out}, {withheld} of them without a prediction")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("model")
    parser.add_argument("data", nargs="*")
    parser.add_argument("--certificate")
    parser.add_argument("--id", help="the certificate's id, from a source that you trust")
    parser.add_argument("--predict", metavar="OUT", help="write predictions for DATA to this file")
    args = parser.parse_intermixed_args()
    if not args.certificate and not args.predict or args.predict and not args.data:
        parser.error("say --certificate CERT, or --predict OUT and DATA")
    for path in filter(None, (args.model, args.certificate, *args.data)):
        if not os.path.exists(path):
            parser.error(f"{path} does not exist")
    try:
        model, certificate, same = Model(args.model), None, True
        rows = args.data and not args.predict
        if args.certificate:
            cert, document, certificate, row = read_certificate(args.certificate, args.id)
            show_attempts(cert)
            job, raw, jitter = check_files(model, cert, document)
            if rows:
                same = check_rows(model, cert, document, job, raw, jitter, args.data)
            show(cert)
            if not {"certified", "conditional"} & mean_statuses(cert):
                certificate = None  # nothing is said about the mean, which is what is predicted
        if args.predict:
            write_predictions(model, args.data, args.predict, certificate)
        if args.certificate:
            unchecked(cert, rows, same, row)
        by_word = args.certificate and "certified" not in mean_statuses(cert) and "conditional" in mean_statuses(cert)
        if rows and by_word:
            print("by the maker's word: the certificate follows from this model and these rows, if the model was trained as it says")
        elif rows and "certified" not in mean_statuses(cert):
            print("nothing is certified about the mean of Q: so says the certificate, which follows from this model and these rows")
        elif rows:
            print("verified: the certificate follows from this model and these rows")
        elif args.certificate:
            print("arithmetic consistent, evidence not rechecked: give DATA to check it")
    except (Refused, OSError, KeyError, IndexError, TypeError, ValueError, ArithmeticError, RecursionError, np.linalg.LinAlgError, pa.ArrowException) as err:
        print(f"REFUSED {type(err).__name__ + ': ' if not isinstance(err, Refused) else ''}{err}")
        return 1
    return 3 if args.certificate and not args.predict and (not rows or "certified" not in mean_statuses(cert)) else 0


if __name__ == "__main__":
    sys.exit(main())
