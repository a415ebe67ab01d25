"""Reads a certificate, and what it states."""
import hashlib
import json
import os
import re

from . import dependence, unit
from .bound import guarantee
from .copies import stated_copies
from .curve import at_the_tolerance
from .forms import BEFORE, CERTIFICATE, FORMAT
from .job import alternative, by, canonical_settings, check_job, for_rows, mean_column, members, reference_count
from .jsontext import TOKENS, compact, difference, fits, read_json
from .losses import UNIT
from .methods import applied, shows_bound_alone, stated_sum
from .model import check_seal
from .plainfile import read_plain
from .refusal import need
from .survey import ranked_rows

PLAIN = ("id", "predictor", "role", "status", "n", "empirical_risk", "ln_inverse_delta", "bound", "headline", "statement")  # of a guarantee
OPTIONAL = {"epsilon", "below", "above", "sequence_policy", "sequence_name", "sequence_number", "declared_unit"}
REPEATED = 2


def certificate_row(data):
    """The document in a certificate's row of Parquet, and the row's columns."""
    table, footer = read_plain(data, "the certificate's row", numbers=False)
    need(table.num_rows == 1 and {"certificate", "format", "document"} <= set(table.column_names), "it is Parquet, but no certificate")
    row = table.to_pydict()
    need(isinstance(row["document"][0], str), "the row has no document")
    nodes = [(e.name, e.repetition) for e in footer.elements[1:]]
    want = [(name, int(name in OPTIONAL)) for name in table.column_names] + [("list", REPEATED), ("element", 0), *((name, 0) for name in PLAIN)]
    need(nodes == want, f"the row has columns of other names or kinds: {sorted(set(nodes) ^ set(want))}")
    return row["document"][0].encode(), row


def check_row(row, cert, found):
    """Every column says what the document says."""
    derived = flat(cert, found)
    need(list(row) == [*derived, "document", "guarantees"], f"the row has other columns than its document gives: {sorted(set(row) ^ {*derived, 'document', 'guarantees'})}")
    for column, value in derived.items():
        need(row[column] == [value] and type(row[column][0]) is type(value), f"the column {column} is {row[column]}, but the document of the row gives {value!r}")
    listed = [{k: g.get(k, {}).get("upper", g["bound"]) if k == "empirical_risk" else g[k] for k in PLAIN} for g in cert["guarantees"]]
    need(row["guarantees"] == [listed], "the guarantees of the row are not those of its document")


def flat(cert, found):
    """The columns of a row before the document (format.md, 7), in their order."""
    means = [g for g in cert["guarantees"] if g["predictor"] == "mean of Q" and at_the_tolerance(g)]
    mean = min([g for g in means if g["status"] != "conditional"] or means, key=lambda g: g["bound"])
    draw, delta, base, ledger, sample, declared = guarantee(cert, "pb-full"), cert["delta"], cert["baseline"], cert["ledger"], cert["sample"], cert["declared"]
    loss, sequence = draw["loss"], delta.get("sequence", {})
    real = lambda v: None if v is None else float(v)
    return {
        "certificate": found, "format": cert["format"],
        "mean_guarantee": mean["id"], "mean_n": mean["n"], "mean_status": mean["status"], "mean_bound": real(mean["bound"]), "mean_headline": mean["headline"], "mean_statement": mean["statement"],
        "draw_status": draw["status"], "draw_bound": real(draw["bound"]), "draw_bound_pinsker": real(draw.get("bound_pinsker", 0)),
        "draw_headline": draw["headline"], "draw_statement": draw["statement"],
        "target": loss["target"], "loss": loss["kind"], **{k: real(loss.get(k)) for k in ("epsilon", "below", "above")},
        "delta": real(delta["declared"]), "alternatives": delta["alternatives"], "alternative": delta["alternative"], **{f"sequence_{k}": sequence.get(k) for k in ("policy", "name", "number")},
        "n": draw["n"], "empirical_risk": real(draw["empirical_risk"]["upper"]),
        **{k: real(draw.get(k, 0)) for k in ("kl", "ln_inverse_weight", "ln_xi", "ln_inverse_delta", "exponent")}, "accuracy": real(cert["accuracy"]["tau"]), "unproven": draw["unproven"],
        "baseline_constant": real(base["constant"]), "baseline_origin": base["origin"], "baseline_bound": real(base["bound"]),
        "dependence_pairs": cert["dependence"]["pairs"], "dependence_correlation": real(cert["dependence"]["correlation"]), "dependence_suspicious": cert["dependence"]["suspicious"],
        **{f"copies_{k}": cert["copies"][k] for k in ("policy", "distinct", "rows", "features")},
        **{k: ledger[k] for k in ("rows", "reference", "train", "holdout", "copies", "bad")}, "shards": sample["shards"], "features": len(sample["columns"]) - 1 - ("mean" in cert) - len(ledger.get("units", {}).get("columns", [])) - any(g.get("groups", {}).get("beside", False) for g in cert["guarantees"]),
        "sample": sample["digest"], "targets": sample["targets"], "model": cert["model"]["digest"], "configuration": cert["configuration"]["digest"],
        "kernel": cert["kernel"]["family"], "kernel_families": len(cert["kernel"]["families"]), "ard": cert["kernel"]["ard"], "roles_key": cert["roles"]["key"], "seed": cert["optimiser"]["seed"],
        "broken_assumptions": sum(a["status"] == "broken" for a in cert["assumptions"]),
        "declared_unit": declared.get("unit"), "declared_software": declared["software"],
        "declared_attempt_on_these_rows": declared["attempt"]["on_these_rows"], "declared_attempt_in_this_log": declared["attempt"]["in_this_log"]}


