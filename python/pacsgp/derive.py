"""What follows from model, job and the facts about the rows."""
import math
from decimal import Decimal

from . import unit
from .bound import close, kl_inverse, mean_of, per_example
from .curve import CURVE_SHARE, within
from .dependence import strongest
from .groups import group_column, grouping
from .job import inducing_most, members
from .methods import applied, ended, total
from .model import describe
from .refusal import need

inside = lambda cert: "mean" in cert and "outside" not in cert["counts"]  # training rows may have made the column of the mean


def derive(model, job, cert, holds):
    """The document as it follows from model, job and facts about the rows, and its methods. Taken from the stated one are these facts,
    the numbers that are held to bounds, and the publisher's word."""
    meta, target = model.meta, model.target["name"]
    document = {
        **{k: v for k, v in cert.items() if k != "groups"}, **({"groups": grouping(job, cert.get("groups", {}).get("values", []), cert.get("groups", {}).get("prior"))} if "groups" in job else {}),
        "loss": {**model.loss, "target": target, **members(("unit", job["loss"].get("unit")), ("tolerance", job["loss"].get("tolerance")))},
        "delta": {**cert["delta"], "declared": job["delta"], "methods": job["guarantees"]},
        "baseline": {**cert["baseline"], "origin": "prior" if cert["counts"]["prior"] else "start"},
        "dataset": {**cert["dataset"], "columns": model.inputs + group_column(job) + unit.labels(job) + [target]},
        "duplicates": {**cert["duplicates"], **job["duplicates"]},
        "model": {"digest": model.digest, "kl": cert["model"]["kl"], **members(("kl_around", "pac-bayes-mean" in job["guarantees"] and cert["model"].get("kl_around"))), "accuracy": model.tau, "theta": meta["theta"], "jitter": {"limit": model.jitter / 2, "holds": holds},
                  "kernel": {"family": meta["kernel"], "families": job["kernel"]["family"], "isotropic": meta["isotropic"]}}}
    compare(cert, document)  # before claims are made of it
    methods = applied(cert, model)
    return {**document, "claims": claims(cert, methods), "assumptions": assumptions(cert), "warnings": warnings(cert)}, methods


def reused(cert):
    """The number by which earlier uses divide the part of δ for held-out rows (formats.md, 6.6)."""
    earlier = cert["delta"].get("holdout_reuse", {}).get("earlier", [])
    j = len(earlier) + 1
    return Decimal(math.prod(n + 1 for n in earlier) * 10 * j * (j + 1)) if earlier else Decimal(20) / 19


def claims(cert, methods):
    """The claims, with each number computed from earlier ones (formats.md, 6.4)."""
    declared, n = Decimal(repr(float(cert["delta"]["declared"]))), unit.examples(cert["counts"], "training")
    weights = {"training": 1, "holdout": 9}  # by the rows of a method
    number = cert["delta"].get("sequence", {}).get("run", 0)
    shared = sum(weights[m.subset] for m in methods if not m.event) * (number * (number + 1) or 1)
    found = [g for m in methods for g in m.claims((shared * (reused(cert) if m.subset == "holdout" else 1) / Decimal(weights[m.subset]) / declared).ln())]
    baseline = cert["claims"][0].get("baseline")
    close(baseline, Decimal(kl_inverse(Decimal(mean_of(total(cert["baseline"]["sum"], n), n, False)), per_example(-declared.ln(), n))), "the bound of the constant")
    useful = lambda g: within(g["curve"], CURVE_SHARE) < cert["baseline"].get("half_width", 0) if "curve" in g and "tolerance" in cert["loss"] else any(b < 1 and b < baseline for b in (g["bound"], *(e["bound"] for e in g.get("by_group", []))))
    void = lambda g: not cert["model"]["jitter"]["holds"] or (inside(cert) if g["subset"] == "training" else ended(cert))
    found = [{**g, "baseline": baseline, "status": "void" if void(g) else "certified" if useful(g) else "vacuous"} for g in found]
    return sorted(found, key=lambda g: (g["predictor"] != "prediction", g["bound"]))


def assumptions(cert):
    """The assumptions of the claims (formats.md, 6.5)."""
    delta, counts, duplicates, training = cert["delta"], cert["counts"], cert["duplicates"], cert["publisher"]["training"]
    held, units = counts["holdout"] > 0, "units" in counts
    return [{"id": name, "checked": checked, **members(("fails", fails))} for applies, name, checked, fails in (
        (not units, "independent-rows", "none", False), (units, "independent-units", "none", False),
        (True, "split-fixed", "none", False), (True, "job-fixed", "none", ended(cert)),
        ("sequence" in delta, "number-reserved", "none", False),
        ("mean" in cert, "mean-fixed", "none", inside(cert) and not held),
        (duplicates["policy"] == "drop" and (duplicates["found"] > 0 or "parent" in training and held), "duplicates", "none", False),
        ("segments" in cert["dataset"], "log", "replay", False),
        (held, "holdout-unseen", "retraining", False),
        (True, "prior", "verify", False), (True, "risk", "verify", False),
        (True, "jitter", "verify", not cert["model"]["jitter"]["holds"])) if applies]


def warnings(cert):
    """The warnings (formats.md, 6.5)."""
    counts, duplicates, attempt = cert["counts"], cert["duplicates"], cert["publisher"]["attempt"]["on_these_rows"]
    rows, every = sum(counts[subset] for subset in ("prior", "training", "holdout")), counts["rows"] - counts["rejected"]
    found = [{"code": code, "count": n, **members(("of", of))} for applies, code, n, of in (
        (attempt > 1, "other-jobs", attempt - 1, 0), (duplicates["found"] > 0.01 * every, "duplicates", duplicates["found"], every),
        (counts["rejected"] > 0, "rejected", counts["rejected"], counts["rows"])) if applies]
    if "mean" in cert and not inside(cert) and counts["prior"] >= 50:
        near, far = (mean_of(total(cert["mean"][subset], counts[subset]), counts[subset], True) for subset in ("training", "prior"))
        if near < 0.75 * far:
            found.append({"code": "mean-fitted", "value": 1 - near / far})
    units = counts.get("units")
    if not units or rows <= 2 * sum(units[subset] for subset in ("prior", "training", "holdout")):
        lag, value = strongest(cert["dependence"])
        if value:
            found.append({"code": "dependence", "count": lag, "value": value})
    if units and units["largest"] > rows // 5:
        found.append({"code": "large-unit", "count": units["largest"], "of": rows})
    return found


def follows(model, job, columns, train, encodings):
    """The model file is one that the job gives with this scaling."""
    compare(model.meta, describe(model, job, columns, encodings), "the model's description")
    m, most = len(model.mean), inducing_most(job, train, model.z.shape[1])
    need(m <= most, f"the model has {m} inducing points, the job allows {most}")


def compare(stated, derived, where=""):
    """Demands every value of a document."""
    if isinstance(derived, dict) and isinstance(stated, dict):
        for name in stated.keys() | derived.keys():
            compare(stated.get(name), derived.get(name), f"{where}.{name}")
    elif isinstance(derived, (list, tuple)) and isinstance(stated, list):
        need(len(stated) == len(derived), f"{where} has {len(stated)} elements, and {len(derived)} follow")
        for i, pair in enumerate(zip(stated, derived)):
            compare(*pair, f"{where}[{i}]")
    else:
        need((stated == derived or isinstance(derived, float) and type(stated) is int and float(stated) == derived) and isinstance(stated, bool) == isinstance(derived, bool) and str(stated)[:1] == str(derived)[:1], f"{where} is {stated!r}, but what it rests on gives {derived!r}")
