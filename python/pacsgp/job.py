"""The job that a certificate states, and what it decides."""
import math

from . import unit
from .encode import fits as fits_encodings
from .forms import KERNEL
from .groups import right_texts, right_values
from .jsontext import compact
from .losses import KINDS, MOST_SHARE
from .methods import METHODS
from .refusal import need


def members(*pairs):
    """An object with its members in this order, those left out that are zero or empty."""
    return {name: value for name, value in pairs if value}


def floats(d, *names):
    return [(name, float(d.get(name, 0))) for name in names]


def affine(a, name=None):
    return {"name": a["name"] if name is None else name, "centre": float(a["centre"]), "scale": float(a["scale"])}


def encoding(e):
    return {"column": e["column"], **members(("one_hot", [float(x) for x in e.get("one_hot", [])]), ("texts", e.get("texts")), ("cyclic", [float(x) for x in e.get("cyclic", [])]), ("scaled", e.get("scaled"))),
            **({"fill": {**({"with": float(e["fill"]["with"])} if "with" in e["fill"] else {}), **members(("flag", e["fill"].get("flag")))}} if "fill" in e else {})}


def canonical_settings(v):
    """The settings as a run writes them into its certificate: members in their order,
    texts, counts and float64 numbers in their form. What a run would have refused is
    refused here."""
    scaling, train, grid, loss = v["scaling"], v["train"], v["grid"], v["loss"]
    job = {"target": v["target"], **members(("features", v.get("features")), ("exclude", v.get("exclude")), ("encode", [encoding(e) for e in v.get("encode", [])]), ("mean", v.get("mean")))}
    if "groups" in v:
        job["groups"] = {"column": v["groups"]["column"], **members(("values", [float(x) for x in v["groups"].get("values", [])]), ("texts", v["groups"].get("texts")))}
    job["loss"] = {"kind": loss["kind"], **members(*floats(loss, "epsilon", "epsilon_std", "below", "above"), ("tolerance", loss.get("tolerance")), ("width", loss.get("width")), ("unit", loss.get("unit")))}
    job["delta"], job["kernel"] = float(v["delta"]), {k: v["kernel"][k] for k in KERNEL}
    job["grid"] = {**dict(floats(grid, "min", "max", "step")), "prior": grid["prior"], "width": float(grid["width"])}
    job.update(members(("inducing", v.get("inducing"))))
    job["scaling"] = {"mode": scaling["mode"], **members(
        ("features", {k: affine(a, k) for k, a in sorted(scaling.get("features", {}).items(), key=lambda p: p[0].encode())}),
        ("target", "target" in scaling and affine(scaling["target"], v["target"])))}
    declared = v.get("unit", {})
    job.update(members(("unit", {**members(("columns", declared.get("columns")), ("block", declared.get("block"))), **({"misses": float(declared["misses"])} if "misses" in declared else {})})))
    job["roles"] = {"key": v["roles"]["key"], **members(*floats(v["roles"], "holdout", "outside"), ("last", v["roles"].get("last")), ("by", v["roles"].get("by")), ("reference", v["roles"].get("reference")))}
    job["copies"] = {"policy": v["copies"]["policy"], "limit": float(v["copies"]["limit"])}
    job.update({"bad_rows": {"tolerance": float(v["bad_rows"]["tolerance"])}} if v.get("bad_rows", {}).get("tolerance") else {})
    pins = lambda c: {"column": c["column"], **members(("type", c.get("type")), ("unit", c.get("unit")), ("range", [float(x) for x in c.get("range", [])]))}
    job.update(members(("schema", members(("strict", v.get("schema", {}).get("strict")), ("note", v.get("schema", {}).get("note")), ("columns", [pins(c) for c in v.get("schema", {}).get("columns", [])])))))
    job["train"] = {**members(("method", train.get("method")), ("objective", train.get("objective"))), **({"alpha": float(train["alpha"])} if "alpha" in train else {}),
                    **members(("free_alpha", train.get("free_alpha")), ("evaluations", train.get("evaluations")), ("noise", [float(x) for x in train.get("noise", [])])),
                    "mode": train["mode"], **members(("rows", train.get("rows")), ("batch", train.get("batch")), ("buffer", train.get("buffer")),
                                                     *floats(train, "passes", "time_seconds")), "seed": train["seed"], **members(("warm_start", train.get("warm_start")))}
    if "sweep" in v:
        job["sweep"] = [{
            **members(("loss", members(*floats(a.get("loss", {}), "epsilon", "epsilon_std", "below", "above")))),
            **{k: a[k] for k in ("features", "exclude") if k in a},
            **members(("kernel", {k: a["kernel"][k] for k in KERNEL if k in a["kernel"]} if "kernel" in a else None), ("inducing", a.get("inducing")),
                      ("train", {**members(*floats(a.get("train", {}), "passes")), **{k: a["train"][k] for k in ("seed",) if k in a.get("train", {})}}))} for a in v["sweep"]]
    job.update(members(("alternative", v.get("alternative"))))
    job.update(members(("guarantees", [{"id": m["id"], "weight": m["weight"]} for m in v.get("guarantees", [])])))
    job.update(members(("delta_policy", v.get("delta_policy")), ("horizon", v.get("horizon"))))
    return job


