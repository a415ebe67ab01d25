"""Checks a certificate against its model and its rows."""
import numpy as np

from . import unit
from .bound import precise
from .certificate import read_certificate, read_job, segments, stated_findings
from .copies import AsTheyCome, stated_copies
from .curve import at_the_tolerance, is_wide
from .dependence import Order, dependence
from .derive import compare, derive, follows, is_before
from .doubts import changed, doubts
from .encode import filled_rows, fills, may_be_text, seen as seen_levels, stated as stated_levels, texts
from .forms import BEFORE
from .findings import findings
from .groups import check_values, text_column
from .lake import Lake
from .laws import BLOCK, Laws, check_jitter
from .job import by_rule, members
from .losses import Losses, UNIT, best_constant, constant_loss, misfit, units
from .manifest import sampled
from .methods import applied, check_bounds
from .model import Model, fine_enough
from .places import check_places, places_told
from .refusal import need, ok
from .rule import check_rule
from .starts import check_default_features, check_peaks
from .survey import Digests, Survey, declared_scaling, within


@precise
def check_files(model, cert, document):
    """What follows from model file and certificate alone. Returns the job, its text and
    the verdict on the jitter."""
    need(cert["model"]["digest"] == model.digest, f"the certificate is about another model file than {model.digest}")
    ok(f"the model file is the one that the certificate names, {model.digest[:12]}…")
    job, raw = read_job(cert, document)
    need(fine_enough(model.target, model.loss), f"float64 numbers around {model.target['centre']:.6g}, give or take {model.target['scale']:.3g}, are too coarse for the tolerance")
    found = stated_findings(cert, job)
    follows(model, job, declared_scaling(job, model.meta["features"] + [model.meta["target"]]), found["ledger"]["train"], stated_levels(job, model))
    ok("the model's description follows from the configuration: hyper-parameters, kernel, loss, row rules")
    jitter = {"limit": model.jitter / 2, "holds": bool(check_jitter(model))}
    check_bounds(cert, model, found)
    compare(cert, document, derive(model, job, raw, cert, found, jitter))
    ok("every number, status and sentence of the certificate follows from what it rests on")
    return job, raw, jitter


@precise
def check_rows(model, cert, document, job, raw, jitter, paths):
    """What follows from the rows. Returns whether as many losses are unproven here as
    stated, what the data tell of their place that the certificate does not, and what
    speaks against independent rows."""
    lake, columns, unplaced = Lake(paths), cert["sample"]["columns"], ""
    lake.tolerant, lake.labels = "bad_rows" in job, unit.labels(job) + text_column(job) + may_be_text(job.get("encode", []))
    lake.fills = fills(job.get("encode", []))
    lake.grouped = {name: {unit.label(text.encode()): text.encode() for text in job["groups"]["texts"]} for name in text_column(job)} | texts(job.get("encode", []))
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
        unplaced = f"the topic and the partitions of the rows: the data name them (columns {', '.join(places_told(lake))}), the certificate has no segments, and its sentences speak of no topic"
    encodings = seen_levels(job, columns, survey.values(survey.reference))
    follows(model, job, survey.scaling(model, encodings), survey.train, encodings)
    ok(f"roles and scaling: {len(survey.reference)} reference, {len(survey.holdout)} hold-out and {survey.train} train rows by "
       + {"": "", "first": "position, hold-out rows by ", "content": "features and "}[job["roles"].get("by", "")] + f"the key {job['roles']['key']!r}")
    looked_at = survey.values(survey.targets_from)
    constant = best_constant(model.loss, looked_at[-1])
    if found_mean := cert.get("mean"):
        need(2 * int((looked_at[-1] == looked_at[-2]).sum()) <= looked_at.shape[1], f"the column {found_mean['column']!r} of the mean equals the target in most rows looked at")
    need(constant == float(cert["baseline"]["constant"]),  # which JSON may write as an integer
          f"the constant of the baseline is {constant} on these rows, the certificate says {cert['baseline']['constant']}")
    found = stated_findings(cert, job)
    found.update({
        "ledger": {"rows": lake.rows, "reference": len(survey.reference), "holdout": len(survey.holdout), "train": survey.train, "copies": survey.dropped, "bad": survey.bad, **members(("outside", len(survey.outside)), ("units", survey.units))},
        "sample": {"digest": survey.digest, "targets": survey.targets, "shards": len(lake.groups), "rows": lake.rows, **segments(cert["sample"])},
        "constant": constant})
    if "groups" in job:
        check_values(job, columns, survey.values(survey.reference), found["group values"])
    before = is_before(document)
    need(job["copies"]["policy"] != "limited" or not float(survey.all_copies["rows"]) > job["copies"]["limit"] * (lake.rows - survey.bad), "more rows are copies than the job allows")
    found["copies"] = stated_copies({**(survey.all_copies if before else survey.copies), **{k: v for k, v in cert["copies"].items() if k == "as_they_come"}}, job, found["ledger"], before)
    seen = members(("findings", findings(filled_rows(encodings, columns, survey.values(np.sort(survey.start))), columns[:-1 - len(unit.labels(job))])))
    found["findings"] = None if before else seen.get("findings")
    found["baseline"], found["mean"], same, seen["dependence"] = check_losses(model, cert, survey, constant, jitter["holds"], found)
    compare(cert, document, derive(model, job, raw, cert, found, jitter))
    ok("derived again from model, rows and configuration, the certificate is the same to the last byte")
    check_ranges(cert, job, survey)
    check_default_features(model, job, lake, survey)
    if job["grid"]["prior"] == "peaked":
        check_peaks(model, job, survey)
    if by_rule(job):
        check_rule(model, job, survey, jitter["holds"])
    return same, unplaced, seen


