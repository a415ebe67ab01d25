"""The document that follows from model, job and findings."""
import hashlib
import json
import re

from . import unit
from .bound import mean_of
from .certificate import ancestor
from .forms import BEFORE, FORMAT, ROW_RULES
from .groups import beside, grouping
from .job import by, by_rule, floats, inducing_most, members
from .jsontext import Raw, compact, difference, indented
from .methods import NAMES, SUBJECTS, applied
from .model import describe, value_of
from .refusal import need
from .sentences import Sentences, against, assumptions


def derive(model, job, raw, cert, found, jitter):
    """The document that follows from model, job and findings. Taken from the stated one
    are the maker's word and the numbers that check_bounds has held to bounds."""
    meta, ledger = model.meta, found["ledger"]
    n, delta, loss = unit.examples(ledger, "train"), float(job["delta"]), {**model.loss, "target": model.target["name"]}
    declared = {**members(("unit", job["loss"].get("unit"))), "software": cert["declared"]["software"],
                "attempt": {k: cert["declared"]["attempt"][k] for k in ("on_these_rows", "in_this_log")},
                "training": {"machine": cert["declared"]["training"]["machine"], **members(("hurried_after", cert["declared"]["training"].get("hurried_after")), ("ancestor", ancestor(cert, job)))}}
    need("hurried_after" not in declared["training"] or "time_seconds" in job["train"], "training was hurried by a time limit that the job does not have")
    if job["scaling"]["mode"] == "declared":
        declared["scaling"] = [{"column": a["name"], "centre": float(a["centre"]), "scale": float(a["scale"])} for a in meta["features"] + [meta["target"]]]
    if changes := cert["declared"].get("changes"):
        keys = [(c["column"].encode(), c["change"]) for c in changes]
        need(keys == sorted({*keys}) and job.get("schema", {}).get("note"), "the certificate notes changes of columns out of order, or the job notes none")
        need(all(can_change(job["schema"], c) for c in changes), "the certificate notes changes that the schema of the job cannot have")
        declared["changes"] = [{k: c[k] for k in ("column", "change")} for c in changes]
    declared.update(members(("snapshot", cert["declared"].get("snapshot"))))
    need(1 <= declared["attempt"]["on_these_rows"] <= declared["attempt"]["in_this_log"], "the attempts do not count from 1")
    kinds = {k: float(v) if k in ("epsilon", "below", "above") else v for k, v in loss.items()}
    if "groups" in job:
        found["grouping"] = grouping(job, job["groups"].get("values", found["group values"]))
    guarantees = [g for m in applied(cert) for g in m.derive(cert, found, kinds, delta)]
    document = {
        "format": FORMAT, "guarantees": sorted(guarantees, key=lambda g: (SUBJECTS[g["predictor"]][0], g["loss"].get("width", ""), g["bound"])),
        "baseline": {"constant": found["constant"], "origin": found["origin"],
                     "empirical_risk": {"exact": {"count": n, "sum": f"{found['baseline']:032x}"}, "lower": mean_of(found["baseline"], n, False)},
                     "bound": float(cert["baseline"]["bound"]), **members(("missed", "missed" in found and {"units": found["missed"], "bound": float(cert["baseline"]["missed"]["bound"])})), "statement": ""},
        "dependence": found["dependence"], "copies": found["copies"], **members(("findings", found["findings"]), ("mean", found["mean"])),
        "accuracy": {"tau": model.tau()},
        "assumptions": assumptions(job, found, jitter),
        "ledger": {"unit": unit.words(ledger["units"]) if "units" in ledger else "row", "rows": ledger["rows"], "reference": ledger["reference"], "train": ledger["train"], "holdout": ledger["holdout"], "copies": ledger["copies"], "bad": ledger["bad"], **members(("outside", ledger.get("outside")), ("units", ledger.get("units")))},
        "sample": {**{k: found["sample"][k] for k in ("digest", "targets", "shards", "rows")}, "columns": model.inputs + beside(job) + unit.labels(job) + [model.target["name"]], **members(("segments", found["sample"].get("segments")))},
        "row_rules": ROW_RULES, "model": {"digest": model.digest, **members(("by_rule", by_rule(job)))},
        "configuration": {"digest": hashlib.sha256(raw.encode()).hexdigest(), "values": Raw(raw)},
        "kernel": {"family": meta["kernel"], "families": job["kernel"]["family"], "ard": meta["ard"]},
        "theta": [{"name": p["name"], "grid": grid_of(p), "index": p["index"], "value": float(value_of(p))} for p in meta["theta"]],
        "roles": {"key": job["roles"]["key"], **members(("by_content", by(job) == "content"), ("holdout", by(job) == "content" and job["roles"].get("holdout")), ("last", job["roles"].get("last")))}, "optimiser": {"seed": str(job["train"]["seed"])}, "jitter": jitter,
        "delta": {"declared": delta, "alternatives": len(job.get("sweep", [0])), "alternative": job.get("alternative", 1), "methods": job["guarantees"],
                  **members(("sequence", place(job, cert["delta"].get("sequence"))), ("looks", earlier_looks(cert["delta"].get("looks"), ledger["holdout"], "amended" in cert["delta"].get("sequence", {}))))},
        "declared": declared}
    words = Sentences(document)
    document["baseline"]["statement"] = words.baseline()
    broken, column = any(a["status"] == "broken" for a in document["assumptions"]), "mean" in document
    for g in document["guarantees"]:
        useful = any(b < 1 and b < against(document["baseline"], g) for b in (g["bound"], *(e["bound"] for e in g.get("groups", {}).get("each", []))))
        void = broken or g["role"] == "holdout" and "ended" in document["delta"].get("looks", {}) or column and not ledger.get("outside") and g["role"] == "train"
        g["status"] = "indicative" if void else "vacuous" if not useful else "conditional" if column or g["role"] == "holdout" else "certified"
    for g in document["guarantees"]:
        g["method"], g["headline"], g["statement"] = g["method"] or NAMES[g["id"]], words.headline(g), words.statement(g)
    return document