def mean_column(job):
    """The column that is the mean function of the prior, or None."""
    return job.get("mean", {}).get("column")


def for_rows(job, n, before):
    """The job with the step (format.md, 6.2) and the methods (6.6) that it has on n rows, where it names none,
    and whether its certificate has the format before, by which it is scaled (4.5)."""
    job = {**job, "before": before}
    if not job["grid"]["step"]:
        job = {**job, "grid": {**job["grid"], "step": 0.25 if n < 30_000 or unit.given(job) else 0.05}}
    if "guarantees" not in job:
        methods = [{"id": "pac-bayes", "weight": 1}, {"id": "holdout", "weight": 9}]
        job = {**job, "guarantees": methods[:1] if not unit.given(job) and n < (2000 if before else 300) or by(job) == "first" else methods}
    if any(METHODS[m["id"]].role == "holdout" for m in job["guarantees"]) and "holdout" not in job["roles"]:
        job = {**job, "roles": {**job["roles"], "holdout": 0.2 if unit.given(job) else 0.1 if before or n >= 5000 else 0.2 if n >= 1000 else 0.3}}
    return job


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
    chosen.update({k: changes[k] for k in ("inducing",) if k in changes})
    chosen["train"] = {**job["train"], **changes.get("train", {})}
    return chosen


def check_job(job):
    """Refuses a job that no run would have accepted."""
    loss, grid, mode = job["loss"], job["grid"], job["scaling"]["mode"]
    methods, held = [m["id"] for m in job.get("guarantees", [{"id": "pac-bayes"}])], job["roles"].get("holdout", 0)
    column, outside = mean_column(job), job["roles"].get("outside", 0)
    tolerances = loss.keys() & {"epsilon", "epsilon_std", "below", "above"}
    wanted = KINDS[loss["kind"]].tolerances
    share = loss["kind"] == "relative-zero-one"
    right = tolerances == wanted and not (share and loss["epsilon"] > MOST_SHARE) or wanted == {"epsilon"} and tolerances == {"epsilon_std"} and not share
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
            ("roles.by first needs a number of reference rows, and reference rows", 2 <= job["roles"].get("reference", 0) <= 20000 and mode == "reference" if by(job) == "first" else "reference" not in job["roles"]),
            ("the last rows are no hold-out rows by their features, and are so many", "last" not in job["roles"] or held > 0 and by(job) != "content"),
            ("with roles.by content no copies are left out", by(job) != "content" or job["copies"]["policy"] == "independent"),
            ("a curve takes the zero-one loss, and every tolerance at once a curve", loss["kind"] == "zero-one" if "curve" in methods else "tolerance" not in loss),
            ("intervals by deviations take the zero-one loss, a hold-out and a curve, and no column of the mean or model by rule",
             "width" not in loss or loss["kind"] == "zero-one" and {"holdout", "curve"} <= {*methods} and column is None and not by_rule(job)),
            ("groups do not go with the other settings, or their values are out of order", fits_groups(job, methods)),
            ("encodings are of no features, or out of order, or do not go with the other settings", fits_encodings(job)),
            ("the methods are none", "pac-bayes" in methods and len({*methods}) == len(methods)),
            ("a share of hold-out rows belongs to the method holdout", (0 < held <= 0.9 or "holdout" not in job["roles"] and by(job) != "first") if any(METHODS[m].role == "holdout" for m in methods) else held == 0),
            ("a share of outside rows belongs to a column of the mean", (outside == 0 or 0.05 <= outside <= 0.6) and outside + held <= 0.9 and (column is not None or outside == 0)),
            ("the column of the mean is the target or a feature", column is None or column not in (job["target"], *job.get("features", []))),
            ("the settings do not go with a column of the mean", column is None or not KINDS[loss["kind"]].relative and by(job) != "content" and job["train"]["mode"] != "arrival" and job["scaling"].get("target", {"centre": 0})["centre"] == 0),
            ("a column of the mean that train rows may have made needs a hold-out", column is None or outside > 0 or any(METHODS[m].role == "holdout" for m in methods)),
            ("the settings do not go with units", unit.check(job)),
            ("the shuffle buffer is empty", "method" in job["train"] or job["train"].get("buffer", 0) >= 1),
            ("the settings do not go with training while rows arrive", fits_arrival(job)),
            ("the settings of a method do not fit it", fits_method(job)),
            ("the schema is none", fits_schema(job)),
            ("a limit of copies belongs to the policy limited", job["copies"]["policy"] == "limited" or job["copies"]["limit"] == 0)):
        need(right, "configuration: " + what)


