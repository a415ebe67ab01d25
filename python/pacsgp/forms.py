"""The forms of a model's metadata and of a certificate. What a verifier derives again and compares needs none."""
import re
from unicodedata import bidirectional, category

from .jsontext import count, integer, number
from .kernels import FAMILIES
from .losses import KINDS
from .methods import METHODS

ROW_RULES = ["values-present", "values-finite", "integers-exact"]
anything = lambda v: True
true = lambda v: v is True
flag = lambda v: isinstance(v, bool)
text = lambda v: isinstance(v, str)
unit = lambda v: text(v) and 1 <= len(v) <= 24 and all(category(c)[0] in "LMN" and bidirectional(c) not in ("R", "AL") or category(c) == "Sc" or c in "%‰°′″/·⋅×*^+-−⁺⁻.()" for c in v)
word = lambda v: text(v) and 1 <= len(v) <= 128 and v.isprintable()
digest = lambda v: text(v) and re.fullmatch("[0-9a-f]{64}", v)
positive = lambda v: number(v) and v > 0
share = lambda v: number(v) and 0 <= v <= 1
total = lambda v: integer(v) and abs(v) < 1 << 63
number_of = lambda v: integer(v) and 1 <= v <= 1 << 40

TOLERANCES = {"epsilon?": positive, "below?": positive, "above?": positive}
AFFINE = {"name": text, "centre": number, "scale": positive, "values?": {"boolean", "date", "time", "time in UTC", "local time", "text"}}
PARAMETER = {"name": text, "index": count, "grid": {
    "min": number, "step": positive, "count": count, "prior": {"flat", "peaked"}, "centre?": count, "width?": positive}}
ENCODING = {"column": text, "one_hot?": [number], "cyclic?": [positive], "scaled?": flag, "fill?": {"with?": number, "flag?": flag}}
METADATA = {
    "format": {"pacsgp-model/3"}, "kernel": {*FAMILIES}, "isotropic": flag, "theta": [PARAMETER],
    "features": [AFFINE], "encode?": [ENCODING], "target": AFFINE, "mean?": text, "loss": {"kind": {*KINDS}, **TOLERANCES}, "row_rules": [text],
    "lengthscales": [positive], "variance": positive, "jitter": positive, "inducing": count, "prediction": {"part": share, "noise": positive, "factor": positive}}

SETTINGS = {
    "target": text, "features?": [text], "exclude?": [text], "encode?": [ENCODING], "mean?": {"column": text}, "groups?": {"column": text, "values?": [number], "texts?": [text]}, "delta": positive,
    "kernel": {"family": [{*FAMILIES}], "isotropic": flag}, "loss": {"kind": {*KINDS}, **TOLERANCES, "epsilon_std?": positive, "tolerance?": {"any"}, "unit?": unit},
    "grid": {"min": number, "max": number, "step": lambda v: number(v) and v >= 0, "prior": {"flat", "peaked"}, "width": number}, "inducing?": [count], "unit?": {"columns": [text]}, "split": {"key": word, "holdout?": share, "outside?": share, "last?": flag},
    "guarantees?": [{*METHODS}], "duplicates": {"policy": {"drop", "keep", "limit"}, "limit": share}, "rejected?": {"limit": share}, "scaling": {"prior", "none"},
    "train": {"method?": {"kl-PAC-SGP", "sqrt-PAC-SGP", "kl-PAC-GP", "sqrt-PAC-GP", "full-GP", "VFE", "DTC", "FITC"}, "objective?": {"bound", "elbo"},
              "mode": {"mini-batch", "full-pass"}, "batch?": count, "buffer?": count, "passes?": positive, "time_seconds?": positive, "seed": lambda v: integer(v) and 0 <= v < 1 << 64, "warm_start?": flag},
    "sequence?": true}

SUM = {"n": count, "sum": lambda v: text(v) and re.fullmatch("[0-9a-f]{32}", v)}
SPAN = {"topic": lambda v: text(v) and re.fullmatch("[a-zA-Z0-9._-]{1,249}", v), "partition": count, "first": count, "end": count}
CERTIFICATE = {
    "format": {"pacsgp-certificate/4"}, "claims": [{"bound": share, "by_group?": [{"bound": share, "*": anything}], "*": anything}], "assumptions": anything, "warnings": anything, "loss": anything,
    "delta": {"declared": positive, "methods": [{*METHODS}], "sequence?": {"name": word, "run": number_of}, "holdout_reuse?": {"earlier": [number_of], "ended?": true}},
    "losses": [{"predictor": text, "subset": text, "n": count, "sum?": SUM["sum"], "bound?": share, "unproven?": count,
                "beyond?": [{"index": count, "misses": count}], "by_group?": [{"n": count, "misses": count}]}],
    "baseline": {"constant": number, "half_width?": positive, "origin": text, "sum": SUM},
    "counts": {"rows": count, "prior": count, "training": count, "holdout": count, "duplicates": count, "rejected": count, "outside?": count,
               "units?": {"columns": [text], "prior": count, "training": count, "holdout": count, "largest": count}},
    "dataset": {"digest": digest, "targets": digest, "shards": count, "columns": [word], "segments?": [{**SPAN, "rows": count}]},
    "duplicates": {"policy": text, "limit": share, "found": count},
    "dependence": {"rows": count, "sum": total, "squares": count, "products": [total]},
    "mean?": {"column": text, "prior": SUM, "training": SUM},
    "groups?": {"column": text, "not_a_feature?": true, "values": [number], "texts?": [text], "prior?": [count]},
    "model": {"kl": number, "*": anything}, "job": {"digest": digest, "values": SETTINGS},
    "publisher": {"software": word, "attempt": {"on_these_rows": number_of, "in_this_log": number_of},
                  "training": {"machine": word, "stopped_after?": number_of, "parent?": {"certificate": digest, "model": digest, "ranges": [SPAN]}}}}
