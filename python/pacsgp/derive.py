"""The numbers that follow from model, job and findings."""
from . import unit
from .bound import mean_of
from .forms import ROW_RULES
from .groups import beside, grouping
from .job import inducing_most, members
from .jsontext import FORMAT
from .methods import applied
from .model import describe, value_of
from .refusal import need


def derive(model, job, cert, found, jitter):
    """All of a document but its texts, as it follows from model, job and findings. Taken from the
    stated one are the numbers that check_bounds has held to bounds, and the publisher's word."""
    meta, ledger = model.meta, found["ledger"]
    n, delta, loss = unit.examples(ledger, "train"), job["delta"], {**model.loss, "target": model.target["name"]}
    if "groups" in job:
        found["grouping"] = grouping(job, job["groups"].get("values", found["group values"]))
    document = {
        "format": FORMAT, "guarantees": [g for m in applied(cert) for g in m.derive(cert, found, loss, delta)],
        "baseline": {"constant": found["constant"], "origin": found["origin"], "bound": cert["baseline"]["bound"],
                     "empirical_risk": {"exact": {"count": n, "sum": f"{found['baseline']:032x}"}, "lower": mean_of(found["baseline"], n, False)}},
        "dependence": found["dependence"], "duplicates": found["duplicates"], **members(("mean", found["mean"])), "accuracy": {"tau": model.tau()},
        "assumptions": assumptions(job, cert, found, jitter), "ledger": ledger,
        "sample": {**found["sample"], "columns": model.inputs + beside(job) + unit.labels(job) + [model.target["name"]]},
        "row_rules": ROW_RULES, "model": {"digest": model.digest}, "configuration": cert["configuration"],
        "kernel": {"family": meta["kernel"], "families": job["kernel"]["family"], "ard": meta["ard"]},
        "theta": [{"name": p["name"], "grid": p["grid"], "index": p["index"], "value": value_of(p)} for p in meta["theta"]],
        "roles": {"key": job["roles"]["key"], **members(("last", job["roles"].get("last")))}, "optimiser": {"seed": str(job["train"]["seed"])}, "jitter": jitter,
        "delta": {**cert["delta"], "declared": delta, "methods": job["guarantees"]}}
    check_sequence(job, cert["delta"].get("sequence"))
    looks = cert["delta"].get("looks")  # the publisher's word
    need(looks is None or ledger["holdout"] and 0 < len(looks["earlier"]) < 1000, "the looks before this one are none that there can be")
    place = [g["id"] for g in cert["guarantees"]]
    document["guarantees"].sort(key=lambda g: place.index(g["id"]))
    broken, column = any(a["status"] == "broken" for a in document["assumptions"]), "mean" in document
    for g in document["guarantees"]:
        useful = any(b < 1 and b < cert["baseline"]["bound"] for b in (g["bound"], *(e["bound"] for e in g.get("groups", {}).get("each", []))))
        void = broken or g["role"] == "holdout" and "ended" in cert["delta"].get("looks", {}) or column and not ledger.get("outside") and g["role"] == "train"
        g["status"] = "indicative" if void else "vacuous" if not useful else "conditional" if column or g["role"] == "holdout" else "certified"
    return document


def assumptions(job, cert, found, jitter):
    """The status of each assumption."""
    units, held = "units" in found["ledger"], found["ledger"]["holdout"]
    copies = job["duplicates"]["policy"] == "drop" and (found["duplicates"]["rows"] > 0 or held > 0 and "ancestor" in cert["declared"]["training"])
    names = ["independent-units" if units else "independent-rows", "prior-before-rows", "loss-before-rows", "roles-by-key", "separate-last-pass", "losses-proven", "jitter",
             "grid-weights", "one-attempt", *["holdout-unseen", "holdout-fixed"] * (held > 0), *["mean-fixed"] * (found["mean"] is not None), *["equal-rows-are-copies"] * copies]
    assumed = {"independent-units", "independent-rows", "one-attempt", "holdout-unseen", "holdout-fixed", "mean-fixed", "equal-rows-are-copies"}
    return [{"id": name, "status": "assumed" if name in assumed else "broken" if name == "jitter" and not jitter["holds"] else "enforced"} for name in names]


def check_sequence(job, stated):
    """The place of the certificate in its sequence: whether there is one is in the job, name and
    number are the publisher's word."""
    need(("sequence" in job) == (stated is not None), "the job and the certificate do not agree on whether there is a sequence")


def follows(model, job, columns, train, encodings):
    """The model file is one that the job gives with this scaling."""
    compare(model.meta, describe(model, job, columns, encodings), "the model's description")
    m, most = len(model.mean), inducing_most(job, train, model.z.shape[1])
    need(m <= most, f"the model has {m} inducing points, the job allows {most}")


TEXTS = {"headline", "statement", "text", "diagnostic", "method", "unit", "declared"}  # no evidence, and the publisher's word


def compare(stated, derived, where=""):
    """Demands every value of a document but its texts."""
    if isinstance(derived, dict) and isinstance(stated, dict):
        for name in stated.keys() | derived.keys():
            if name not in TEXTS or name in derived:
                need(name in stated and name in derived, f"{where}.{name} is " + ("missing" if name in derived else f"{stated.get(name)!r}, which does not follow"))
                compare(stated[name], derived[name], f"{where}.{name}")
    elif isinstance(derived, (list, tuple)) and isinstance(stated, list):
        need(len(stated) == len(derived), f"{where} has {len(stated)} elements, and {len(derived)} follow")
        for i, pair in enumerate(zip(stated, derived)):
            compare(*pair, f"{where}[{i}]")
    else:
        need(stated == derived and isinstance(stated, bool) == isinstance(derived, bool), f"{where} is {stated!r}, but what it rests on gives {derived!r}")
