#!/usr/bin/env python3
"""Predict from a model file, and verify its certificate, without pacsgp.

A second implementation of docs/format.md on pyarrow, numpy and scipy. It shares
no code with the Go program, so that one need not trust either.

    verify.py MODEL --certificate CERT [--id ID] [DATA ...]
    verify.py MODEL --predict OUT [--certificate CERT] DATA ...

MODEL is a model file, CERT the certificate's JSON document, DATA the files or
directories of the lake in the order of the job. Without DATA only the
arithmetic is checked: the evidence (roles, scaling, empirical risk) takes the
rows. The sentences of a certificate are not checked here, its numbers are; the
last line but one of the output says what else is not. Exit status: 0 everything
checked agrees, 1 something does not, 2 usage.
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
import urllib.parse
from decimal import Decimal, getcontext

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.linalg import solve_triangular
from scipy.special import ndtr

getcontext().prec = 60
UNIT = 1 << 60            # losses are counted in units of 2^-60
MIN_VARIANCE = 1e-14      # of a prediction, in scaled units
XI_LIMIT = 10_000_000_000
BLOCK = 1024              # rows predicted at once
SLACK = 1e-6              # eta, in every bound
AGREEMENT = SLACK / 100   # of an empirical risk that takes rounded arithmetic


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
    return integer(v) and 0 <= v < 1 << 64


def number(v):
    return (integer(v) or isinstance(v, float)) and math.isfinite(v)


def positive(v):
    return number(v) and v > 0


def flag(v):
    return isinstance(v, bool)


def text(v):
    return isinstance(v, str)


def digest(v):
    return text(v) and re.fullmatch("[0-9a-f]{64}", v)


KINDS = {"zero-one", "band", "squared", "exponential", "relative"}
TOLERANCES = {"epsilon?": positive, "below?": positive, "above?": positive}
AFFINE = {"name": text, "centre": number, "scale": positive}
PARAMETER = {"name": text, "index": count, "grid": {
    "min": number, "step": positive, "count": count, "prior": {"flat", "peaked"}, "centre?": count, "width?": positive}}
RISK = {"exact": {"count": count, "sum": lambda v: text(v) and re.fullmatch("[0-9a-f]{32}", v)}, "upper": number}

METADATA = {
    "format": {"pacsgp-model/1"}, "kernel": {"squared-exponential"}, "ard": flag, "theta": [PARAMETER],
    "features": [AFFINE], "target": AFFINE, "loss": {"kind": KINDS, **TOLERANCES}, "row_rules": [text],
    "lengthscales": [positive], "variance": positive, "jitter": positive, "inducing": count}

ALTERNATIVE = {
    "loss?": {"epsilon?": positive, "epsilon_std?": positive, "below?": positive, "above?": positive},
    "features?": [text], "exclude?": [text], "kernel?": {"isotropic": flag}}

SETTINGS = {
    "target": text, "features?": [text], "exclude?": [text], "delta": positive, "kernel": {"isotropic": flag},
    "loss": {"kind": KINDS, **TOLERANCES, "epsilon_std?": positive, "unit?": text},
    "grid": {"min": number, "max": number, "step": positive, "prior": {"flat", "peaked"}, "width": number},
    "inducing?": [count], "sweep?": [ALTERNATIVE], "alternative?": count, "roles": {"key": text},
    "scaling": {"mode": {"reference", "all-rows", "declared"}, "features?": {"*": AFFINE}, "target?": AFFINE},
    "train": {"mode": {"mini-batch", "full-pass"}, "batch?": count, "buffer?": count, "passes?": positive, "time?": count, "seed": count}}

CERTIFICATE = {
    "format": {"pacsgp-certificate/1"},
    "guarantees": [{
        "id": text, "predictor": text, "method": text, "status": {"certified", "vacuous", "indicative"},
        "loss": {"kind": KINDS, **TOLERANCES, "target": text, "unit?": text}, "delta": positive, "n": count, "empirical_risk": RISK,
        "kl": number, "ln_inverse_weight": number, "ln_xi": number, "ln_inverse_delta": number, "exponent": number, "slack": number,
        "bound": number, "bound_pinsker": number, "lower_bound": number, "statement": text}],
    "baseline": {"constant": number, "origin": {"reference", "declared"}, "empirical_risk": RISK, "bound": number, "statement": text},
    "assumptions": [{"id": text, "status": {"enforced", "assumed", "broken"}, "text": text, "diagnostic?": text}],
    "ledger": {"unit": {"row"}, "rows": count, "reference": count, "train": count, "holdout": count, "bad": count},
    "sample": {"digest": digest, "targets": digest, "shards": count, "rows": count, "columns": [text]}, "row_rules": [text], "model": {"digest": digest},
    "configuration": {"digest": digest, "values": SETTINGS}, "kernel": {"family": {"squared-exponential"}, "ard": flag},
    "theta": [{**PARAMETER, "value": number}], "roles": {"key": text}, "optimiser": {"seed": text}, "jitter": {"bound": number, "limit": positive},
    "delta": {"declared": positive, "alternatives": count, "alternative": count},
    "attempt": {"on_this_sample": count, "in_this_directory": count}, "software": text}


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
        self.meta = meta = read_json(f.schema_arrow.metadata[b"pacsgp"], "model's metadata")
        fits(meta, METADATA, "the model's metadata")
        table = f.read()
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
        self.centre = np.array([f["centre"] for f in meta["features"]])
        self.scale = np.array([f["scale"] for f in meta["features"]])
        self.target = meta["target"]
        self.lengthscales = np.array(meta["lengthscales"])
        need(len(self.lengthscales) == d, "there are not as many lengthscales as features")

    def kernel(self, x):
        """k(x, Z) in scaled units, by direct differences: [len(x), M]."""
        r = np.zeros((len(x), len(self.z)))
        for j, l in enumerate(self.lengthscales):
            r += ((x[:, j, None] - self.z[None, :, j]) / l) ** 2
        return self.meta["variance"] * np.exp(-0.5 * r)

    def predict(self, raw):
        """Mean and variance of f at raw features [n, d], in scaled units."""
        x = (raw - self.centre) / self.scale
        mean, variance = np.empty(len(x)), np.empty(len(x))
        for i in range(0, len(x), BLOCK):
            phi = solve_triangular(self.l, self.kernel(x[i:i + BLOCK]).T, lower=True, check_finite=False)
            mean[i:i + BLOCK] = self.mean @ phi
            variance[i:i + BLOCK] = self.meta["variance"] - (phi ** 2).sum(0) + ((self.c.T @ phi) ** 2).sum(0)
        return mean, variance

    def scale_target(self, y):
        return (y - self.target["centre"]) / self.target["scale"]


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
        need(found, f"{path} holds no data file")
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
    return float(value) if re.fullmatch(r"[-+.0-9eE]+", value) else math.nan


def numbers(column, name):
    """A column as float64, with NaN for what is null (format.md, 4.2)."""
    t = column.type
    if isinstance(t, pa.DictionaryType):
        return numbers(column.dictionary_decode(), name)
    if pa.types.is_floating(t) or pa.types.is_boolean(t):
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


def shards(paths, columns):
    """Yields the rows of one shard after the other: [len(columns), rows]."""
    for path in data_files(paths):
        f, keys = pq.ParquetFile(path, page_checksum_verification=False), hive_keys(path)
        stored = [c for c in columns if c in f.schema_arrow.names]
        for name in columns:
            need((name in stored) + (name in keys) == 1, f"{path} has no column {name!r}, or two")
        for g in range(f.num_row_groups):
            if f.metadata.row_group(g).num_rows == 0:
                continue
            table = f.read_row_group(g, columns=stored)
            out = np.empty((len(columns), f.metadata.row_group(g).num_rows))
            for j, name in enumerate(columns):
                out[j] = numbers(table[name].combine_chunks(), name) if name in stored else hive_number(keys[name])
            yield out


class Sample:
    """All rows of the used columns, with the sample digest and that of the targets (format.md, 4.3 and 4.6)."""

    def __init__(self, paths, columns):
        blocks, digest, first = [], [], 0
        for block in shards(paths, columns):
            bad = ~np.isfinite(block)
            need(not bad.any(), f"row {first + int(bad.any(0).argmax())} breaks the row rules")
            h = hashlib.sha256(b"pacsgp/shard/1\0" + struct.pack("<QQQ", first, block.shape[1], len(columns)))
            for column in block:
                h.update(hashlib.sha256(np.ascontiguousarray(column).astype("<f8").tobytes()).digest())
            digest.append(h.digest())
            blocks.append(block)
            first += block.shape[1]
        need(first > 0, "there are no rows")
        self.shards, self.rows = len(digest), first
        self.digest = hashlib.sha256(
            b"pacsgp/sample/1\0" + struct.pack("<Q", len(digest)) + b"".join(digest)).hexdigest()
        self.values = np.concatenate(blocks, axis=1)
        total = sum(int.from_bytes(hashlib.sha256(b"pacsgp/target/1\0" + struct.pack("<d", y)).digest(), "little")
                    for y in (self.values[-1] + 0.0).tolist())  # -0.0 + 0.0 is 0.0
        self.targets = hashlib.sha256(
            b"pacsgp/targets/1\0" + struct.pack("<Q", first) + (total % 2 ** 256).to_bytes(32, "little")).hexdigest()


def reference_count(n):
    return min(20000, max(n // 20, min(200, n // 10)))


def reference_rows(key, n):
    """Ordinals of the reference rows, ascending (format.md, 4.4)."""
    prefix = b"pacsgp/roles/1\0" + key.encode() + b"\0"
    hashes = np.fromiter((int.from_bytes(hashlib.sha256(prefix + struct.pack(">Q", i)).digest()[:8], "big")
                          for i in range(n)), dtype=np.uint64, count=n)
    return np.sort(np.argsort(hashes, kind="stable")[:reference_count(n)])


def standardise(x):
    """Mean and population standard deviation, summed in order (format.md, 4.5)."""
    mean = np.cumsum(x)[-1] / len(x)          # cumsum adds one after the other
    return mean, math.sqrt(np.cumsum((x - mean) ** 2)[-1] / len(x))


# -------------------------------------------------------------------- losses

def scaled_tolerances(model):
    loss, s = model.meta["loss"], model.target["scale"]
    epsilon = loss.get("epsilon", 0.0) / s
    if loss["kind"] == "band":
        return loss.get("below", 0.0) / s, loss.get("above", 0.0) / s
    return epsilon, epsilon


def density(x):
    return np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def expected_loss(model, y, m, variance):
    """E l(y, v) for v ~ N(m, variance), in scaled units (format.md, 5.2)."""
    kind = model.meta["loss"]["kind"]
    below, above = scaled_tolerances(model)
    v = np.maximum(variance, MIN_VARIANCE)
    s = np.sqrt(v)
    if kind in ("zero-one", "band"):
        e = ndtr((y - below - m) / s) + ndtr((m - y - above) / s)
        outside = ~((-below < m - y) & (m - y < above))
        return np.clip(np.where((variance < MIN_VARIANCE) & outside, 1.0, e), 0, 1)
    g = m - y
    if kind == "exponential":
        return np.clip(1 - np.exp(-g * g / (2 * v + below ** 2)) / np.sqrt(1 + 2 * v / below ** 2), 0, 1)
    t = below if kind == "squared" else np.abs(y + model.target["centre"] / model.target["scale"])
    with np.errstate(divide="ignore", invalid="ignore"):
        a, h, c = (-t - g) / s, -g / s, (t - g) / s
        d = np.where((a > 0) & (c > 0), ndtr(-a) - ndtr(-c), ndtr(c) - ndtr(a))
        if kind == "squared":
            inside = ((g * g + v) * d + 2 * g * s * (density(a) - density(c)) + v * (a * density(a) - c * density(c))) / t ** 2
        else:
            inside = (g * (ndtr(c) - 2 * ndtr(h) + ndtr(a)) + s * (2 * density(h) - density(a) - density(c))) / t
        e = np.clip(ndtr(a) + ndtr(-c) + np.maximum(0, inside), 0, 1)
    return np.where(t == 0, 1.0, e)


def constant_loss(loss, y, c):
    """The loss of predicting the constant c, in raw units (format.md, 5.4)."""
    r, kind = c - y, loss["kind"]
    if kind in ("zero-one", "band"):
        below, above = (loss["epsilon"],) * 2 if kind == "zero-one" else (loss.get("below", 0.0), loss.get("above", 0.0))
        return np.where((r < -below * (1 + 1e-9)) | (r > above * (1 + 1e-9)), 1.0, 0.0)
    if kind == "relative":
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(y == 0, 1.0, np.minimum(np.abs(r) / np.abs(y), 1))
    r = r / loss["epsilon"]
    return np.minimum(r * r, 1) if kind == "squared" else -np.expm1(-(r * r))


def exact_sum(losses):
    """The sum of the losses, each rounded up to a multiple of 2^-60."""
    need(((0 <= losses) & (losses <= 1)).all(), "a loss is outside [0, 1]")
    units = np.ceil(losses * float(UNIT)).astype(np.int64)
    return (int((units >> 30).sum()) << 30) + int((units & ((1 << 30) - 1)).sum())


# --------------------------------------------------------------------- bound

def gaussian_kl(model):
    """KL(N(m, CC') || N(0, I)) in nats (format.md, 6.1)."""
    squares = math.fsum(model.mean ** 2) + math.fsum((model.c[np.tril_indices(len(model.mean))]) ** 2)
    return 0.5 * (squares - len(model.mean)) - math.fsum(np.log(model.c.diagonal()))


def ln_inverse_weight(theta):
    """ln 1/p of the hyper-parameters (format.md, 6.2)."""
    total = Decimal(0)
    for p in theta:
        g, i = p["grid"], p["index"]
        need(0 <= i < g["count"], f"{p['name']}: {i} is no index of {g['count']} values")
        need(p["value"] == g["min"] + i * g["step"], f"{p['name']}: {p['value']} is not the value {i} of its grid")
        if g["prior"] == "flat":
            total += Decimal(g["count"]).ln()
            continue
        need(g["prior"] == "peaked", f"unknown prior {g['prior']!r}")
        rate, centre = Decimal(g["step"]) / Decimal(g["width"]), g.get("centre", 0)
        rho = (-rate).exp()
        geometric = lambda n: (1 - rho ** (n + 1)) / (1 - rho)
        weights = geometric(centre) + geometric(g["count"] - 1 - centre) - 1
        total += rate * abs(i - centre) + weights.ln()
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
    for _ in range(150):
        middle = (inner + outer) / 2
        if kl(q, middle) <= c:
            inner = middle
        else:
            outer = middle
    return outer


def close(stated, true, what, upper=True, loose=1e-9):
    """A stated bound is on the safe side of the truth, and not far from it."""
    excess = (Decimal(stated) - Decimal(true)) * (1 if upper else -1)
    need(excess >= Decimal("-1e-15"), f"{what} is stated as {stated}, which is {'below' if upper else 'above'} {float(true)}")
    need(excess <= Decimal(loose), f"{what} is stated as {stated}, far from {float(true)}")


def check_bound(cert):
    """Recomputes B from the numbers of the certificate (format.md, 6.4)."""
    draw, mean = cert["guarantees"]
    n, eta, delta, part = draw["n"], Decimal(draw["slack"]), Decimal(repr(draw["delta"])), cert["delta"]
    need(part["declared"] == draw["delta"] and 1 <= part["alternative"] <= part["alternatives"], "the share of delta is out of range")
    need(draw["slack"] == SLACK, f"the slack is not {SLACK}")
    need(0 < delta < 1 and n >= 1 and n == cert["ledger"]["train"], "delta or N is out of range")
    risks = []
    for who, risk in (("a draw of Q", draw["empirical_risk"]), ("the constant", cert["baseline"]["empirical_risk"])):
        need(risk["exact"]["count"] == n, f"the risk of {who} is not over {n} rows")
        need(int(risk["exact"]["sum"], 16) <= n * UNIT, f"the risk of {who} is above 1")
        close(risk["upper"], Decimal(int(risk["exact"]["sum"], 16)) / (n * UNIT), f"the mean loss of {who}", loose=1e-15)
        risks.append(Decimal(risk["upper"]))
    close(draw["ln_inverse_weight"], ln_inverse_weight(cert["theta"]), "ln 1/weight of theta")
    close(draw["ln_xi"], ln_xi(n), "ln xi(N)")
    close(draw["ln_inverse_delta"], (part["alternatives"] / delta).ln(), "ln alternatives/delta")
    c = sum(Decimal(draw[k]) for k in ("kl", "ln_inverse_weight", "ln_xi", "ln_inverse_delta")) / n
    close(draw["exponent"], c, "the exponent")
    q = min(Decimal(1), risks[0] + eta)
    bound = min(Decimal(1), kl_inverse(q, c) + eta)
    close(draw["bound"], bound, "the bound B")
    close(draw["bound_pinsker"], min(Decimal(1), q + (c / 2).sqrt() + eta), "Pinsker's bound")
    lower = max(Decimal(0), kl_inverse(max(Decimal(0), risks[0] - eta), c, up=False) - eta)
    close(draw["lower_bound"], lower, "the lower bound", upper=False)
    for name, twice in (("bound", draw["bound"]), ("bound_pinsker", draw["bound_pinsker"]), ("lower_bound", 0)):
        need(mean[name] == min(1, 2 * twice), f"{name} of the mean is stated as {mean[name]}, but it is {min(1, 2 * twice)}")
    baseline = min(Decimal(1), kl_inverse(min(Decimal(1), risks[1] + eta), -delta.ln() / n) + eta)
    close(cert["baseline"]["bound"], baseline, "the bound of the constant")
    broken = any(a["status"] == "broken" for a in cert["assumptions"])
    for g in (draw, mean):
        status = "indicative" if broken else "certified" if g["bound"] < min(1, cert["baseline"]["bound"]) else "vacuous"
        need(g["status"] == status, f"{g['id']} is stated as {g['status']}, but it is {status}")
    ok(f"B = {draw['bound']:.6f} ({draw['status']}) follows from risk, KL, ln 1/weight, xi(N), delta and slack; here {float(bound):.12f}")


# --------------------------------------------------------------- certificate

def compact(text):
    """JSON text without the white space between its tokens."""
    return re.sub(r'("(?:[^"\\]|\\.)*")|\s+', lambda m: m.group(1) or "", text)


def configuration_digest(text):
    text = compact(text)
    start = text.index('"values":', text.index('"configuration":{"digest":')) + len('"values":')
    end = json.JSONDecoder().raw_decode(text, start)[1]
    return hashlib.sha256(text[start:end].encode()).hexdigest()


def read_certificate(path, wanted):
    with open(path, "rb") as f:
        data = f.read()
    found = hashlib.sha256(data).hexdigest()
    named = re.fullmatch(r"certificate-([0-9a-f]{64})\.json", os.path.basename(path))
    for expected in filter(None, (wanted, named and named.group(1))):
        need(found == expected, f"the certificate's id is {found}, not {expected}")
    cert = read_json(data, "certificate")
    fits(cert, CERTIFICATE, "the certificate")
    need(configuration_digest(data.decode()) == cert["configuration"]["digest"], "the digest of the configuration is another one")
    return cert, found


def check_form(cert):
    """The certificate does not contradict itself in what is no number of the bound."""
    need([(g["id"], g["predictor"]) for g in cert["guarantees"]] == [("pb-full", "draw of Q"), ("mean-2b", "mean of Q")],
         "the guarantees are not pb-full about a draw of Q and mean-2b about the mean of Q")
    own = ("id", "predictor", "method", "status", "bound", "bound_pinsker", "lower_bound", "statement")
    draw, mean = ({k: v for k, v in g.items() if k not in own} for g in cert["guarantees"])
    need(draw == mean, "the guarantees are about different evidence")
    tolerances = {"band": {"below", "above"}, "relative": set()}.get(draw["loss"]["kind"], {"epsilon"})
    need(draw["loss"].keys() - {"kind", "target", "unit"} == tolerances, f"a {draw['loss']['kind']} loss takes the tolerances {sorted(tolerances)}")
    ledger, attempt = cert["ledger"], cert["attempt"]
    need(ledger["rows"] == ledger["reference"] + ledger["train"] + ledger["holdout"] + ledger["bad"] == cert["sample"]["rows"],
         "the ledger does not add up")
    need(1 <= attempt["on_this_sample"] <= attempt["in_this_directory"], "the attempts do not count from 1")
    for p in cert["theta"]:
        g = p["grid"]
        need(p["index"] < g["count"] and g.get("centre", 0) < g["count"], f"{p['name']!r} is not on its grid")
        need(p["value"] == g["min"] + p["index"] * g["step"], f"{p['name']!r} is stated as {p['value']}, which is another value of its grid")


def chosen_job(cert):
    """The job of the certificate: of a sweep, the one of its alternative (format.md, 7)."""
    job, share = cert["configuration"]["values"], cert["delta"]
    alternatives, number = job.get("sweep", [{}]), job.get("alternative", 1)
    need(("sweep" in job) == ("alternative" in job) and len(alternatives) == share["alternatives"] and number == share["alternative"] <= len(alternatives),
         "certificate and configuration differ in the share of delta")
    own, job = alternatives[number - 1], {**job, "loss": dict(job["loss"])}
    tolerance = own.get("loss", {})
    if tolerance.keys() & {"epsilon", "epsilon_std"}:
        job["loss"] = {k: v for k, v in job["loss"].items() if k not in ("epsilon", "epsilon_std")}
    job["loss"].update(tolerance)
    if own.keys() & {"features", "exclude"}:
        job = {k: v for k, v in job.items() if k not in ("features", "exclude")}
    job.update({k: v for k, v in own.items() if k != "loss"})
    return job


def check_files(model, cert):
    """What follows from model file and certificate alone."""
    check_form(cert)
    draw = cert["guarantees"][0]
    need(cert["model"]["digest"] == model.digest, f"the certificate is about another model file than {model.digest}")
    ok(f"the model file is the one that the certificate names, {model.digest[:12]}…")
    need(cert["sample"]["columns"] == model.features + [model.target["name"]], "columns of model and certificate differ")
    tolerance = {k: v for k, v in draw["loss"].items() if k in ("kind", "epsilon", "below", "above")}
    need(tolerance == model.meta["loss"], "losses of model and certificate differ")
    need(cert["row_rules"] == model.meta["row_rules"], "row rules of model and certificate differ")
    need(cert["kernel"] == {"family": model.meta["kernel"], "ard": model.meta["ard"]}, "kernels of model and certificate differ")
    theta = [{k: p[k] for k in ("name", "grid", "index")} for p in cert["theta"]]
    need(theta == model.meta["theta"], "hyper-parameters of model and certificate differ")
    values = [p["value"] for p in cert["theta"]]
    spread = values[:-1] if model.meta["ard"] else values[:1] * len(model.features)
    need(len(spread) == len(model.features) and (model.meta["ard"] or len(values) == 2), "the number of hyper-parameters is wrong")
    numbers_ = np.append(model.lengthscales, model.meta["variance"])
    need(np.allclose(numbers_, np.exp(np.array(spread + values[-1:])), rtol=1e-14, atol=0), "lengthscales or variance are not exp of their grid values")
    divergence = gaussian_kl(model)
    close(draw["kl"], divergence, "KL", loose=2e-9 * (1 + divergence))
    ok(f"KL = {draw['kl']:.9g} nats and theta follow from the model file")
    jitter, limit = cert["jitter"], model.meta["jitter"] / 2
    need(jitter["limit"] == limit, f"the limit of the jitter check is stated as {jitter['limit']}, but it is {limit}")
    error = model.kernel(model.z) + model.meta["jitter"] * np.eye(len(model.mean)) - model.l @ model.l.T
    need(jitter["bound"] > limit or np.linalg.norm(error) <= limit, "L is not the factor of K_ZZ plus jitter")
    check_configuration(model, cert)
    check_assumptions(cert)
    check_bound(cert)


def check_configuration(model, cert):
    """The settings in the certificate are those that it was made with."""
    draw, job, ledger = cert["guarantees"][0], chosen_job(cert), cert["ledger"]
    loss, scaling, declared = job["loss"], job["scaling"], job["scaling"]["mode"] == "declared"
    need("epsilon" not in loss or "epsilon_std" not in loss, "the configuration has two tolerances")
    if "epsilon_std" in loss:
        loss = {**loss, "epsilon": loss["epsilon_std"] * model.target["scale"]}
    names = ("kind", "epsilon", "below", "above", "unit")
    features = job.get("features", sorted(model.features, key=str.encode))
    grid = {"min": job["grid"]["min"], "step": job["grid"]["step"], "prior": job["grid"]["prior"],
            "count": int((job["grid"]["max"] - job["grid"]["min"]) / job["grid"]["step"] + 1e-6) + 1}
    if grid["prior"] == "peaked":
        grid["width"] = job["grid"]["width"]
        need(scaling["mode"] == "reference", "a peaked prior needs reference rows for its centre")
    columns = [(scaling.get("features", {}).get(f["name"]), f) for f in model.meta["features"]] + [(scaling.get("target"), model.target)]
    for what, same in (
            ("delta", job["delta"] == draw["delta"]),
            ("the loss", [loss.get(k) for k in names] == [draw["loss"].get(k) for k in names]),
            ("the target", job["target"] == draw["loss"]["target"] == cert["sample"]["columns"][-1]),
            ("the features", features == model.features and not set(features) & {*job.get("exclude", []), job["target"]}),
            ("the kernel", job["kernel"]["isotropic"] == (not cert["kernel"]["ard"])),
            ("the key of the roles", job["roles"]["key"] == cert["roles"]["key"]),
            ("the seed of the optimiser", str(job["train"]["seed"]) == cert["optimiser"]["seed"]),
            ("the grid", all({k: v for k, v in p["grid"].items() if k != "centre" or grid["prior"] == "flat"} == grid for p in cert["theta"])),
            ("the number of reference rows", ledger["reference"] == (0 if declared else reference_count(ledger["rows"]))),
            ("the origin of the constant", cert["baseline"]["origin"] == ("reference" if ledger["reference"] else "declared")),
            ("the declared constant", ledger["reference"] > 0 or cert["baseline"]["constant"] == model.target["centre"]),
            ("the declared scaling", not declared or all(d and (d["centre"], d["scale"]) == (a["centre"], a["scale"]) for d, a in columns))):
        need(same, f"certificate and configuration differ in {what}")
    ok("the configuration is that of the certificate and of the model")


def check_assumptions(cert):
    """The assumptions are the standard ones, with the statuses that follow from the job (format.md, 6.5)."""
    job, mode = chosen_job(cert), cert["configuration"]["values"]["scaling"]["mode"]
    want = {
        "independent-rows": "assumed",
        "prior-before-rows": {"reference": "enforced", "declared": "assumed", "all-rows": "broken"}[mode],
        "loss-before-rows": "broken" if mode == "all-rows" and "epsilon_std" in job["loss"] else "enforced",
        "roles-by-key": "enforced",
        "separate-last-pass": "enforced",
        "losses-within-slack": "assumed",
        "jitter": "enforced" if cert["jitter"]["bound"] <= cert["jitter"]["limit"] else "broken",
        "grid-weights": "enforced",
        "one-attempt": "assumed"}
    stated = [a["id"] for a in cert["assumptions"]]
    need(stated == list(want), f"the assumptions are {stated}, want {list(want)}")
    for a in cert["assumptions"]:
        need(a["status"] == want[a["id"]], f"the assumption {a['id']} is stated as {a['status']}, but it is {want[a['id']]}")
        need(a["status"] == "enforced" or a.get("diagnostic"), f"the assumption {a['id']} is {a['status']} and has no diagnostic")
    ok(f"the {len(want)} assumptions have the statuses that follow from the job")


def unchecked(job, rows):
    """What this program leaves unchecked, in words."""
    left = ["the sentences (statements, methods, texts and diagnostics of assumptions, row rules)", "the count of attempts",
            "that the last pass was separate"]
    if job["grid"]["prior"] == "peaked":
        left.append("the centre of the peaked prior")
    if "features" not in job:
        left.append("that the default features are all numeric columns that are not constant")
    if not rows:
        left.append("everything that takes the rows: sample, roles, scaling, empirical risks, constant")
    print("NOT CHECKED here: " + "; ".join(left))


def check_rows(model, cert, paths):
    """What follows from the rows."""
    draw, ledger = cert["guarantees"][0], cert["ledger"]
    sample = Sample(paths, cert["sample"]["columns"])
    need((sample.rows, sample.shards) == (cert["sample"]["rows"], cert["sample"]["shards"]),
         f"the data have {sample.rows} rows in {sample.shards} shards, the certificate says {cert['sample']['rows']} in {cert['sample']['shards']}")
    need(sample.digest == cert["sample"]["digest"], f"the data have the sample digest {sample.digest}, not {cert['sample']['digest']}")
    need(sample.targets == cert["sample"]["targets"], f"the targets have the digest {sample.targets}, not {cert['sample']['targets']}")
    ok(f"the data are the sample: {sample.rows} rows in {sample.shards} shards, digest {sample.digest[:12]}…")

    mode = cert["configuration"]["values"]["scaling"]["mode"]
    reference = np.array([], dtype=int) if mode == "declared" else reference_rows(cert["roles"]["key"], sample.rows)
    train = np.ones(sample.rows, dtype=bool)
    train[reference] = False
    need((len(reference), int(train.sum())) == (ledger["reference"], ledger["train"]), "the ledger is not what the key gives")
    ok(f"roles: {len(reference)} reference and {int(train.sum())} train rows by the key {cert['roles']['key']!r}")
    if mode != "declared":  # check_configuration has compared what is declared
        check_scaling(model, mode, sample.values, sample.values[:, reference])
    if len(reference):
        check_constant(model.meta["loss"], cert["baseline"]["constant"], sample.values[-1, reference])

    values = sample.values[:, train]
    y, constant = values[-1], cert["baseline"]["constant"]
    mean, variance = model.predict(values[:-1].T)
    exact = 0 if model.meta["loss"]["kind"] in EXACT else AGREEMENT
    for who, losses, risk, most in (
            ("a draw of Q", expected_loss(model, model.scale_target(y), mean, variance), draw["empirical_risk"], AGREEMENT),
            ("the constant", constant_loss(model.meta["loss"], y, constant), cert["baseline"]["empirical_risk"], exact)):
        found, stated = exact_sum(losses), int(risk["exact"]["sum"], 16)
        off = abs(found - stated) / (UNIT * len(y))
        need(off <= most, f"the empirical risk of {who} is {found / (UNIT * len(y))}, the certificate says {risk['upper']}")
        ok(f"empirical risk of {who}: {found / (UNIT * len(y)):.9f}, off by {off:.1e} (at most {most:g})")


EXACT = ("zero-one", "band")  # a constant that is a miss or is none takes no rounded sum


def check_constant(loss, constant, targets):
    """The baseline's constant is the best candidate on the reference rows (format.md, 6.4)."""
    ordered, width = np.sort(targets), max(loss.get("epsilon", 0.0), loss.get("above", 0.0))
    places = ordered[np.arange(256) * (len(ordered) - 1) // 255]
    candidates = [c for p in places for c in (p, p + width)]
    sums = [np.cumsum(constant_loss(loss, targets, c))[-1] for c in candidates]
    need(constant in candidates, f"{constant} is no candidate for the best constant")
    best = candidates[int(np.argmin(sums))]
    own = sums[candidates.index(constant)]
    same = constant == best if loss["kind"] in EXACT else own <= min(sums) + 1e-9 * len(targets)
    need(same, f"{constant} is not the best constant on the reference rows, {best} is")
    ok(f"the constant {constant:.6g} is the best of {len(candidates)} on the reference rows")


def check_scaling(model, mode, every, reference):
    columns = model.meta["features"] + [model.target]
    for j, a in enumerate(columns):
        if mode == "reference":
            same = (a["centre"], a["scale"]) == standardise(reference[j])
        else:
            same = np.allclose((a["centre"], a["scale"]), standardise(every[j]), rtol=1e-9, atol=1e-9 * a["scale"])
        need(same, f"centre and scale of {a['name']!r} are not those of the {mode} rows")
    ok(f"scaling ({mode}) of {len(columns)} columns")


# ------------------------------------------------------------------- predict

def write_predictions(model, paths, out, certificate):
    """Writes row, mean, deviation, certificate, reason as sink.Predictions does."""
    schema = pa.schema([("row", pa.int64()), ("mean", pa.float64()), ("deviation", pa.float64()),
                        ("certificate", pa.string()), ("reason", pa.string())])
    first = 0
    with pq.ParquetWriter(out, schema, write_page_checksum=True) as writer:
        for block in shards(paths, model.features):
            bad = ~np.isfinite(block).all(0)
            mean, variance = model.predict(np.where(bad, model.centre[:, None], block).T)
            mean = mean * model.target["scale"] + model.target["centre"]
            deviation = np.sqrt(np.maximum(variance, 0)) * model.target["scale"]
            n = len(mean)
            writer.write_table(pa.table([
                pa.array(np.arange(first, first + n)), pa.array(mean, mask=bad), pa.array(deviation, mask=bad),
                pa.array([None if b else certificate for b in bad], pa.string()),
                pa.array(["the row breaks the row rules" if b else None for b in bad], pa.string())], schema=schema))
            first += n
    ok(f"{first} predictions are in {out}")


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
    try:
        model, certificate = Model(args.model), None
        if args.certificate:
            cert, certificate = read_certificate(args.certificate, args.id)
            check_files(model, cert)
            if args.data and not args.predict:
                check_rows(model, cert, args.data)
            unchecked(chosen_job(cert), args.data and not args.predict)
            if args.data and not args.predict:
                print("verified: the numbers of the certificate follow from this model and these rows")
            elif not args.predict:
                print("arithmetic consistent, evidence not rechecked: give DATA to check it")
        if args.predict:
            write_predictions(model, args.data, args.predict, certificate)
    except (Refused, OSError, KeyError, IndexError, TypeError, ValueError, ArithmeticError, pa.ArrowException) as err:
        print(f"REFUSED {type(err).__name__ + ': ' if not isinstance(err, Refused) else ''}{err}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
