"""Checks a certificate against its model and its rows."""
from . import unit
from .bound import precise
from .certificate import model_warnings, check_facts, claim, headline, read_certificate, read_job
from .dependence import series
from .derive import compare, derive, follows
from .encode import fills, may_be_text, seen as seen_levels, stated as stated_levels
from .groups import seen as seen_groups, text_column
from .job import mean_column, members
from .lake import Lake
from .laws import BLOCK, Laws, check_jitter, features
from .losses import Losses, best_constant, constant_loss, half_width, units, whole
from .model import Model, fine_enough
from .predictor import Regression, check_predictor
from .refusal import need, ok
from .starts import check_default_features, check_peaks
from .first_pass import FirstPass

summed = lambda count, total: {"n": count, "sum": f"{total:032x}"}  # as a certificate states it


@precise()
def check_files(model, cert):
    """Checks what follows without the rows. Returns the job, the methods, and the verdict on the jitter."""
    need(cert["model"].get("digest") == model.digest, f"the certificate is about another model file than {model.digest}")
    ok(f"the model file is the one that the certificate names, {model.digest[:12]}…")
    job = read_job(cert)
    need(fine_enough(model.target, model.loss), f"float64 numbers around {model.target['centre']:.6g}, give or take {model.target['scale']:.3g}, are too coarse for the tolerance")
    check_facts(cert, job)
    scaling = [*model.meta["features"], {**model.meta["target"], **({"centre": 0.0} if mean_column(job) else {})}]
    follows(model, job, scaling, cert["counts"]["training"], stated_levels(job, model))
    need("tolerance" in job["loss"] or "half_width" not in cert["baseline"], "the constant has an interval, and the job a tolerance")
    ok("the model's description follows from the job: hyper-parameters, kernel, loss, row rules")
    need(cert["counts"]["holdout"] or model.meta["prediction"]["part"] == 0 and (model.weight == model.mean).all(), "the predictor is not the mean of Q, and no held-out rows test it")
    holds = bool(check_jitter(model))
    again, methods = derive(model, job, cert, holds)
    compare(cert, again)
    ok("every number and status of the certificate follows from what it rests on")
    return job, methods, holds


@precise()
def check_rows(model, cert, job, methods, holds, paths):
    """Checks what follows from the rows. Returns warnings."""
    data, columns, encoded = cert["dataset"], cert["dataset"]["columns"], job.get("encode", [])
    grouped = {name: {unit.label(text.encode()): text.encode() for text in job["groups"]["texts"]} for name in text_column(job)}
    lake = Lake(paths, model, "rejected" in job, unit.labels(job) + text_column(job) + may_be_text(encoded), fills(encoded), grouped, True)
    found, stated = (lake.rows, len(lake.groups)), (cert["counts"]["rows"], data["shards"])
    need(found == stated, f"the data have {found[0]} rows in {found[1]} shards, the certificate says {stated[0]} in {stated[1]}: give the files that its manifest names")
    first_pass = FirstPass(lake, columns, job)
    compare([data["digest"], data["targets"]], [first_pass.digest, first_pass.targets], "the digests of rows and targets")
    ok(f"the data are the dataset: {lake.rows} rows in {len(lake.groups)} shard{'s' * (len(lake.groups) != 1)}, digest {first_pass.digest[:12]}…")
    compare(cert["counts"], first_pass.counts, "counts")
    compare(cert["duplicates"], {**job["duplicates"], **first_pass.duplicates}, "duplicates")
    need("segments" not in data or [rows for _, _, rows in lake.groups] == [s["rows"] for s in data["segments"]], "the row groups have other numbers of rows than the segments that the certificate names")
    encodings = seen_levels(job, columns, first_pass.values(first_pass.reference))
    follows(model, job, first_pass.scaling(model, encodings), len(first_pass.train), encodings)
    ok(f"splits and scaling: {len(first_pass.reference)} prior, {len(first_pass.holdout)} held-out and {len(first_pass.train)} training rows by the key {job['split']['key']!r}")
    sampled = first_pass.values(first_pass.targets_from)
    if "mean" in cert:
        need(2 * int((sampled[-1] == sampled[-2]).sum()) <= sampled.shape[1], f"the column {cert['mean']['column']!r} of the mean equals the target in most of the rows checked")
    wide = half_width(sampled[-1]) if "tolerance" in job["loss"] else 0
    compare({k: v for k, v in cert["baseline"].items() if k not in ("origin", "sum")}, {"constant": best_constant(model.loss, sampled[-1]), **members(("half_width", wide))}, "the constant of the baseline")
    if "groups" in job:
        compare(cert["groups"], seen_groups(job, columns, first_pass.values(first_pass.reference)), "groups")
    check_losses(model, cert, first_pass, holds, methods)
    ok("derived again from model, rows and job, every number is the same")
    check_default_features(model, job, lake, first_pass)
    if job["grid"]["prior"] == "peaked":
        check_peaks(model, job, first_pass)
    return unlike(model, cert, first_pass, holds)


