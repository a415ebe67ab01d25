"""Reads a certificate and the statements in it."""
import hashlib
import os
import re
from decimal import ROUND_CEILING, Context, Decimal

from . import dependence, unit
from .curve import CURVE_SHARE, within
from .forms import CERTIFICATE
from .job import check_job, for_rows, mean_column, reference_count
from .jsontext import canonical, fits, parse
from .methods import total
from .model import read_plain
from .refusal import content, need, plain
from .first_pass import ranked_rows

quoted = lambda text, plain: text if plain else f'"{text}"'  # what is not plain could be read as a part of the sentence around it
column = lambda name: quoted(name, name.isascii() and name.isidentifier())
new_rows = lambda cert: (f"the rows of a new unit of {' and '.join(map(column, cert['counts']['units']['columns']))}, on average over units" if "units" in cert["counts"] else "new rows") + " of the partitions that the certificate names" * ("segments" in cert["dataset"])
ESCAPED = {ord(c): f"\\u{ord(c):04x}" for c in "<>&"}  # in the settings of a job


def read_certificate(path, wanted):
    """The certificate and its id, from JSON or from the document in a Parquet row."""
    data, row = content(path, 16 << 20), None
    if data.startswith(b"PAR1"):
        table, _ = read_plain(data, "certificate")
        need(table.num_rows == 1 and "document" in table.column_names, "it is Parquet, but no certificate")
        row = table.to_pylist()[0]
        data = row["document"].encode()
    found = hashlib.sha256(data).hexdigest()
    named = re.fullmatch(r"certificate-([0-9a-f]{64})\.(json|parquet)", os.path.basename(path))
    for expected in [v for v in (wanted, named and named.group(1)) if v is not None]:
        need(found == expected, f"the certificate's id is {found}, not {expected}")
    document = data.decode()
    cert = parse(document)
    fits(cert, CERTIFICATE, "the certificate")
    values = canonical(cert["job"]["values"], 2).translate(ESCAPED).replace("\n", "\n    ")
    need(document == canonical({**cert, "job": {**cert["job"], "values": 0}}, 2).replace('"values": 0', f'"values": {values}') + "\n", "the certificate is not in canonical form: was the file edited?")
    need(row is None or [*row.items()] == [*row_of(cert, document, found).items()], "the columns of the certificate's row are not what its document gives")
    return cert, found


def row_of(cert, document, found):
    """The columns of the Parquet row of the certificate with this id (formats.md, 7.2)."""
    mean, draw = (min((g for g in cert["claims"] if g["predictor"] == of), key=lambda g: (g["status"] != "certified", g["bound"])) for of in ("prediction", "draw"))
    loss, delta, counts, model, columns = cert["loss"], cert["delta"], cert["counts"], cert["model"], cert["dataset"]["columns"]
    sequence, others = delta.get("sequence", {}), ("mean" in cert) + ("not_a_feature" in cert.get("groups", {})) + len(counts.get("units", {}).get("columns", []))
    return {"certificate": found, "format": cert["format"], "status": mean["status"], "bound": mean["bound"], "claim": mean["id"],
            "draw_status": draw["status"], "draw_bound": draw["bound"], "baseline": draw["baseline"], "target": loss["target"], "loss": loss["kind"],
            **{name: loss.get(name) for name in ("epsilon", "below", "above", "unit")}, "delta": delta["declared"], "sequence_name": sequence.get("name"), "sequence_run": sequence.get("run"),
            "accuracy": model["accuracy"], "kl": model["kl"], "warnings": len(cert["warnings"]),
            **{name: counts[name] for name in ("rows", "prior", "training", "holdout", "duplicates", "rejected")}, "features": len(columns) - 1 - others,
            "dataset": cert["dataset"]["digest"], "model": model["digest"], "job": cert["job"]["digest"], "kernel": model["kernel"]["family"], "document": document,
            "claims": [{name: g.get(name) for name in ("id", "predictor", "subset", "status", "bound", "n", "risk", "misses", "ln_inverse_delta")} for g in cert["claims"]]}


