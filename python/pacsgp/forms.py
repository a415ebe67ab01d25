"""The forms of a model's metadata and of a certificate."""
import re
import unicodedata

from .jsontext import BEFORE, FORMAT, count, integer, number
from .kernels import FAMILIES
from .losses import KINDS
from .methods import METHODS, NAMES

ROW_RULES = ["values-present", "values-finite", "integers-exact"]


def positive(v):
    return number(v) and v > 0


def share(v):
    return number(v) and 0 <= v <= 1


def below_one(v):
    return share(v) and v < 1


def weight(v):
    return integer(v) and 1 <= v <= 1000


def flag(v):
    return isinstance(v, bool)


def text(v):
    return isinstance(v, str)


def digest(v):
    return text(v) and re.fullmatch("[0-9a-f]{64}", v)


LOOKALIKES = "`´ʹʺʻʼʽˊˋ˝ˮ׳״′″‴‵‶‷〃ʾʿ＂＇｀❛❜❝❞❟❠🙶🙷🙸ᐦᑊ˵˶ꞌ՚՛᳓ߴߵ⁗᾽᾿῾\u1fef\u1ffd΄¨Ꞌ"
INKLESS = ((0x34F, 0x34F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2800, 0x2800), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0xE0100, 0xE01EF))  # printed as nothing
QUOTES = "\"'«»‘’‚‛“”„‟‹›⹂「」『』〝〞〟﹁﹂﹃﹄＂＇｢｣"  # Unicode's Quotation_Mark


def word(most):
    """The form of a word that stands in quotes: it cannot close them, and is
    printed as it is (format.md, 7)."""
    def right(v):
        if not (text(v) and 1 <= len(v) <= most and not any(c == "\\" or c in LOOKALIKES or c in QUOTES or any(low <= ord(c) <= high for low, high in INKLESS) for c in v)
                and all(c == " " or unicodedata.category(c)[0] in "LMNPS" for c in v)):
            return False
        kinds = [unicodedata.category(c) for c in v]
        return all(k[0] != "M" or k != "Me" and i > 0 and kinds[i - 1][0] in "LM" for i, k in enumerate(kinds))
    return right


UNIT_SIGNS = "%‰°′″/·⋅×*^+-−⁺⁻.()"
FROM_THE_RIGHT = ((0x590, 0x8FF), (0xFB1D, 0xFDFF), (0xFE70, 0xFEFF), (0x10800, 0x10FFF), (0x1E800, 0x1EFFF))  # blocks of scripts


def unit_word(v):
    """The form of a unit: letters, digits and signs of units, and nothing that runs from
    the right."""
    return (word(24)(v) and not any(low <= ord(c) <= high for c in v for low, high in FROM_THE_RIGHT)
            and all(unicodedata.category(c)[0] in "LMN" or unicodedata.category(c) == "Sc" or c in UNIT_SIGNS for c in v))


TOLERANCES = {"epsilon?": positive, "below?": positive, "above?": positive}
AFFINE = {"name": word(128), "centre": number, "scale": positive}

PARAMETER = {"name": text, "index": count, "grid": {
    "min": number, "step": positive, "count": count, "prior": {"flat", "peaked"}, "centre?": count, "width?": positive}}
SUM = {"count": count, "sum": lambda v: text(v) and re.fullmatch("[0-9a-f]{32}", v)}

ENCODING = {"column": word(128), "one_hot?": [number], "texts?": [word(64)], "cyclic?": [positive], "scaled?": flag, "fill?": {"with?": number, "flag?": flag}}
METADATA = {
    "format": {"pacsgp-model/2"}, "kernel": {*FAMILIES}, "ard": flag, "theta": [PARAMETER],
    "features": [AFFINE], "encode?": [ENCODING], "target": AFFINE, "mean?": word(128), "loss": {"kind": {*KINDS}, **TOLERANCES}, "row_rules": [text],
    "lengthscales": [positive], "variance": positive, "jitter": positive, "inducing": count, "noise?": {"variance": positive, "spread": lambda v: number(v) and 0 <= v <= 1}}
topic_name = lambda v: text(v) and re.fullmatch("[a-zA-Z0-9._-]{1,249}", v)
KERNEL = {"family": [{*FAMILIES}], "isotropic": flag}

ALTERNATIVE = {"loss?": {**TOLERANCES, "epsilon_std?": positive}, "features?": [word(128)], "exclude?": [word(128)],
               "kernel?": {name + "?": form for name, form in KERNEL.items()}, "inducing?": [count],
               "train?": {"passes?": positive, "seed?": lambda v: integer(v) and 0 <= v < 1 << 64}}

