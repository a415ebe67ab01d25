"""What a certificate says of rows that equal an earlier one (format.md, 4.7)."""
import numpy as np

from .bound import mean_of
from .job import members
from .losses import UNIT, units
from .refusal import need

AGREEMENT = 1e-7   # of losses of means that were computed in two ways


def left_out(copies):
    """Whether guarantees are about distinct rows."""
    return copies["policy"] == "drop" and copies["rows"] > 0


def stated_copies(copies, job, ledger):
    """The counts of copies with the policy of the job: among reference and train rows, but among
    all where copies are left out."""
    policy, rows = job["copies"], ledger["rows"] - ledger["bad"]
    need(policy["policy"] != "limited" or not float(copies["rows"]) > policy["limit"] * rows, f"{copies['rows']} of {rows} rows are copies, and the job allows {policy['limit']}")
    rows -= 0 if policy["policy"] == "drop" else ledger["holdout"] + ledger.get("outside", 0)
    need(copies["distinct"] >= 1 and copies["distinct"] + copies["rows"] == rows and copies["rows"] <= copies["features"] < rows, "the copies do not add up")
    return {**policy, **{k: copies[k] for k in ("distinct", "rows", "features")}, **members(("as_they_come", stated_losses({**copies, **policy}, ledger)))}


def stated_losses(copies, ledger):
    """The losses of the mean of Q on rows as they come; None unless copies are left out."""
    need(("as_they_come" in copies) == left_out(copies), "the losses on rows as they come do not go with the copies")
    if not left_out(copies):
        return None
    n, total, least = copies["as_they_come"]["exact"]["count"], int(copies["as_they_come"]["exact"]["sum"], 16), ledger["reference"] + ledger["train"]
    apart = ledger["holdout"] + ledger.get("outside", 0)
    need(least <= n <= least + copies["rows"] and (apart or n == least + copies["rows"]) and total <= n * UNIT, f"there are no {n} reference and train rows as they come, or they lose more than 1 each")
    return {"exact": {"count": n, "sum": f"{total:032x}"}, "upper": mean_of(total, n, True)}


class AsTheyCome:
    """The losses of computed means on reference and train rows and their copies."""

    def __init__(self):
        self.count = self.total = self.room = 0

    def add(self, losses, y, law):
        mean, off = law[0], law[2] + 2.0 ** -40 * (np.abs(law[0]) + np.abs(y))
        lost = losses.of_means(y, mean)
        unsure = np.where(off <= losses.tau, np.abs(losses.of_means(y, mean + off) - losses.of_means(y, mean - off)), 1.0)
        self.count, self.total, self.room = self.count + len(y), self.total + units(lost, True), self.room + units(np.minimum(1, unsure + AGREEMENT), True)

    def agrees(self, stated):
        n, total = stated["exact"]["count"], int(stated["exact"]["sum"], 16)
        need(n == self.count, f"{self.count} rows are reference and train rows as they come, the certificate says {n}")
        need(abs(total - self.total) <= self.room, f"the mean of Q loses {self.total / n / UNIT:.9f} on rows as they come, the certificate says {total / n / UNIT:.9f}")
