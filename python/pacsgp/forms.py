"""The forms of a model's metadata and of a certificate."""
import re

from .jsontext import FORMAT, count, integer, number
from .kernels import FAMILIES
from .losses import KINDS
from .methods import METHODS, NAMES

ROW_RULES = ["values-present", "values-finite", "integers-exact"]


def positive(v):
    return number(v) and v > 0


def share(v):
    return number(v) and 0 <= v <= 1


def flag(v):
    return isinstance(v, bool)


def text(v):
    return isinstance(v, str)


def digest(v):
    return text(v) and re.fullmatch("[0-9a-f]{64}", v)


TOLERANCES = {"epsilon?": positive, "below?": positive, "above?": positive}
AFFINE = {"name": text, "centre": number, "scale": positive}

PARAMETER = {"name": text, "index": count, "grid": {
    "min": number, "step": positive, "count": count, "prior": {"flat", "peaked"}, "centre?": count, "width?": positive}}
SUM = {"count": count, "sum": lambda v: text(v) and re.fullmatch("[0-9a-f]{32}", v)}

ENCODING = {"column": text, "one_hot?": [number], "cyclic?": [positive], "scaled?": flag, "fill?": {"with?": number, "flag?": flag}}
METADATA = {
    "format": {"pacsgp-model/3"}, "kernel": {*FAMILIES}, "ard": flag, "theta": [PARAMETER],
    "features": [AFFINE], "encode?": [ENCODING], "target": AFFINE, "mean?": text, "loss": {"kind": {*KINDS}, **TOLERANCES}, "row_rules": [text],
    "lengthscales": [positive], "variance": positive, "jitter": positive, "inducing": count, "predictor": {"part": share, "noise": positive, "factor": positive}}
topic_name = lambda v: text(v) and re.fullmatch("[a-zA-Z0-9._-]{1,249}", v)
KERNEL = {"family": [{*FAMILIES}], "isotropic": flag}

seed = lambda v: integer(v) and 0 <= v < 1 << 64
SETTINGS = {
    "target": text, "features?": [text], "exclude?": [text], "encode?": [ENCODING], "mean?": {"column": text}, "groups?": {"column": text, "values?": [number], "texts?": [text]}, "delta": positive, "kernel": KERNEL,
    "loss": {"kind": {*KINDS}, **TOLERANCES, "epsilon_std?": positive, "tolerance?": {"any"}, "unit?": text},
    "grid": {"min": number, "max": number, "step": lambda v: number(v) and v >= 0, "prior": {"flat", "peaked"}, "width": number},
    "inducing?": [count], "unit?": {"columns": [text]}, "roles": {"key": text, "holdout?": share, "outside?": share, "last?": flag},
    "guarantees?": [{*METHODS}], "duplicates": {"policy": {"drop", "keep", "limit"}, "limit": share}, "bad_rows?": {"tolerance": share},
    "scaling": {"reference", "none"},
    "train": {"method?": {"kl-PAC-SGP", "sqrt-PAC-SGP", "kl-PAC-GP", "sqrt-PAC-GP", "full-GP", "VFE", "DTC", "FITC"}, "objective?": {"bound", "elbo"},
              "mode": {"mini-batch", "full-pass"}, "batch?": count, "buffer?": count, "passes?": positive, "time_seconds?": positive, "seed": seed, "warm_start?": flag},
    "sequence?": {True}}

total = lambda v: integer(v) and abs(v) < 1 << 63
number_of = lambda v: integer(v) and 1 <= v <= 1 << 40
anything = lambda v: True
SERIES = {"rows": count, "sum": total, "squares": count, "products": [total]}
UNITS = {"columns": [text], "reference": count, "train": count, "holdout": count, "largest": count}
CERTIFICATE = {
    "format": {FORMAT},
    "guarantees": [{
        "id": {*NAMES}, "predictor": text, "role": text, "method": text, "status": text, "headline": text, "statement": text,
        "loss": {"kind": {*KINDS}, **TOLERANCES, "target": text}, "delta": positive, "n": count, "empirical_risk?": {"exact": SUM, "upper": share},
        "unproven": count, "ln_inverse_delta": number, "bound": share,
        **{k + "?": form for m in METHODS.values() for k, form in m.members.items()}}],
    "baseline": {"constant": number, "origin": {"reference", "start"}, "empirical_risk": {"exact": SUM, "lower": share}, "bound": share, "statement": text},
    "dependence": {"pairs": count, "correlation": number, "suspicious": flag, "measured": SERIES},
    "duplicates": {"policy": text, "limit": share, "distinct": count, "rows": count},
    "mean?": {"column": text, "reference": SUM, "train": SUM}, "accuracy": {"tau": positive}, "assumptions": [{"id": text, "status": text, "text": text, "diagnostic?": text}],
    "ledger": {"unit": text, "rows": count, "reference": count, "train": count, "holdout": count, "duplicates": count, "bad": count, "outside?": count, "units?": UNITS},
    "sample": {"digest": digest, "targets": digest, "shards": count, "rows": count, "columns": [text],
               "segments?": [{"topic": topic_name, "partition": count, "first": count, "end": count, "rows": count}]},
    "row_rules": [text], "model": {"digest": digest}, "configuration": {"digest": digest, "values": SETTINGS}, "kernel": {"family": {*FAMILIES}, "families": [{*FAMILIES}], "ard": flag},
    "theta": [{**PARAMETER, "value": number}], "roles": {"key": text, "last?": flag}, "optimiser": {"seed": text}, "jitter": {"limit": positive, "holds": flag},
    "delta": {"declared": positive, "methods": [{*METHODS}],
              "sequence?": {"name": text, "number": number_of},
              "looks?": {"earlier": [number_of], "ended?": flag}},
    "declared": anything}