SETTINGS = {
    "target": word(128), "features?": [word(128)], "exclude?": [word(128)], "encode?": [ENCODING], "mean?": {"column": word(128)}, "groups?": {"column": word(128), "values?": [number], "texts?": [word(64)]}, "delta": positive, "kernel": KERNEL,
    "loss": {"kind": {*KINDS}, **TOLERANCES, "epsilon_std?": positive, "tolerance?": {"any"}, "width?": {"deviation"}, "unit?": unit_word},
    "grid": {"min": number, "max": number, "step": lambda v: number(v) and v >= 0, "prior": {"flat", "peaked"}, "width": number},
    "inducing?": [count], "unit?": {"columns?": [word(128)], "block?": count, "misses?": below_one}, "roles": {"key": word(128), "holdout?": share, "outside?": share, "last?": flag, "by?": {"first", "content"}, "reference?": count}, "guarantees?": [{"id": {*METHODS}, "weight": weight}], "copies": {"policy": {"limited", "drop", "independent"}, "limit": share}, "bad_rows?": {"tolerance": share}, "schema?": {"strict?": flag, "note?": flag, "columns?": [{"column": word(128), "type?": text, "unit?": unit_word, "range?": [number]}]},
    "scaling": {"mode": {"reference", "all-rows", "declared"}, "features?": {"*": AFFINE}, "target?": AFFINE},
    "train": {"method?": {"kl-PAC-SGP", "sqrt-PAC-SGP", "kl-PAC-GP", "sqrt-PAC-GP", "full-GP", "VFE", "DTC", "FITC", "rule"}, "objective?": {"bound", "elbo", "both"}, "alpha?": number, "free_alpha?": flag, "evaluations?": count, "noise?": [positive],
              "mode": {"mini-batch", "full-pass", "arrival"}, "rows?": count, "batch?": count, "buffer?": count, "passes?": positive, "time_seconds?": positive, "seed": lambda v: integer(v) and 0 <= v < 1 << 64, "warm_start?": flag},
    "sweep?": [ALTERNATIVE], "alternative?": count, "delta_policy?": {"sequence", "each"}, "horizon?": count}

total = lambda v: integer(v) and abs(v) < 1 << 63
SERIES = {"rows": count, "sum": total, "squares": count, "products": [total]}
CERTIFICATE = {
    "format": {FORMAT, BEFORE},
    "guarantees": [{
        "id": {*NAMES}, "predictor": text, "role": text, "method": text, "status": text, "headline": text, "statement": text,
        "loss": {"kind": {*KINDS}, **TOLERANCES, "width?": {"deviation"}, "target": word(128)}, "delta": positive, "n": count,
        "empirical_risk?": {"exact": SUM, "upper": share},
        "unproven": count, "ln_inverse_delta": number, "bound": share,
        **{k + "?": form for m in METHODS.values() for k, form in m.members.items()}}],
    "baseline": {"constant": number, "origin": {"reference", "start"}, "empirical_risk": {"exact": SUM, "lower": share}, "bound": share, "missed?": {"units": count, "bound": share}, "statement": text},
    "dependence": {"pairs": count, "correlation": number, "suspicious": flag, "measured?": {"targets": SERIES, "losses": SERIES, "late": {"rows": count, "sum": count}}},
    "copies": {"policy": {"limited", "drop", "independent"}, "limit": share, "distinct": count, "rows": count, "features": count, "frequent?": count, "as_they_come?": {"exact": SUM, "upper": share}},
    "findings?": {"rows": count, "near_copies?": count, "ordered?": [word(128)], "grids?": [word(128)]}, "mean?": {"column": word(128), "reference": SUM, "train": SUM}, "accuracy": {"tau": positive},
    "assumptions": [{"id": text, "status": text, "text": text, "diagnostic?": text}],
    "ledger": {"unit": text, "rows": count, "reference": count, "train": count, "holdout": count, "copies": count, "bad": count, "outside?": count,
               "units?": {"columns?": [word(128)], "block?": count, "misses?": below_one, "reference": count, "train": count, "holdout": count, "largest": count}},
    "sample": {"digest": digest, "targets": digest, "shards": count, "rows": count, "columns": [word(128)],
               "segments?": [{"topic": topic_name, "partition": count, "first": count, "end": count, "rows": count}]}, "row_rules": [text], "model": {"digest": digest, "by_rule?": flag},
    "configuration": {"digest": digest, "values": SETTINGS}, "kernel": {"family": {*FAMILIES}, "families": [{*FAMILIES}], "ard": flag},
    "theta": [{**PARAMETER, "value": number}], "roles": {"key": text, "by_content?": flag, "holdout?": share, "last?": flag}, "optimiser": {"seed": text}, "jitter": {"limit": positive, "holds": flag},
    "delta": {"declared": positive, "alternatives": count, "alternative": count, "methods": [{"id": {*METHODS}, "weight": weight}],
              "sequence?": {"policy": {"sequence", "each"}, "name": word(128), "number": lambda v: integer(v) and 1 <= v <= 1 << 40, "horizon?": lambda v: integer(v) and 1 <= v <= 1 << 40, "amended?": lambda v: integer(v) and v >= 2},
              "looks?": {"uncounted?": flag, "earlier?": [lambda v: integer(v) and 1 <= v <= 1 << 40], "swapped?": flag, "ended?": flag}},
    "declared": {"unit?": unit_word, "software": word(128), "attempt": {"on_these_rows": count, "in_this_log": count},
                 "training": {"machine": word(128), "hurried_after?": count, "ancestor?": {"certificate": digest, "model": digest, "rows": [{"topic": topic_name, "partition": count, "first": count, "end": count}]}},
                 "scaling?": [{"column": word(128), "centre": number, "scale": positive}], "changes?": [{"column": word(128), "change": {"type", "gone", "new", "range"}}], "snapshot?": word(128)}}