def check_ranges(cert, job, survey):
    """The certificate notes which columns leave their ranges on these rows."""
    if any("range" in c for c in job.get("schema", {}).get("columns", [])):
        stated = {c["column"] for c in cert["declared"].get("changes", []) if c["change"] == "range" and c["column"] in survey.columns}
        need(survey.beyond == stated, f"the columns that leave their ranges are {sorted(survey.beyond)}, the certificate notes {sorted(stated)}")
        ok("values outside the ranges of the schema are in the columns that the certificate notes, and in no other")


def check_losses(model, cert, survey, constant, holds, found):
    """The stated sums of losses lie where this program's own proven bounds allow it.
    Returns the constant's sum, what the column of the mean is like, whether as many rows are unproven as stated, and
    how alike near rows are."""
    laws, losses, methods = Laws(model, holds), Losses(model), [m(cert) for m in applied(cert)]
    baseline, n, far, order, come = 0, 0, 0, Order(survey.lake.rows), AsTheyCome()
    columns, constants = survey.columns, unit.Sums()
    units_of = survey.units and unit.Hashes(survey.job, survey.lake.rows)
    digests = Digests(survey.lake, len(columns), targets=False)
    for shard, first, block in survey.lake.blocks(columns):
        digests.add(shard, first, block)
        train = survey.is_train(first, block.shape[1])
        lost, n = constant_loss(model.loss, block[-1, train], constant), n + int(train.sum())
        ids = units_of.of(block, first + np.arange(block.shape[1])) if units_of else None
        if units_of:
            constants.add(ids[train], unit.in_units(lost, False))
        else:
            baseline += units(lost, False)
        if found["mean"]:
            far += units(misfit(model, block[:, train]), True)
        order.add_targets(model.scale_target(block[:, survey.is_open(first, block.shape[1])]))
        order.add_places(first + np.flatnonzero(train))
        for role, rows in (("holdout", within(survey.holdout, first, block.shape[1]) - first), ("train", train), *[("beside", survey.beside(first, block.shape[1]))] * (survey.dropped > 0)):
            for i in range(0, block[0, rows].size, BLOCK):
                part = block[:, rows][:, i:i + BLOCK]
                y, law = model.scale_target(part), laws.at(model.scale_features(part[:len(model.features)].T))
                if role != "holdout" and survey.dropped:
                    come.add(losses, y, law)
                if role == "train":
                    order.add_losses(losses.of_means(y, law[0]))
                for m in methods:
                    m.ids = None if ids is None else ids[rows][i:i + BLOCK]
                    if m.role == role:
                        m.add(losses, y, law, part)
    digests.same(survey.digest)
    baseline += constants.means(0, False)
    need(n == survey.train, "the data have changed between two readings")
    alike = dependence(order.measured())
    if "measured" in cert["dependence"]:
        found["dependence"] = alike = order.check(cert["dependence"]["measured"])
    need(baseline == found["baseline"], f"the constant loses {baseline / n / UNIT:.12f} on the train rows, the certificate says {found['baseline'] / n / UNIT:.12f}")
    if "missed" in found:
        missed = constants.missed(0, unit.misses(found["ledger"]), UNIT)
        need(missed == found["missed"], f"the constant misses {missed} train units, the certificate says {found['missed']}")
    if "as_they_come" in found["copies"]:
        come.agrees(found["copies"]["as_they_come"])
    ok(f"the constant {constant:.6g} is the best of 512, and loses what is stated to the last unit")
    mean = found["mean"]
    if mean:
        near = survey.values(survey.reference)
        sums = {"reference": (near.shape[1], units(misfit(model, near), True)), "train": (n, far)}
        mean = {"column": mean["column"], **{role: {"count": count, "sum": f"{total:032x}"} for role, (count, total) in sums.items()}}
    return baseline, mean, all([m.agrees(found) for m in methods]), alike


