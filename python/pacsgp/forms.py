"""The forms of a model's metadata and of a certificate. What a verifier derives again and compares needs none."""
import re
from unicodedata import category

from .jsontext import count, integer, number
from .kernels import FAMILIES
from .losses import KINDS
from .methods import METHODS

QUOTES = "\"'«»‘-‟‹›⹂「-』〝-〟﹁-﹄＂＇｢｣`´ʹʺʻʼʽˊˋ˝ˮ׳״′″‴‵‶‷〃ʾʿ｀❛❜❝❞❟❠🙶🙷🙸ᐦᑊ˵˶ꞌ՚՛᳓ߴߵ⁗᾽᾿῾\u1fef\u1ffd΄¨Ꞌ"  # and what resembles them
UNFIT = re.compile(rf"[\\{QUOTES}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")  # or without ink
ROW_RULES = ["values-present", "values-finite", "integers-exact"]
true = lambda v: v is True
flag = lambda v: isinstance(v, bool)
text = lambda v: isinstance(v, str)
kinds = lambda v: "".join("_" if category(c) == "Me" else category(c)[0] for c in v)
word = lambda v, most=128: text(v) and len(v) <= most and v.isprintable() and not UNFIT.search(v) and re.fullmatch("(LM*|[NPSZ])+", kinds(v))
unit = lambda v: word(v, 24) and not re.search("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff]", v) and all(category(c)[0] in "LMN" or category(c) == "Sc" or c in "%‰°′″/·⋅×*^+-−⁺⁻.()" for c in v)
digest = lambda v: text(v) and re.fullmatch("[0-9a-f]{64}", v)
positive = lambda v: number(v) and v > 0
share = lambda v: number(v) and 0 <= v <= 1
total = lambda v: integer(v) and abs(v) < 1 << 63
some = lambda v: integer(v) and 1 <= v <= 1 << 30
seconds = lambda v: positive(v) and (ns := round(v * 1e9)) < 1 << 63 and v == ns // 10 ** 9 + ns % 10 ** 9 / 1e9
number_of = lambda v: integer(v) and 1 <= v <= 1 << 40

TOLERANCES = {"epsilon?": positive, "below?": positive, "above?": positive}
AFFINE = {"name": word, "centre": number, "scale": positive, "values?": {"boolean", "date", "time", "time in UTC", "local time", "text"}}
PARAMETER = {"name": text, "grid": {
    "min": number, "step": positive, "count": count, "prior": {"flat", "peaked"}, "centre?": count, "width?": positive}, "index": count}
ENCODING = {"column": word, "one_hot?": [number], "cyclic?": [positive], "scaled?": flag, "fill??": {"with??": number, "flag?": flag}}
METADATA = {"format": {"pacsgp-model/3"}, "kernel": {*FAMILIES}, "isotropic": flag, "theta": [PARAMETER],
    "features": [AFFINE], "encode?": [ENCODING], "target": {k: v for k, v in AFFINE.items() if k != "values?"}, "mean?": word, "loss": {"kind": {*KINDS}, **TOLERANCES}, "row_rules": [text],
    "lengthscales": [positive], "variance": positive, "jitter": positive, "inducing": count, "prediction": {"part": share, "noise": positive, "factor": positive}}

