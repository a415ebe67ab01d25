"""The job that a certificate states, and what follows from it."""
import math

from . import unit
from .encode import fits as fits_encodings
from .groups import right_texts, right_values
from .losses import KINDS, MOST_SHARE
from .methods import METHODS
from .refusal import need

affine = lambda a: {"name": a["name"], "centre": float(a["centre"]), "scale": float(a["scale"]), **members(("values", a.get("values")))}


def members(*pairs):
    """An object with its members in this order, without those that are zero or empty."""
    return {name: value for name, value in pairs if value}


def mean_column(job):
    """The column that is the mean function of the prior, or None."""
    return job.get("mean", {}).get("column")


def for_rows(job, n):
    """The job with the step (formats.md, 6.2) and the methods (6.6) that it has on n rows, where it names none."""
    job = {**job}
    if not job["grid"]["step"]:
        job["grid"] = {**job["grid"], "step": 0.25 if n < 30_000 or "unit" in job else 0.05}
    job.setdefault("guarantees", ["pac-bayes"] if "unit" not in job and n < 300 else ["pac-bayes", "holdout"])
    if any(METHODS[m].subset == "holdout" for m in job["guarantees"]) and "holdout" not in job["split"]:
        job["split"] = {**job["split"], "holdout": 0.2 if "unit" in job else 0.1 if n >= 5000 else 0.2 if n >= 1000 else 0.3}
    return job


def check_job(job):
    """Refuses a job that no run would have accepted."""
    loss, grid, mode = job["loss"], job["grid"], job["scaling"]
    methods, held = job.get("guarantees", ["pac-bayes"]), job["split"].get("holdout", 0)
    column, outside = mean_column(job), job["split"].get("outside", 0)
    tolerances = loss.keys() & {"epsilon", "epsilon_std", "below", "above"}
    wanted, share = KINDS[loss["kind"]].tolerances, loss["kind"] == "relative-zero-one"
    right = tolerances == wanted and not (share and loss["epsilon"] > MOST_SHARE) or wanted == {"epsilon"} and tolerances == {"epsilon_std"} and not share and mode == "prior"
    train, method, last_or_any = job["train"], job["train"].get("method"), any(METHODS[m].subset == "holdout" for m in methods)
    batches = train["mode"] == "mini-batch" and method in (None, "kl-PAC-SGP", "sqrt-PAC-SGP")
    for what, right in (
            ("the loss takes other tolerances", right and sum(loss[name] for name in tolerances) < math.inf),
            ("the families of kernels are no list without repetition", 1 <= len(job["kernel"]["family"]) == len({*job["kernel"]["family"]})),
            ("delta is not at most 0.5", 0 < job["delta"] <= 0.5),
            ("the target is a feature", job["target"] not in job.get("features", [])),
            ("features and exclude are both declared", not ("features" in job and "exclude" in job)),
            ("the grid is none", -300 <= grid["min"] < grid["max"] <= 300 and all(0 < s <= grid["max"] - grid["min"] and (grid["max"] - grid["min"]) / s <= 1e5 for s in ([grid["step"]] if grid["step"] else [0.25, 0.05]))),
            ("the width of the peaks is out of range", grid["width"] == 0 if grid["prior"] == "flat" else 0 < grid["width"] <= 100),
            ("a peaked prior needs prior rows for its centre", grid["prior"] == "flat" or mode == "prior"),
            ("a number of inducing points is out of range", all(1 <= m <= 4000 for m in job.get("inducing", []))),
            ("the last rows are so many", "last" not in job["split"] or held > 0),
            ("a curve takes the zero-one loss, and every tolerance at once a curve", loss["kind"] == "zero-one" if "curve" in methods else "tolerance" not in loss),
            ("groups do not go with the other settings, or their values are out of order", fits_groups(job, methods)),
            ("encodings are of no features, or out of order, or do not go with the other settings", fits_encodings(job)),
            ("the methods are none", "pac-bayes" in methods and len({*methods}) == len(methods) and (last_or_any or "pac-bayes-mean" not in methods)),
            ("a share of held-out rows belongs to the method holdout", (0 < held <= 0.9 or "holdout" not in job["split"]) if last_or_any else held == 0),
            ("a share of outside rows belongs to a column of the mean", (outside == 0 or 0.05 <= outside <= 0.6) and outside + held <= 0.9 and (column is not None and job["duplicates"]["policy"] != "drop" or outside == 0)),
            ("the column of the mean is the target or a feature", column is None or column not in (job["target"], *job.get("features", []))),
            ("the settings do not go with a column of the mean", column is None or not KINDS[loss["kind"]].relative),
            ("a column of the mean that training rows may have made needs held-out rows", column is None or outside > 0 or last_or_any),
            ("the settings do not go with units", unit.check(job)),
            ("the settings of a method do not fit it", ("buffer" in train) == (batches or method is None) and (method is None or not {"objective", "warm_start"} & train.keys() and (batches or "batch" not in train and train["mode"] == "full-pass") and not (method in EXACT and "inducing" in job))),
            ("a limit of duplicates belongs to the policy limit", job["duplicates"]["policy"] == "limit" or job["duplicates"]["limit"] == 0)):
        need(right, "configuration: " + what)


def fits_groups(job, methods):
    """Whether the settings allow groups, if there are any."""
    if "groups" not in job:
        return "groups" not in methods
    of = job["groups"]
    return ("groups" in methods and "unit" not in job and ("holdout" in methods or "curve" in methods) and KINDS[job["loss"]["kind"]].counts and of["column"] != job["target"] and mean_column(job) is None
            and right_texts(job) and (right_values(of["values"]) if "values" in of else job["scaling"] == "prior"))


EXACT = {"kl-PAC-GP", "sqrt-PAC-GP", "full-GP"}  # methods with all rows for inducing points


def reference_count(n, job):
    """How many of n rows are prior rows."""
    return min(20000, max(n // 20, min(200, n // 10))) if job["scaling"] == "prior" else 0


def inducing_most(job, n, d):
    """The largest number of inducing points that the job allows for n training rows and d inputs (formats.md, 2)."""
    method = job["train"].get("method")
    return 4000 if method in EXACT else max(job["inducing"]) if "inducing" in job else 500 if method else math.floor(min(n, 2000, 9 * math.sqrt(n), 300 * d) + 0.5)