def can_change(schema, change):
    """Whether the schema can have a change."""
    pinned = {c["column"]: c for c in schema.get("columns", [])}.get(change["column"])
    return {"gone": pinned is not None, "new": pinned is None and "strict" in schema}.get(change["change"], pinned is not None and change["change"] in pinned)


def place(job, stated):
    """The place of the certificate in its sequence: the policy is the job's, name and
    number are the maker's word."""
    need(("delta_policy" in job) == (stated is not None), "the job and the certificate do not agree on whether there is a sequence")
    horizon = job.get("horizon", 0)
    need(not horizon or stated is not None and job["delta_policy"] == "sequence" and stated["number"] <= horizon <= 1 << 40, "the number lies beyond the horizon of its sequence")
    amended = stated and stated.get("amended", 0)
    need(not amended or job["delta_policy"] == "sequence" and not horizon and 2 <= amended <= stated["number"], "the number is before the one from which on the sequence has this job")
    return stated and {"policy": job["delta_policy"], "name": stated["name"], "number": stated["number"], **members(("horizon", horizon), ("amended", amended))}


def earlier_looks(stated, holdout, amended):
    """The maker's word on earlier looks at the hold-out rows."""
    if stated is None:
        need(not holdout or not amended, "a job that its sequence has after another one pays for nothing")
        return None
    earlier, uncounted = stated.get("earlier", []), "uncounted" in stated
    need(holdout and bool(earlier) != uncounted and len(earlier) < 1000 and not ({"swapped", "ended"} & stated.keys() and uncounted), "the looks before this one are none that there can be")
    return members(("uncounted", uncounted), ("earlier", earlier), ("swapped", "swapped" in stated), ("ended", "ended" in stated))


def grid_of(p):
    g = p["grid"]
    return {**dict(floats(g, "min", "step")), "count": g["count"], "prior": g["prior"], **members(("centre", g.get("centre", 0)), *floats(g, "width"))}


def follows(model, job, columns, train, encodings):
    """The model file is one that the job gives with this scaling."""
    derived = compact(describe(model, job, columns, encodings))
    need(derived == model.text, f"the model does not follow from the job: {difference(model.meta, json.loads(derived))}")
    m, most = len(model.mean), inducing_most(job, train, model.z.shape[1])
    need(m <= most, f"the model has {m} inducing points, the job allows {most}")


def compare(cert, document, derived):
    """Demands every byte of the document. One of the format before has other words: they are
    replaced."""
    text, wrong = indented(compact(derived)), "the certificate does not follow from model, rows and configuration: "
    again, stated = json.loads(text), cert
    if before := is_before(document):
        again, stated, document = wordless(again), wordless(cert), LOWER.sub("", document)
        text = indented(compact(reworded(derived, json.loads(document))))
    need(stated == again, wrong + difference(stated, again))
    need(text == document, wrong + "it is not in canonical form")
    if before:
        cert.update(json.loads(indented(compact(derived))))


def is_before(document):
    """Whether it is of the format before."""
    return document.startswith('{\n  "format": "' + BEFORE)


# The bounds from below of the format before, and nothing that could stand beside them.
LOWER = re.compile(r'\n      "lower_risk": \{\n        "exact": \{\n          "count": [0-9]+,\n          "sum": "[0-9a-f]{32}"\n        \},\n        "lower": [-+.e0-9]+\n      \},|,\n      "lower_bound": [-+.e0-9]+')


def reworded(derived, stated):
    """The document in the format before, with the words that it states."""
    word = lambda g, of, *names: {**g, **{k: of[k] for k in names}}
    return {**derived, "format": BEFORE, "baseline": word(derived["baseline"], stated["baseline"], "statement"),
            "guarantees": [word(g, s, "method", "headline", "statement") for g, s in zip(derived["guarantees"], stated["guarantees"])],
            "assumptions": [{**word({}, a, "id", "status", "text"), **members(("diagnostic", a.get("diagnostic")))} for a in stated["assumptions"]]}


def wordless(cert):
    """The certificate without what differs between formats."""
    return {**cert, "format": FORMAT, "assumptions": [{**a, "text": ""} for a in cert["assumptions"] if a["id"] != "holdout-fixed"], "baseline": {**cert["baseline"], "statement": ""},
            "guarantees": [{**g, "method": "", "headline": "", "statement": ""} for g in cert["guarantees"]]}