def fits_schema(job):
    """Whether the schema has each column once, in order, and its ranges are such."""
    schema = job.get("schema", {})
    names = [c["column"].encode() for c in schema.get("columns", [])]
    right = all(len(c.get("range", [0, 0])) == 2 and c.get("range", [0, 0])[0] <= c.get("range", [0, 0])[1] for c in schema.get("columns", []))
    unit = next((c["unit"] for c in schema.get("columns", []) if c["column"] == job["target"] and "unit" in c), None)
    return right and names == sorted({*names}) and (names or "strict" in schema or not schema) and unit in (None, job["loss"].get("unit", unit))


def fits_groups(job, methods):
    """Whether the settings allow groups, if there are any."""
    if "groups" not in job:
        return "groups" not in methods
    of = job["groups"]
    return ("groups" in methods and "unit" not in job and ("holdout" in methods or "curve" in methods) and KINDS[job["loss"]["kind"]].counts and of["column"] != job["target"] and mean_column(job) is None
            and by(job) != "content" and job["train"]["mode"] != "arrival" and right_texts(job) and (right_values(of["values"]) if "values" in of else job["scaling"]["mode"] == "reference"))


def fits_method(job):
    """Whether the settings of train belong to its method, and lie within its limits."""
    train = job["train"]
    method, alpha = train.get("method"), train.get("alpha")
    if method is None:
        return not {"alpha", "free_alpha", "evaluations", "noise"} & train.keys()
    if method == "rule" and not ({"alpha", "noise", "evaluations", "time_seconds"} & train.keys() == set() and train["seed"] == 0
                                 and len(job["kernel"]["family"]) == 1 and len(job.get("inducing", [])) <= 1 and mean_column(job) is None
                                 and job["grid"]["step"] > 0 and "guarantees" in job and job["roles"].get("holdout", 0) > 0):
        return False
    exact, bounds = method in ("kl-PAC-GP", "sqrt-PAC-GP", "full-GP"), "PAC" in method
    return (not {"objective", "batch", "passes", "buffer", "warm_start"} & train.keys() and not (exact and "inducing" in job)
            and (alpha is None or 0 <= alpha <= 1) and (not train.get("free_alpha") or bounds and alpha is not None and 0 < alpha < 1)
            and 0 <= train.get("evaluations", 0) <= 100000 and len(train.get("noise", [])) <= 1000
            and all(1e-8 <= v <= 1e8 for v in train.get("noise", [])))


def fits_arrival(job):
    """Whether the settings allow a training that begins before all rows are there, or is of a part of them, if they name one."""
    train = job["train"]
    if train["mode"] != "arrival":
        return "rows" not in train or "method" not in train and "unit" not in job and 100 <= train["rows"] <= 1 << 30
    return ("method" not in train and by(job) == "first" and "last" not in job["roles"] and len(job["kernel"]["family"]) == 1 and len(job.get("inducing", [])) <= 1
            and job["copies"]["policy"] != "drop" and "time_seconds" not in train
            and ("rows" not in train or job["roles"]["reference"] < train["rows"] <= 1 << 30))


def by(job):
    """What roles follow from: "" is the place."""
    return job["roles"].get("by", "")


def by_rule(job):
    """Whether the model follows from reference and train rows by a rule (format.md, 9)."""
    return job["train"].get("method") == "rule"


def least_reference(n):
    return min(20000, max(n // 20, min(200, n // 10)))


def reference_count(n, job):
    """How many of n rows are reference rows."""
    if job["scaling"]["mode"] != "reference":
        return 0
    if by(job) == "first":
        return min(n, job["roles"]["reference"])
    k = least_reference(n)
    if by_rule(job) and not by(job):
        k = max(k, min(20000, int(n * (1 - job["roles"]["holdout"]) / 2)))
    return k


def grid_count(grid):
    return int((grid["max"] - grid["min"]) / grid["step"] + 1e-6) + 1


def inducing_most(job, train, d):
    """The largest number of inducing points that the job allows (format.md, 2)."""
    method = job["train"].get("method", "")
    if method in ("kl-PAC-GP", "sqrt-PAC-GP", "full-GP"):
        return 4000
    if "inducing" in job:
        return max(job["inducing"])
    return 1000 if by_rule(job) else 500 if method else inducing_rule(train, d)


def inducing_rule(n, d):
    """The largest number of inducing points of a job that lists none (format.md, 2)."""
    x = min(n, 2000, 9 * math.sqrt(n), 300 * d)
    return math.floor(x + 0.5)
