"""Reads a certificate, and what it states."""
import hashlib
import json
import os
import re

import pyarrow as pa
import pyarrow.parquet as pq

from . import dependence, unit
from .bound import guarantee
from .forms import CERTIFICATE
from .job import check_job, for_rows, mean_column, members, reference_count
from .jsontext import fits, read_json
from .losses import UNIT
from .methods import applied, judged, shows_bound_alone, stated_sum
from .refusal import need
from .survey import ranked_rows

TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


def read_certificate(path, wanted):
    """The certificate, its bytes as text, and its id. Of a row of Parquet the document is read."""
    with open(path, "rb") as f:
        data = f.read()
    if data.startswith(b"PAR1"):
        table = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
        need(table.metadata.num_rows == 1 and "document" in table.schema_arrow.names, "it is Parquet, but no certificate")
        data = table.read(["document"])["document"][0].as_py().encode()
    found = hashlib.sha256(data).hexdigest()
    named = re.fullmatch(r"certificate-([0-9a-f]{64})\.(json|parquet)", os.path.basename(path))
    for expected in filter(None, (wanted, named and named.group(1))):
        need(found == expected, f"the certificate's id is {found}, not {expected}")
    cert = read_json(data, "certificate")
    fits(cert, CERTIFICATE, "the certificate")
    need(len(cert["dependence"]["measured"]["products"]) == dependence.LAGS, "what was measured of the dependence is of another format")
    methods = cert["delta"]["methods"]
    need("pac-bayes" in methods and len({*methods}) == len(methods), "the methods are not pac-bayes, alone or with others")
    wanted = {name: m.members.keys() for m in applied(cert) for name in m.names if name != "mean-2b" or not judged(cert)}
    need(sorted(g["id"] for g in cert["guarantees"]) == sorted(wanted), "the guarantees are not those of the methods")
    need(all(g.keys() >= wanted[g["id"]] and ("empirical_risk" in g) != shows_bound_alone(cert, g) for g in cert["guarantees"]), "a guarantee lacks its terms, or states a risk beside its bound")
    return cert, data.decode(), found


def read_job(cert, document):
    """The job that a certificate states."""
    stated = "".join(TOKENS.findall(document))
    start = stated.index('"values":', stated.index('"configuration":{"digest":')) + len('"values":')
    raw = stated[start:json.JSONDecoder().raw_decode(stated, start)[1]]
    need(hashlib.sha256(raw.encode()).hexdigest() == cert["configuration"]["digest"] and json.loads(raw) == cert["configuration"]["values"], "the digest of the configuration is another one")
    job = cert["configuration"]["values"]
    check_job(job)
    return for_rows(job, cert["sample"]["rows"])


def segments(sample):
    """The segments of a sample that was read from a log, in the order of their members:
    where its shards stand there. Without the log they are the publisher's word."""
    stated, ends = sample.get("segments"), {}
    if not stated:
        return {}
    need(len(stated) == sample["shards"] and sum(s["rows"] for s in stated) == sample["rows"], "the segments are not the shards of the sample")
    for s in stated:
        at = s["topic"], s["partition"]
        need(ends.get(at, s["first"]) == s["first"] < s["end"] and s["rows"] >= 1, "the segments of a partition overlap or leave offsets out, or one has no rows")
        ends[at] = s["end"]
    return {"segments": stated}


def stated_findings(cert, job):
    """What a check without rows has to believe, as far as it does not contradict the job."""
    ledger, copies, n = cert["ledger"], cert["duplicates"], cert["ledger"]["train"]
    k = reference_count(ledger["rows"], job)
    drop, tolerated = job["duplicates"]["policy"] == "drop", job.get("bad_rows", {}).get("tolerance", 0)
    need(ledger["bad"] <= tolerated * ledger["rows"], f"{ledger['bad']} of {ledger['rows']} rows are bad, and the job tolerates {tolerated}")
    content = unit.given(job) is not None  # roles follow from values
    need(content or ledger["reference"] == k or (drop or tolerated) and ledger["reference"] < k,
         f"the job makes {k} reference rows of {ledger['rows']}, the certificate says {ledger['reference']}")
    need((ledger["holdout"] > 0) == (job["roles"].get("holdout", 0) > 0), "the ledger's hold-out rows are not the job's")
    outside = ledger.get("outside", 0)
    need((outside > 0) == (job["roles"].get("outside", 0) > 0), "the ledger's outside rows are not the job's")
    if (ledger["holdout"] or outside) and not content and ledger["rows"] <= 1 << 20:  # a second
        apart = ranked_rows(job["roles"], ledger["rows"], 0)
        for role, stated, rows in (("hold-out", ledger["holdout"], apart[0]), ("outside", outside, apart[1])):
            need(stated == len(rows) or (drop or tolerated) and stated < len(rows), f"the key makes {len(rows)} {role} rows, the certificate says {stated}")
    need(n >= 1 and ledger["rows"] == ledger["reference"] + n + ledger["holdout"] + ledger["duplicates"] + ledger["bad"] + outside and ledger["duplicates"] == (copies["rows"] if drop else 0), "the ledger does not add up")
    need(cert["sample"]["shards"] >= 1 and cert["sample"]["rows"] == ledger["rows"], "the sample has not the rows of the ledger")
    baseline = cert["baseline"]
    found = {
        "ledger": {**{k: ledger[k] for k in ("rows", "reference", "train", "holdout", "duplicates", "bad")}, **members(("outside", outside), ("units", unit.stated(cert, job)))},
        "mean": stated_mean(cert, job),
        "sample": {**{k: cert["sample"][k] for k in ("digest", "targets", "shards", "rows")}, **segments(cert["sample"])},
        "dependence": dependence.stated(cert),
        "duplicates": stated_duplicates(copies, job, ledger),
        "constant": float(baseline["constant"]), "origin": "reference" if ledger["reference"] else "start"}
    found["baseline"] = stated_sum(baseline["empirical_risk"], unit.examples(found["ledger"], "train"))
    for m in applied(cert):
        m.stated(cert, found)
    return found


def stated_duplicates(found, job, ledger):
    """The counts of rows that equal an earlier one, with the policy of the job (format.md, 4.7)."""
    policy, rows = job["duplicates"], ledger["rows"] - ledger["bad"]
    need(policy["policy"] != "limit" or not float(found["rows"]) > policy["limit"] * rows, f"{found['rows']} of {rows} rows are duplicates, and the job allows {policy['limit']}")
    need(found["distinct"] >= 1 and found["distinct"] + found["rows"] == rows, "the duplicates do not add up")
    return {**policy, **{k: found[k] for k in ("distinct", "rows")}}


def stated_mean(cert, job):
    """What is stated of the column of the mean."""
    need(("mean" in cert) == (mean_column(job) is not None), "job and certificate do not agree on whether there is a column of the mean")
    if "mean" not in cert:
        return None
    stated, ledger = cert["mean"], cert["ledger"]
    for role in ("reference", "train"):
        need(stated[role]["count"] == ledger[role] and int(stated[role]["sum"], 16) <= ledger[role] * UNIT, f"the distances on {role} rows are not at most 1 each")
    return {"column": mean_column(job), **{role: {k: stated[role][k] for k in ("count", "sum")} for role in ("reference", "train")}}
