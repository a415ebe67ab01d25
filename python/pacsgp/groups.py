"""Groups of rows (format.md, 6.9)."""
import numpy as np

from .refusal import need

MOST, LEAST = 20, 30      # values with a group of their own; rows of a group that says something
FREQUENT = 50             # a value gets a group if one in so many reference rows has it


def beside(job):
    """The column of the groups if it is no feature, in a list."""
    column = job.get("groups", {}).get("column")
    return [column] if column is not None and ("features" in job and column not in job["features"] or column in job.get("exclude", [])) else []


def grouping(job, values):
    """What the certificate says of the groups by these values."""
    return {"column": job["groups"]["column"], **({"beside": True} if beside(job) else {}), "values": values}


def right_values(values):
    """Whether so many values are in their order."""
    return 1 <= len(values) <= MOST and all(a < b for a, b in zip(values, values[1:]))


def check_values(job, columns, rows, stated):
    """The values with a group of their own are those of the job, or the frequent ones of the reference rows."""
    values = job["groups"].get("values")
    if values is None:
        found, times = np.unique(rows[columns.index(job["groups"]["column"])] + 0.0, return_counts=True)
        frequent = FREQUENT * times >= rows.shape[1]
        found, times = found[frequent], times[frequent]
        values = sorted(found[np.lexsort((found, -times))][:MOST].tolist())
    need(stated == values, f"the reference rows, or the job, give groups by the values {values}, the certificate has {stated}")


def name(groups, i, plain):
    """The fresh rows of a group in words."""
    return "on all other rows" if i == len(groups["values"]) else "where it is " + plain(groups["values"][i])
