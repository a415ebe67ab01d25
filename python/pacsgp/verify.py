"""Checks a certificate against its model and its rows."""
import numpy as np

from . import unit
from .bound import precise
from .certificate import read_certificate, read_job, segments, stated_duplicates, stated_findings
from .dependence import check_order, in_steps
from .derive import compare, derive, follows
from .encode import fills, may_be_text, seen as seen_levels, stated as stated_levels
from .groups import check_values, text_column
from .job import mean_column, members
from .lake import Lake
from .laws import BLOCK, Laws, check_jitter, features
from .losses import Losses, UNIT, best_constant, constant_loss, misfit, units
from .methods import applied, check_bounds, judged
from .model import Model, fine_enough
from .places import check_places, places_told
from .predictor import Regression, check_predictor
from .refusal import need, ok
from .starts import check_default_features, check_peaks
from .survey import Digests, Survey, within


@precise
def check_files(model, cert, document):
    """What follows from model file and certificate alone. Returns the job and the verdict on the jitter."""
    need(cert["model"]["digest"] == model.digest, f"the certificate is about another model file than {model.digest}")
    ok(f"the model file is the one that the certificate names, {model.digest[:12]}…")
    job = read_job(cert, document)
    need(fine_enough(model.target, model.loss), f"float64 numbers around {model.target['centre']:.6g}, give or take {model.target['scale']:.3g}, are too coarse for the tolerance")
    found = stated_findings(cert, job)
    scaling = [*model.meta["features"], {**model.meta["target"], **({"centre": 0.0} if mean_column(job) else {})}]
    follows(model, job, scaling, found["ledger"]["train"], stated_levels(job, model))
    ok("the model's description follows from the configuration: hyper-parameters, kernel, loss, row rules")
    need(judged(cert) or model.meta["predictor"]["part"] == 0 and (model.weight == model.mean).all(), "the predictor is not the mean of Q, and no hold-out rows judge it")
    jitter = {"limit": model.jitter / 2, "holds": bool(check_jitter(model))}
    check_bounds(cert, model, found)
    compare(cert, derive(model, job, cert, found, jitter))
    ok("every number and status of the certificate follows from what it rests on")
    return job, jitter


@precise
def check_rows(model, cert, job, jitter, paths):
    """What follows from the rows. Returns what the data tell of their place that the certificate does not."""
    lake, columns, unplaced = Lake(paths), cert["sample"]["columns"], ""
    lake.tolerant, lake.labels = "bad_rows" in job, unit.labels(job) + text_column(job) + may_be_text(job.get("encode", []))
    lake.fills = fills(job.get("encode", []))
    lake.grouped = {name: {unit.label(text.encode()): text.encode() for text in job["groups"]["texts"]} for name in text_column(job)}
    need((lake.rows, len(lake.groups)) == (cert["sample"]["rows"], cert["sample"]["shards"]),
         f"the data have {lake.rows} rows in {len(lake.groups)} shards, the certificate says {cert['sample']['rows']} in {cert['sample']['shards']}")
    survey = Survey(lake, columns, job)
    need(survey.digest == cert["sample"]["digest"], f"the data have the sample digest {survey.digest}, not {cert['sample']['digest']}")
    ok(f"the data are the sample: {lake.rows} rows in {len(lake.groups)} shard{'s' * (len(lake.groups) != 1)}, digest {survey.digest[:12]}…")
    need((len(survey.reference), len(survey.holdout), len(survey.outside), survey.train) == tuple(cert["ledger"].get(k, 0) for k in ("reference", "holdout", "outside", "train")), "the ledger is not what the key gives")
    need(survey.units == cert["ledger"].get("units"), f"the rows have the units {survey.units}, the certificate says {cert['ledger'].get('units')}")
    if cert["sample"].get("segments"):
        check_places(lake, cert["sample"]["segments"])
    elif places_told(lake):
        unplaced = f"the topic and the partitions of the rows: the data name them (columns {', '.join(places_told(lake))}), the certificate has no segments"
    encodings = seen_levels(job, columns, survey.values(survey.reference))
    follows(model, job, survey.scaling(model, encodings), survey.train, encodings)
    ok(f"roles and scaling: {len(survey.reference)} reference, {len(survey.holdout)} hold-out and {survey.train} train rows by the key {job['roles']['key']!r}")
    looked_at = survey.values(survey.targets_from)
    constant = best_constant(model.loss, looked_at[-1])
    if found_mean := cert.get("mean"):
        need(2 * int((looked_at[-1] == looked_at[-2]).sum()) <= looked_at.shape[1], f"the column {found_mean['column']!r} of the mean equals the target in most rows looked at")
    need(constant == float(cert["baseline"]["constant"]),  # which JSON may write as an integer
          f"the constant of the baseline is {constant} on these rows, the certificate says {cert['baseline']['constant']}")
    found = stated_findings(cert, job)
    found.update({
        "ledger": {"rows": lake.rows, "reference": len(survey.reference), "holdout": len(survey.holdout), "train": survey.train, "duplicates": survey.dropped, "bad": survey.bad, **members(("outside", len(survey.outside)), ("units", survey.units))},
        "sample": {"digest": survey.digest, "targets": survey.targets, "shards": len(lake.groups), "rows": lake.rows, **segments(cert["sample"])},
        "constant": constant})
    if "groups" in job:
        check_values(job, columns, survey.values(survey.reference), found["group values"])
    found["duplicates"] = stated_duplicates(survey.copies, job, found["ledger"])
    found["baseline"], found["mean"], found["dependence"] = check_losses(model, cert, survey, constant, jitter["holds"], found)
    compare(cert, derive(model, job, cert, found, jitter))
    ok("derived again from model, rows and configuration, every number and status is the same")
    check_default_features(model, job, lake, survey)
    if job["grid"]["prior"] == "peaked":
        check_peaks(model, job, survey)
    return unplaced