def check_losses(model, cert, first_pass, holds, methods):
    """The stated sums of losses lie where this program's own proven bounds allow it, and the other sums are those of the rows. Checks the predictor too."""
    losses, constant, targets = Losses(model), float(cert["baseline"]["constant"]), first_pass.values(first_pass.train)
    lost, n = units(constant_loss(model.loss, targets[-1], constant), False), unit.examples(cert["counts"], "training")
    lost = whole(lost) if first_pass.ids is None else unit.means(first_pass.ids[first_pass.train], lost, False)
    compare(cert["baseline"]["sum"], summed(n, lost), "the sum of the constant's losses")
    ok(f"the constant {constant:.6g} is the best of 512, and loses what is stated to the last unit")
    compare(cert["dependence"], series(model.scale_target(first_pass.values(first_pass.open))), "dependence")
    if "mean" in cert:
        off = lambda rows: (abs(rows[-1] - rows[-2]) / model.target["scale"]).clip(max=1)  # from the column of the mean, in deviations
        far = {subset: summed(rows.shape[1], whole(units(off(rows), True))) for subset, rows in (("prior", first_pass.values(first_pass.reference)), ("training", targets))}
        compare(cert["mean"], {"column": cert["mean"]["column"], **far}, "mean")
    regression = Regression(model, int(first_pass.fitted.sum()))
    for subset, ordinals in (("training", first_pass.train), ("holdout", first_pass.holdout)):
        mine = [m for m in methods if m.subset == subset]
        laws = {m.predictor: Laws(model, holds, m.predictor) for m in mine}
        for i in range(0, len(ordinals), BLOCK):
            rows = first_pass.values(ordinals[i:i + BLOCK])
            y, found = model.scale_target(rows), features(model, model.scale_features(rows[:len(model.features)].T))
            fitted = first_pass.fitted[ordinals[i:i + BLOCK]]  # of training rows alone
            regression.add(found[2][:, fitted], y[fitted])
            for m in mine:
                m.add(losses, y, laws[m.predictor].at(*found, model.centre_of(rows)), rows)
        for m in mine:
            m.agrees(None if first_pass.ids is None else first_pass.ids[ordinals])
    check_predictor(model, first_pass, regression)


def unlike(model, cert, first_pass, holds):
    """A warning, if the losses on prior rows are far from those on the rows that certify."""
    g, n = next((g for g in cert["claims"] if "risk" in g), None), len(first_pass.reference)
    if g is None or n == 0 or "units" in cert["counts"]:
        return []
    rows, losses = first_pass.values(first_pass.reference), Losses(model)
    y, law = model.scale_target(rows), Laws(model, holds, g["predictor"]).at(*features(model, model.scale_features(rows[:len(model.features)].T)), model.centre_of(rows))
    mean = float((losses.draws(y, *law[:4]) if g["predictor"] == "draw" else losses.points(y, law[0], law[2]))[0].mean())
    far = lambda apart, p: apart > 5 * (max(p * (1 - p), 1 / n) / n) ** 0.5
    return [f"the mean loss is {mean:.3g} on the {n} prior rows, and {g['risk']:.3g} on the rows that certify: rows of one source have about the same, so the source changes, or somebody chose the rows or their order, and the bounds may be too low"] * (far(mean - g["bound"], g["bound"]) or far(g["risk"] - mean, g["risk"]))


ASSUMED = {  # assumptions in words
    "independent-rows": "rows are independent draws of one source", "independent-units": "units are independent draws of one source",
    "split-fixed": "the split does not depend on the rows' values", "job-fixed": "the job was not tuned on these rows",
    "number-reserved": "the run's number was fixed before its bound was known", "holdout-unseen": "training did not use the held-out rows",
    "mean-fixed": "the column of mean was fitted without these rows", "duplicates": "repeated rows are copies, not independent draws", "log": "the rows are those of the topic at the stated offsets"}
CHECKS = {"retraining": "pacsgp verify --retrain", "replay": "pacsgp verify --source"}  # of the Go program


def verify(path, certificate, data, expected, strict):
    """Checks a certificate, and prints what was found. Returns the exit status, the verdict, and what is not checked though it could be."""
    model = Model(path)
    cert, found = read_certificate(certificate, expected)
    job, methods, holds = check_files(model, cert)
    seen = check_rows(model, cert, job, methods, holds, data) if data else []
    left = [f"{ASSUMED[a['id']]} (checked by {CHECKS[a['checked']]})" for a in cert["assumptions"] if a["checked"] in CHECKS] + ([] if data else ["prior, split, baseline and losses are taken as stated, for the rows were not read (give the data)"])
    for words in left:
        print("--   not checked: " + words)
    print("--   cannot be checked: " + "; ".join(ASSUMED[a["id"]] for a in cert["assumptions"] if a["checked"] == "none"))
    for words in model_warnings(cert) + seen:
        print("warning  " + words)
    verdict = "VERIFIED" if data else "CONSISTENT"
    print(f"{verdict}  {headline(cert)}\ncertificate {found}")
    return {"status": 3 if claim(cert) is None or strict and left else 0, "verdict": verdict, "id": found, "not_checked": left}
