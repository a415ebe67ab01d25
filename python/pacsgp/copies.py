"""What a certificate says of rows that equal an earlier one (format.md, 4.7)."""
import numpy as np

from .bound import guarantee, mean_of
from .job import by, members
from .losses import KINDS, UNIT, units
from .refusal import need, ok

AGREEMENT = 1e-7   # of losses of means that were computed in two ways
FEW_COPIES = 0.01  # of the rows, without a word


def left_out(copies):
    """Whether guarantees are about distinct rows."""
    return copies["policy"] == "drop" and copies["rows"] > 0


def stated_copies(copies, job, ledger, before):
    """The counts of copies with the policy of the job: among reference and train rows, but among
    all where copies are left out, and in the format before."""
    policy, rows = job["copies"], ledger["rows"] - ledger["bad"]
    need(policy["policy"] != "limited" or not float(copies["rows"]) > policy["limit"] * rows, f"{copies['rows']} of {rows} rows are copies, and the job allows {policy['limit']}")
    rows -= 0 if before or policy["policy"] == "drop" else ledger["holdout"] + ledger.get("outside", 0)
    need(copies["distinct"] >= 1 and copies["distinct"] + copies["rows"] == rows and copies["rows"] <= copies["features"] < rows, "the copies do not add up")
    most = copies.get("frequent", 0) if by(job) == "content" else 0
    need((most > 0) == (by(job) == "content") and most <= copies["features"] + 1, f"{most} rows of the same features do not go with the others")
    return {**policy, **{k: copies[k] for k in ("distinct", "rows", "features")}, **members(("frequent", most), ("as_they_come", not before and stated_losses({**copies, **policy}, ledger)))}


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
        ok(f"the mean of Q loses {self.total / n / UNIT:.6f} on {n} rows as they come; what is stated is off by {(total - self.total) / n / UNIT:+.1e}")


def missed(cert, percent, most):
    """What the mean of Q loses on rows as they come. percent and most write numbers."""
    found, kind = cert["copies"]["as_they_come"], KINDS[guarantee(cert, "pb-full")["loss"]["kind"]]
    lost = f"misses {percent(found['upper'])} of" if kind.counts else f"loses at most {most(found['upper'])} on average over"
    return f"the mean of Q {lost} the {found['exact']['count']} reference and train rows as they come, with their copies, which bounds nothing"


def shared(copies):
    return f"{copies['rows']} of {copies['rows'] + copies['distinct']} rows equal an earlier row"


def doubts_of_copies(cert, percent, most):
    """What a reader of bounds should know about copies."""
    copies, n = cert["copies"], cert["copies"]["rows"]
    if n == 0 or copies["policy"] == "limited" and not n > FEW_COPIES * (n + copies["distinct"]):
        return []
    if copies["policy"] != "drop":
        return [shared(copies) + ". That they are separate draws is its maker's word; if they are copies, the bounds are too low."]
    seen = f"As for rows as they come, {missed(cert, percent, most)}." if "as_they_come" in copies else "Where hard rows repeat more often than others, more rows are missed as they come."
    return [f"{shared(copies)} and were left out: the bounds are about distinct rows. {seen} That they are copies is its maker's word; if they are separate draws, the bounds may be too low."]
