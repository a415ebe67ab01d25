"""What somebody who acts on a certificate must know beside its headlines."""
from fractions import Fraction

from . import dependence, unit
from .bound import mean_of
from .copies import doubts_of_copies
from .jsontext import BEFORE, plain
from .sentences import decimals, outward, paid_for, percent_up

FREQUENT = 0.05    # of the rows, with the same features and so one role


def fitted(cert):
    """Whether a column that was fitted on outside rows alone fits train rows far better than reference rows."""
    mean = cert.get("mean")
    if not mean or not cert["ledger"].get("outside") or mean["reference"]["count"] < 50:
        return False
    near, far = (mean_of(int(mean[role]["sum"], 16), mean[role]["count"], True) for role in ("train", "reference"))
    return near < 0.75 * far


CHANGES = {"type": "another type", "gone": "missing in a file", "new": "not in it", "range": "values outside the range"}


def changed(all):
    """The noted differences from the schema, in a list."""
    return ", ".join(f'"{c["column"]}" ({CHANGES[c["change"]]})' for c in all)


def doubts(cert, unseen=False):
    """One text each, as the Go program has them. unseen: of the format before, without its rows."""
    said, rows, copies = [], cert["sample"]["rows"], cert["copies"]
    looked, bad = copies["rows"] + copies["distinct"], cert["ledger"]["bad"]
    others = cert["declared"]["attempt"]["on_these_rows"] - 1
    if others > 0:
        said.append(f"{others} other {'job was' if others == 1 else 'jobs were'} tried on these rows before this one, says its maker. "
                    "If this job was changed after results were seen, its confidence is not what it says.")
    amended = cert.get("delta", {}).get("sequence", {}).get("amended")
    if amended:
        paid = paid_for(cert)
        said.append(f"The job of its sequence was changed with number {amended}.{' Looks at hold-out rows are paid for.' if paid else ''} That the change owes nothing{' else' if paid else ''} to rows of earlier numbers is its maker's word.")
    if cert["declared"].get("scaling"):
        said.append("The scaling was declared. That it was not computed from the certified rows is its maker's word; if it was, the bounds may be too low.")
    if cert["declared"].get("changes"):
        said.append(f"Its maker notes columns that are not as the schema of the job has them: {changed(cert['declared']['changes'])}. Model and bounds are of the rows as they are.")
    said += doubts_of_copies(cert, percent_up, lambda x: outward(x, True))
    if bad > 0:
        said.append(f"{bad} of {rows} rows ({decimals(Fraction(100 * bad / rows), 2, up=True)} %) break a row rule and were left out. Nothing is promised about such rows; "
                    "where what breaks them has to do with how hard they are to predict, or the target is what breaks, the promise is worth less.")
    if cert.get("roles", {}).get("by_content"):
        held = f", or with the hold-out role, as {cert['ledger']['holdout']}" if cert["ledger"]["holdout"] else ""
        said.append(f"Roles follow from features: a bound is about fresh rows with the train role, as {cert['ledger']['train']} of {rows} row{'' if rows == 1 else 's'} here{held}, and says nothing of the others.")
        if copies["frequent"] > FREQUENT * (rows - bad):
            said.append(f"{copies['frequent']} of {looked} reference and train rows have the same features, and so one role: a bound may be mostly about them, and says less of other rows than it seems.")
        if cert["ledger"]["holdout"] > (cert["roles"].get("holdout", 0) + 2 * FREQUENT) * (rows - bad):
            said.append(f"{cert['ledger']['holdout']} of {rows} row{'' if rows == 1 else 's'} have the hold-out role in place of a share of {plain(cert['roles'].get('holdout', 0))}: few features repeat very often among them. "
                        "The hold-out bound is mostly about these, and says less of other rows than it seems.")
    if unseen:
        said.append(f"The document is of the format {BEFORE}, which does not say whether its rows are near copies, follow a counter, or depend on each other: that is seen where it is verified with the rows.")
    found = cert.get("findings", {})
    if "near_copies" in found:
        said.append(f"{found['near_copies']} of {found['rows']} rows looked at equal another row but for the last digits. If they are copies, the bounds are too low.")
    names = lambda key: ", ".join(f'"{name}"' for name in found[key])
    if "ordered" in found:
        said.append(f"{names('ordered')} follows the order of the rows. Unless they were sorted by it, it is a counter or a clock: fresh rows have other values, and the bounds say nothing of them.")
    if "grids" in found:
        said.append(f"{names('grids')} has each value of an even grid at most once, as no independent draws do: it is a counter or a clock, in whatever order the rows are. "
                    "Fresh rows have other values, and the bounds say nothing of them.")
    if fitted(cert):
        near, far = (mean_of(int(cert["mean"][role]["sum"], 16), cert["mean"][role]["count"], True) for role in ("train", "reference"))
        said.append(f'The column "{cert["mean"]["column"]}" is {100 * (1 - near / far):.0f} % nearer to the target on train rows than on reference rows. '
                    "It looks as if it had been fitted on train rows; then the bounds from them are too low.")
    units = "units" in cert["ledger"]
    if not units or unit.small(cert["ledger"]):  # rows of one unit may depend on each other
        said += dependence.doubts(cert["dependence"])
    if units:
        said += unit.doubts(cert["ledger"])
    return said