def claim(cert):
    """The certified claim about predictions with the smallest bound, or None."""
    return min((g for g in cert["claims"] if g["predictor"] == "prediction" and g["status"] == "certified"), key=lambda g: g["bound"], default=None)


def headline(cert):
    """A sentence with what is certified about predictions. Numbers are rounded outwards."""
    g, loss, target, unit = claim(cert), cert["loss"], column(cert["loss"]["target"]), cert["loss"].get("unit", "")
    if g is None:
        return plain(f"Nothing is certified about predictions of {target}.")
    up = lambda v, times=1: f"{Context(prec=4 if times == 1 else 3, rounding=ROUND_CEILING).multiply(Decimal(repr(float(v))), times).normalize():f}"
    share = lambda p: f"{p.quantize(Decimal(1).scaleb(min(-1, p.adjusted() - 1)), ROUND_CEILING):f}" if p < 100 else "100"
    amount = lambda v, plain=re.fullmatch(r"(([^\W\d_²³]|[°%])+[²³]?(/[^\W\d_²³]+[²³]?)?)?", unit): f"{up(v)} {quoted(unit, plain)}".strip()
    off = {"zero-one": lambda: f"off by more than {amount(loss['epsilon'])}", "band": lambda: f"more than {amount(loss['below'])} too low or more than {amount(loss['above'])} too high",
           "relative-zero-one": lambda: f"off by more than {up(loss['epsilon'], 100)} % of the target"}.get(loss["kind"])
    rows, exact = new_rows(cert), Context(prec=400)  # which holds every digit of 1 - δ
    if "curve" in g and "tolerance" in loss:
        lost = f"are within {amount(within(g['curve'], CURVE_SHARE))} of the target in at least 90 % of {rows}"
    else:
        lost = f"are {off()} in at most {share(100 * Decimal(repr(float(g['bound']))))} % of {rows}" if off else f"lose at most {up(g['bound'])} on average over {rows} by the {loss['kind']} loss"
    return plain(f"Predictions of {target} {lost} ({exact.normalize(exact.subtract(100, 100 * Decimal(repr(float(g['delta']))))):f} % confidence).")


def model_warnings(cert):
    """The warnings of a certificate in words."""
    words = {"other-jobs": "{count} other jobs were tried on these rows before: if this one was changed after their results were seen, the bounds may be too low",
             "duplicates": "{share:.3g} % of the rows repeat an earlier row: the bounds are about distinct rows, or too low if these were not dropped",
             "rejected": "{share:.3g} % of the rows were rejected: the bounds are not about such rows",
             "mean-fitted": "the column of the mean is {nearer:.0f} % nearer to the target on training rows than on prior rows: if it was fitted on them, the bounds are too low",
             "dependence": "{which} are alike (correlation of their targets {value:.2f}): unless they were sorted, they depend on each other, and the bounds may be too low",
             "large-unit": "one unit has {share:.0f} % of the rows: the bound is an average over units, and says little about rows"}
    return [words[w["code"]].format(**w, share=100 * w.get("count", 0) / w.get("of", 1), nearer=100 * w.get("value", 0), which="neighbouring rows" if w.get("count") == 1 else f"rows {w.get('count')} apart") for w in cert["warnings"]]


def read_job(cert):
    """The job that a certificate states."""
    job = cert["job"]["values"]
    need(hashlib.sha256(canonical(job).translate(ESCAPED).encode()).hexdigest() == cert["job"]["digest"], "the digest of the job is another one")
    check_job(job)
    return for_rows(job, cert["counts"]["rows"])