def read_certificate(path, wanted):
    """The certificate, its bytes as text, and its id."""
    with open(path, "rb") as f:
        data = f.read()
    row = None
    if data.startswith(b"PAR1"):
        check_seal(data, "the certificate's row")
        data, row = certificate_row(data)
    found = hashlib.sha256(data).hexdigest()
    named = re.fullmatch(r"certificate-([0-9a-f]{64})\.(json|parquet)", os.path.basename(path))
    for expected in filter(None, (wanted, named and named.group(1))):
        need(found == expected, f"the certificate's id is {found}, not {expected}")
    cert = read_json(data, "certificate")
    need(isinstance(cert, dict) and cert.get("format") in (FORMAT, BEFORE), f"the format of the certificate is {cert.get('format')!r}, this program reads {FORMAT!r}")
    if cert["format"] == BEFORE:  # its bounds from below are passed over, its words replaced
        need(not row, "a certificate of an earlier format is read as JSON")
        for g in cert["guarantees"]:
            need(g.keys() >= {"lower_risk", "lower_bound"}, "a guarantee lacks its bound from below")
            del g["lower_risk"], g["lower_bound"]
        need("looks" not in cert["delta"] and "mean" not in cert and "units" not in cert["ledger"], "it counts looks or units, or has a column for the mean, which its format does not have")
    fits(cert, CERTIFICATE, "the certificate")
    need(("measured" in cert["dependence"]) == (cert["format"] == FORMAT) and all(len(s["products"]) == 8 for s in cert["dependence"].get("measured", {}).values() if "products" in s),
         "what was measured of the dependence is missing, or of another format")
    methods = [m["id"] for m in cert["delta"]["methods"]]
    need("pac-bayes" in methods and len({*methods}) == len(methods), "the methods are not pac-bayes, alone or with others")
    wanted = {name: m.members.keys() for m in applied(cert) for name in m.names}
    need(sorted(g["id"] for g in cert["guarantees"]) == sorted(wanted), "the guarantees are not those of the methods")
    need(all(g.keys() >= wanted[g["id"]] and ("empirical_risk" in g) != shows_bound_alone(cert, g) for g in cert["guarantees"]), "a guarantee lacks its terms, or states a risk beside its bound")
    if row:
        check_row(row, cert, found)
    return cert, data.decode(), found


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
    return for_rows(job, cert["sample"]["rows"], cert["format"] == BEFORE), raw


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
    content = by(job) == "content" or unit.given(job) is not None  # roles follow from values
    need(content or ledger["reference"] == k or (drop or tolerated) and ledger["reference"] < k,
         f"the job makes {k} reference rows of {ledger['rows']}, the certificate says {ledger['reference']}")
    need((ledger["holdout"] > 0) == (job["roles"].get("holdout", 0) > 0), "the ledger's hold-out rows are not the job's")
    outside = ledger.get("outside", 0)
    need((outside > 0) == (job["roles"].get("outside", 0) > 0), "the ledger's outside rows are not the job's")
    if (ledger["holdout"] or outside) and not content and ledger["rows"] <= 1 << 20:  # a second
        apart = ranked_rows(job["roles"], ledger["rows"], 0, k if by(job) == "first" else None)
        for role, stated, rows in (("hold-out", ledger["holdout"], apart[0]), ("outside", outside, apart[1])):
            need(stated == len(rows) or (drop or tolerated) and stated < len(rows), f"the key makes {len(rows)} {role} rows, the certificate says {stated}")
    need(n >= 1 and ledger["rows"] == ledger["reference"] + n + ledger["holdout"] + ledger["copies"] + ledger["bad"] + outside and ledger["copies"] == (copies["rows"] if drop else 0), "the ledger does not add up")
    need(cert["sample"]["shards"] >= 1 and cert["sample"]["rows"] == ledger["rows"], "the sample has not the rows of the ledger")
    baseline = cert["baseline"]
    found = {
        "ledger": {**{k: ledger[k] for k in ("rows", "reference", "train", "holdout", "copies", "bad")}, **members(("outside", outside), ("units", unit.stated(cert, job)))},
        "mean": stated_mean(cert, job),
        "sample": {**{k: cert["sample"][k] for k in ("digest", "targets", "shards", "rows")}, **segments(cert["sample"])},
        "dependence": dependence.stated(cert),
        "findings": {k: cert["findings"][k] for k in ("rows", "near_copies", "ordered", "grids") if k in cert["findings"]} if "findings" in cert else None,
        "copies": stated_copies(copies, job, ledger, "measured" not in cert["dependence"]),
        "constant": float(baseline["constant"]), "origin": "reference" if ledger["reference"] else "start"}
    found["baseline"] = stated_sum(baseline["empirical_risk"], unit.examples(found["ledger"], "train"))
    need((unit.misses(cert["ledger"]) is None) == ("missed" not in baseline), "there is a yardstick for units that miss without such units, or none with them")
    if "missed" in baseline:
        found["missed"] = baseline["missed"]["units"]
        need(found["missed"] <= unit.examples(ledger, "train"), "the constant misses more units than there are")
    for m in applied(cert):
        m.stated(cert, found)
    return found


def stated_mean(cert, job):
    """What is stated of the column of the mean."""
    need(("mean" in cert) == (mean_column(job) is not None), "job and certificate do not agree on whether there is a column of the mean")
    if "mean" not in cert:
        return None
    stated, ledger = cert["mean"], cert["ledger"]
    for role in ("reference", "train"):
        need(stated[role]["count"] == ledger[role] and int(stated[role]["sum"], 16) <= ledger[role] * UNIT, f"the distances on {role} rows are not at most 1 each")
    return {"column": mean_column(job), **{role: {k: stated[role][k] for k in ("count", "sum")} for role in ("reference", "train")}}