def check_losses(model, cert, survey, constant, holds, found):
    """The stated sums of losses lie where this program's own proven bounds allow it.
    Checks the predictor too. Returns the constant's sum, what the column of the mean is like, and how alike near rows are."""
    laws, losses, methods = {"train": Laws(model, holds, draws=True), "holdout": Laws(model, holds)}, Losses(model), [m(cert) for m in applied(cert)]
    regression = Regression(model, survey.train)
    baseline, n, far, order = 0, 0, 0, []
    columns, constants = survey.columns, unit.Sums()
    units_of = survey.units and unit.Hashes(survey.job)
    digests = Digests(survey.lake, len(columns), targets=False)
    for shard, first, block in survey.lake.blocks(columns):
        digests.add(shard, first, block)
        train = survey.is_train(first, block.shape[1])
        lost, n = constant_loss(model.loss, block[-1, train], constant), n + int(train.sum())
        ids = units_of.of(block) if units_of else None
        if units_of:
            constants.add(ids[train], unit.in_units(lost, False))
        else:
            baseline += units(lost, False)
        if found["mean"]:
            far += units(misfit(model, block[:, train]), True)
        order.append(in_steps(model.scale_target(block[:, survey.is_open(first, block.shape[1])])))
        for role, rows in (("holdout", within(survey.holdout, first, block.shape[1]) - first), ("train", train)):
            for i in range(0, block[0, rows].size, BLOCK):
                part = block[:, rows][:, i:i + BLOCK]
                y, found_here = model.scale_target(part), features(model, model.scale_features(part[:len(model.features)].T))
                law = laws[role].at(*found_here)
                if role == "train":
                    regression.add(found_here[2], y)
                for m in methods:
                    m.ids = None if ids is None else ids[rows][i:i + BLOCK]
                    if m.role == role:
                        m.add(losses, y, law, part)
    digests.same(survey.digest)
    baseline += constants.means(0, False)
    need(n == survey.train, "the data have changed between two readings")
    alike = check_order(np.concatenate(order), cert["dependence"]["measured"])
    need(baseline == found["baseline"], f"the constant loses {baseline / n / UNIT:.12f} on the train rows, the certificate says {found['baseline'] / n / UNIT:.12f}")
    ok(f"the constant {constant:.6g} is the best of 512, and loses what is stated to the last unit")
    mean = found["mean"]
    if mean:
        near = survey.values(survey.reference)
        sums = {"reference": (near.shape[1], units(misfit(model, near), True)), "train": (n, far)}
        mean = {"column": mean["column"], **{role: {"count": count, "sum": f"{total:032x}"} for role, (count, total) in sums.items()}}
    for m in methods:
        m.agrees(found)
    check_predictor(model, survey, regression)
    return baseline, mean, alike


def mean_statuses(cert):
    """What the guarantees about the predictor are worth."""
    return {g["status"] for g in cert["guarantees"] if g["predictor"] == "predictor"}


def unchecked(cert, unplaced):
    """What is the publisher's word though a guarantee rests on it, a line each."""
    left, conditional = [], [g for g in cert["guarantees"] if g["status"] == "conditional"]
    if any(g["role"] == "holdout" for g in conditional):
        left += ["that training did not use the hold-out rows", "that these rows were fixed before their values were known, and the job was not tuned on them"]
    if "mean" in cert and conditional:
        left.append(f'that the column "{cert["mean"]["column"]}" was fitted without the rows that certify')
    if cert["delta"].get("sequence"):
        left.append("that the number in the sequence was reserved before a bound was known, and has one certificate")
    if cert["sample"].get("segments"):
        left.append("that the rows are of the topic and of the partitions of the segments")
    return left + ([unplaced] if unplaced else [])


def verify(path, certificate, data, expected):
    """Checks a certificate. Returns the verdict, and what is not checked."""
    model = Model(path)
    cert, document, found = read_certificate(certificate, expected)
    job, jitter = check_files(model, cert, document)
    unplaced = check_rows(model, cert, job, jitter, data) if data else ""
    words = "verified: every number follows from the model and these rows" if data else "every number follows from the others: give the rows to check everything"
    return {"status": 0 if data and mean_statuses(cert) & {"certified", "conditional"} else 3, "verdict": words, "id": found, "not_checked": unchecked(cert, unplaced), "certificate": cert}


def show(report):
    """Prints the bounds, and what they rest on."""
    print(f"{report['verdict']}\nid {report['id']}")
    for g in report["certificate"]["guarantees"]:
        print(f"{g['status']:12} {g['id']:8} a bound of {g['bound']:.6g} about the {g['predictor']}, from {g['n']} examples")
    for words in report["not_checked"]:
        print("NOT CHECKED: " + words)