def check_segments(cert):
    """Segments are the shards of a dataset that was read from a log, in their order. Without the log they are the publisher's word."""
    stated, ends, parent = cert["dataset"].get("segments", []), {}, cert["publisher"]["training"].get("parent")
    need(not stated or len(stated) == cert["dataset"]["shards"] and sum(s["rows"] for s in stated) == cert["counts"]["rows"], "the segments are not the shards of the dataset")
    for s in stated:
        at = s["topic"], s["partition"]
        need(ends.get(at, s["first"]) == s["first"] < s["end"] and 1 <= s["rows"] <= s["end"] - s["first"], "the segments of a partition overlap or leave offsets out, or one has no rows or more than offsets")
        ends[at] = s["end"]
    need(not parent or (spans := [tuple(r.values()) for r in parent["ranges"]]) and all(s[2] < s[3] for s in spans) and all(a[:2] < b[:2] or a[:2] == b[:2] and a[3] < b[2] for a, b in zip(spans, spans[1:])), "the ranges of the model that training began with are none, or out of order")
    if parent and cert["counts"]["holdout"]:
        apart = lambda a, b: (a["topic"], a["partition"]) != (b["topic"], b["partition"]) or a["end"] <= b["first"] or b["end"] <= a["first"]
        need(stated and parent["ranges"] and all(apart(a, b) for a in parent["ranges"] for b in stated), "training began with a model that may have seen held-out rows")


def check_facts(cert, job):
    """Checks, without the rows, that the facts about them do not contradict the job or each other."""
    counts, duplicates, n, said = cert["counts"], cert["duplicates"], cert["counts"]["training"], cert["publisher"]
    k, rows, good = reference_count(counts["rows"], job), counts["rows"], counts["rows"] - counts["rejected"]
    policy, tolerated = job["duplicates"], job.get("rejected", {}).get("limit", 0)
    drop, fewer = policy["policy"] == "drop", counts["duplicates"] + tolerated > 0
    need(counts["rejected"] <= tolerated * rows, f"{counts['rejected']} of {rows} rows are rejected, and the job tolerates {tolerated}")
    unit.check_units(cert, job)
    content = "unit" in job  # the split follows from values
    need(content or counts["prior"] == k or fewer and counts["prior"] < k, f"the job makes {k} prior rows of {rows}, the certificate says {counts['prior']}")
    apart = [counts["holdout"], counts.get("outside", 0)]
    need([n > 0 for n in apart] == [job["split"].get(subset, 0) > 0 for subset in ("holdout", "outside")] and counts.get("outside") != 0, "the held-out rows or the outside rows are not the job's")
    if any(apart) and not content and rows <= 1 << 20:  # a second
        for stated, made in zip(apart, ranked_rows(job["split"], rows, 0)):
            need(stated == len(made) or fewer and stated < len(made), f"the key makes {len(made)} held-out or outside rows, the certificate says {stated}")
    need(n >= 1 and rows == counts["prior"] + n + sum(apart) + counts["duplicates"] + counts["rejected"] and counts["duplicates"] == (duplicates["found"] if drop else 0), "the counts do not add up")
    need(policy["policy"] != "limit" or not float(duplicates["found"]) > policy["limit"] * good, f"{duplicates['found']} of {good} rows are duplicates, and the job allows {policy['limit']}")
    need(duplicates["found"] < good, "the duplicates do not add up")
    s, looked_at, one = cert["dependence"], counts["prior"] + n, dependence.ONE
    need(cert["dataset"]["shards"] >= 1 and s["rows"] == looked_at and s["squares"] <= one ** 2 * looked_at and abs(s["sum"]) <= one * looked_at
         and len(s["products"]) == dependence.LAGS and all(abs(p) <= s["squares"] for p in s["products"]), "the sums over targets in their order are none of these rows")
    need(cert.get("mean", {}).get("column") == mean_column(job), "job and certificate do not agree on the column of the mean")
    for subset in ("prior", "training") if "mean" in cert else ():
        total(cert["mean"][subset], counts[subset])
    need(("sequence" in job) == ("sequence" in cert["delta"]), "the job and the certificate do not agree on whether there is a sequence")
    reuse = cert["delta"].get("holdout_reuse")  # the publisher's word, as are name and number in the sequence
    need(reuse is None or counts["holdout"] and 0 < len(reuse["earlier"]) < 1000, "the earlier uses of the held-out rows are impossible")
    attempt, training = said["attempt"], said["training"]
    need(1 <= attempt["on_these_rows"] <= attempt["in_this_log"], "there were more attempts on these rows than in all")
    need("stopped_after" not in training or "time_seconds" in job["train"], "training was stopped by a time limit that the job does not have")
    need("parent" not in training or "warm_start" in job["train"], "training began with another model, which the job does not declare")
    check_segments(cert)