def mean_statuses(cert):
    """What the guarantees about the mean of Q are worth."""
    return {g["status"] for g in cert["guarantees"] if g["predictor"] == "mean of Q"}


def unchecked(cert, noise, unplaced, before, again):
    """What is the maker's word though a guarantee or a predictive deviation rests on it, a line each. A model that was made again by its rule is not."""
    left = []
    if any(g["status"] == "conditional" and g["role"] == "holdout" for g in cert["guarantees"]):
        left += ["that training did not see the hold-out rows"] * (not again) + ["that which rows are hold-out rows was fixed before their values were known",
                 "that the job owes nothing to the values of the hold-out rows"]
    if "mean" in cert and any(g["status"] == "conditional" for g in cert["guarantees"]):
        left.append(f'that the column "{cert["mean"]["column"]}" is a function of the features that was fixed without the rows that certify')
    if cert["declared"].get("scaling"):
        left.append("that the declared scaling was not computed from the certified rows")
    if s := cert["delta"].get("sequence"):
        left.append("that the number in the sequence was taken before a bound was known, that no other certificate has it, that the sequence has this name, "
                    f"and that it has this job from number {s.get('amended', 1)} on")
    if cert["sample"].get("segments"):
        left.append("that the rows are of the topic and of the partitions that the sentences name")
    if before:
        left.append(f"that the sentences, the bounds from below and the correlation of targets that stand in the document, of the format {BEFORE}, are true: those sentences that are printed here were derived again")
    if noise and not again:
        left.append("the noise of the model: predictive deviations rest on it, and " + ("the curve does, for any noise that the hold-out rows did not choose" if is_wide(cert) else "no guarantee does"))
    return left + ([unplaced] if unplaced else [])


def split(cert):
    """Which rows are hold-out rows."""
    key = cert["roles"]["key"]
    follows = cert["delta"].get("sequence", {}).get("number", 1) > 1 and cert["sample"].get("segments")
    words = f'the default key "{key}"' if key == "pacsgp" else f'the key "{key}", ' + ("fixed with its sequence," if follows else "which its maker chose,")
    n = cert["ledger"]["rows"]
    found = cert["ledger"].get("units")
    if found:
        return f"Hold-out rows: {cert['ledger']['holdout']} of {n} {'row' if n == 1 else 'rows'}, in {found['holdout']} {unit.words(found, found['holdout'])}, by {words} and their units." + looked(cert["delta"].get("looks"))
    how = "the last ones in the order of the rows" if cert["roles"].get("last") else f"by {words} and " + ("their features" if cert["roles"].get("by_content") else "the order of the rows")
    return f"Hold-out rows: {cert['ledger']['holdout']} of {n} {'row' if n == 1 else 'rows'}, {how}." + looked(cert["delta"].get("looks"))


def looked(looks):
    """How often the hold-out rows were looked at, as the maker says."""
    if looks is None:
        return " First look at them by its maker's log of looks."
    if looks.get("uncounted"):
        return " Looks not counted."
    words = f" Look {len(looks['earlier']) + 1} at them by its maker's log of looks"
    words += "; an earlier one was trained on some of them, for which no price is known" if looks.get("swapped") else ""
    return words + ("; an earlier one showed a curve of them, which ends the looks" if looks.get("ended") else "") + "."