SETTINGS = {
    "target": word, "features?": [word], "exclude?": [word], "encode?": [{k: v for k, v in ENCODING.items() if k != "one_hot?"}], "mean?": {"column": word}, "groups?": {"column": word, "values?": [number], "texts?": [lambda v: word(v, 64)]},
    "loss": {"kind": {*KINDS}, "epsilon?": positive, "epsilon_std?": positive, "below?": positive, "above?": positive, "tolerance?": {"any"}, "unit?": unit},
    "delta": positive, "kernel": {"family": [{*FAMILIES}], "isotropic": flag},
    "grid": {"min": number, "max": number, "step": lambda v: number(v) and v >= 0, "prior": {"flat", "peaked"}, "width": number}, "inducing?": [count], "scaling": {"prior", "none"},
    "unit?": {"columns": [word]}, "split": {"key": word, "holdout?": share, "outside?": share, "last?": flag}, "duplicates": {"policy": {"drop", "keep", "limit"}, "limit": share}, "rejected?": {"limit": lambda v: positive(v) and v < 1},
    "train": {"method?": {"kl-PAC-SGP", "sqrt-PAC-SGP", "kl-PAC-GP", "sqrt-PAC-GP", "full-GP", "VFE", "DTC", "FITC"}, "objective?": {"bound", "elbo"},
              "mode": {"mini-batch", "full-pass"}, "batch?": some, "buffer?": some, "passes?": lambda v: positive(v) and v <= 1e6, "time_seconds?": seconds, "seed": lambda v: integer(v) and 0 <= v < 1 << 64, "warm_start?": flag},
    "guarantees?": [{*METHODS}], "sequence?": true}

SUM = {"n": count, "sum": lambda v: text(v) and re.fullmatch("[0-9a-f]{32}", v)}
SPAN = {"topic": lambda v: text(v) and v not in (".", "..") and re.fullmatch("[a-zA-Z0-9._-]{1,249}", v), "partition": lambda v: count(v) and v < 1 << 31, "first": count, "end": count}
CERTIFICATE = {"format": {"pacsgp-certificate/4"},
    "claims": [{"id": text, "predictor": text, "subset": text, "status": text, "bound": share, "baseline": number, "delta": number, "n": count, "risk??": share, "misses??": count, "ln_inverse_weight?": number, "ln_xi?": number,
                "ln_inverse_delta": number, "exponent?": number, "bound_pinsker?": share, "curve?": {"level": share, "steps": [{"tolerance": positive, "misses": count, "bound": share}]}, "by_group?": [{"n": count, "misses": count, "bound": share}]}],
    "assumptions": [{"id": text, "checked": text, "fails?": flag}], "warnings": [{"code": text, "count?": count, "of?": count, "value?": number}],
    "loss": {"kind": text, **TOLERANCES, "target": word, "unit?": text, "tolerance?": text},
    "delta": {"declared": positive, "methods": [{*METHODS}], "sequence?": {"name": word, "run": number_of}, "holdout_reuse?": {"earlier": [number_of], "ended?": true}},
    "losses": [{"predictor": text, "subset": text, "n": count, "sum?": SUM["sum"], "bound?": share, "unproven?": count,
                "beyond?": [{"index": count, "misses": count}], "by_group?": [{"n": count, "misses": count}]}],
    "baseline": {"constant": number, "origin": text, "sum": SUM, "half_width?": positive},
    "counts": {"rows": count, "prior": count, "training": count, "holdout": count, "duplicates": count, "rejected": count, "outside?": count,
               "units?": {"columns": [text], "prior": count, "training": count, "holdout": count, "largest": count}},
    "dataset": {"digest": digest, "targets": digest, "shards": count, "columns": [word], "segments?": [{**SPAN, "rows": count}]},
    "duplicates": {"policy": text, "limit": share, "found": count},
    "dependence": {"rows": count, "sum": total, "squares": count, "products": [total]},
    "mean?": {"column": text, "prior": SUM, "training": SUM},
    "groups?": {"column": text, "not_a_feature?": true, "values": [number], "texts?": [text], "prior?": [count]},
    "model": {"digest": digest, "kl": number, "kl_around?": number, "accuracy": number, "kernel": {"family": text, "families": [text], "isotropic": flag}, "theta": [PARAMETER], "jitter": {"limit": number, "holds": flag}},
    "job": {"digest": digest, "values": SETTINGS},
    "publisher": {"software": word, "attempt": {"on_these_rows": count, "in_this_log": count},
                  "training": {"machine": word, "stopped_after?": count, "parent?": {"certificate": digest, "model": digest, "ranges": [SPAN]}}}}