def verdict(cert, rows):
    """What was found, in a line."""
    statuses = mean_statuses(cert)
    if not rows:
        return "arithmetic consistent, evidence not rechecked: give the data to check everything"
    if "certified" not in statuses and "conditional" in statuses and cert["model"].get("by_rule"):
        return "by the maker's word: the certificate follows from the model and these rows, and the model from training again; that says nothing of who chose the hold-out rows"
    if "certified" not in statuses and "conditional" in statuses:
        return "by the maker's word: the certificate follows from the model and these rows, if the model was trained as it says"
    if "certified" not in statuses:
        return "nothing is certified about the mean of Q: so says the certificate, which follows from the model and these rows"
    if cert["sample"].get("segments"):
        return "verified, but for the topic that its sentences name: the certificate follows from the model and these rows"
    return "verified: the certificate follows from the model and these rows"


def verify(path, certificate, data, expected):
    """Checks a certificate. Returns what is to be said of it: the verdict, what speaks
    against believing it, and what is not checked."""
    model = Model(path)
    cert, document, found = read_certificate(certificate, expected)
    job, raw, jitter = check_files(model, cert, document)
    same, unplaced, seen = check_rows(model, cert, document, job, raw, jitter, sampled(data, certificate, found, cert["sample"])) if data else (True, "", {})
    before = is_before(document)
    if before:  # which counted no looks, and says little of its rows
        cert["delta"].setdefault("looks", {"uncounted": True})
        cert.update(seen)
    if not same:
        ok("this program could prove the losses of another number of rows than the maker's, which leaves the sums as they are stated")
    return {"status": 0 if data and "certified" in mean_statuses(cert) else 3, "verdict": verdict(cert, data), "id": found,
            "doubts": doubts(cert, before and not data), "not_checked": unchecked(cert, "noise" in model.meta, unplaced, before, bool(data) and by_rule(job)), "certificate": cert, "rows": bool(data)}


def headlines(guarantees):
    """The best guarantee about each predictor, those on a condition last and all of them, as the Go program shows them."""
    shown = []
    for predictor in dict.fromkeys(g["predictor"] for g in guarantees):
        shown.append(min((g for g in guarantees if g["predictor"] == predictor and at_the_tolerance(g)), key=lambda g: (g["status"] == "conditional", g["bound"])))
    return shown + [g for g in guarantees if g["status"] == "conditional" and g not in shown]


def declared(cert):
    """The maker's word, in the words of the Go program."""
    said, attempt, training = cert["declared"], cert["declared"]["attempt"], cert["declared"]["training"]
    counted = lambda n, thing: f"{n} {thing}{'' if n == 1 else 's'}"
    words = {"software": f'"{said["software"]}"', "attempt": f"{attempt['on_these_rows']} on these rows, {attempt['in_this_log']} in all, by its log of attempts",
             "trained on": f'"{training["machine"]}"'}
    if training.get("hurried_after"):
        words["time limit"] = "reached after " + counted(training["hurried_after"], "step")
    if "ancestor" in training:
        words["began with"] = "the model of certificate " + training["ancestor"]["certificate"]
    if "unit" in said:
        words["unit"] = f'"{said["unit"]}"'
    if said.get("scaling"):
        words["scaling"] = f"constants of {counted(len(said['scaling']), 'column')} were declared, not computed from rows"
    if "snapshot" in said:
        words["snapshot"] = f'"{said["snapshot"]}", of the list of files'
    # Those of ranges of its columns were held to the rows.
    if noted := [c for c in said.get("changes", []) if c["change"] != "range" or c["column"] not in cert["sample"]["columns"]]:
        words["schema"] = f"columns differ from it: {changed(noted)}"
    if s := cert["delta"].get("sequence"):
        words["sequence"] = f'number {s["number"]} of "{s["name"]}": delta_policy {s["policy"]}' + (", by which the bounds depend on the number" if s["policy"] == "sequence" else "")
    return words.items()


def show(report):
    """Prints the guarantees, what speaks against believing them, and apart from them the
    maker's word."""
    cert = report["certificate"]
    for words in report["not_checked"]:
        print("NOT CHECKED: " + words)
    print(f"{report['verdict']}\nid {report['id']}")
    for g in headlines(cert["guarantees"]):
        status = "claimed" if g["status"] in ("certified", "conditional") and not report["rows"] else g["status"]  # what was not held against rows
        print(f"{status.upper():12} {g['headline']}")
    for words in report["doubts"]:
        print(" " * 13 + words)
    if cert["ledger"]["holdout"]:
        print(split(cert))
    print("\nWhat its maker says, and model and rows do not show")
    for name, words in declared(cert):
        print(f"  {name:13} {words}")
