"""Groups of rows (formats.md, 6.9)."""
import numpy as np

from .refusal import need
from .unit import label

MOST, LEAST = 20, 30      # values with a group of their own; rows of a group that says something
FREQUENT = 50             # a value gets a group if one in so many prior rows has it
right_values = lambda values: 1 <= len(values) <= MOST and all(a < b for a, b in zip(values, values[1:]))  # so many, in their order
text_column = lambda job: group_column(job) if "texts" in job.get("groups", {}) else []  # of groups by texts


def group_column(job):
    """A list with the column of the groups, empty if that is a feature."""
    column = job.get("groups", {}).get("column")
    return [column] if column is not None and ("texts" in job["groups"] or "features" in job and column not in job["features"] or column in job.get("exclude", [])) else []


def grouping(job, frequent, prior):
    """What the certificate says of the groups by the values of the job, or by these, with so many prior rows each."""
    of = job["groups"]
    values = of.get("values", frequent)
    need(right_values(values) and ("values" in of or not prior or all(FREQUENT * n >= sum(prior) for n in prior[:-1])), f"groups by the values {values}, with {prior} prior rows")
    return {"column": of["column"], **({"not_a_feature": True} if group_column(job) else {}), "values": values, **({"texts": of["texts"]} if "texts" in of else {}), **({"prior": prior} if prior else {})}


def group_of(values, column):
    """The positions of the groups of rows; the last one is that of all other values."""
    at = np.searchsorted(values, column)
    return np.where(np.append(values, np.nan)[at] == column, at, len(values))


def right_texts(job):
    """Whether the texts of a job's groups, if there are any, have its values as labels, and no feature has them."""
    of = job["groups"]
    return "texts" not in of or of.get("values") == [label(text.encode()) for text in of["texts"]] and of["column"] not in job.get("features", [])


def frequent(column, one_in, least, most):
    """The most frequent values, ascending, that at least one row in so many has, and so many rows; of equally frequent ones the lower."""
    found, times = np.unique(column + 0.0, return_counts=True)
    often = (one_in * times >= len(column)) & (times >= least)
    found, times = found[often], times[often]
    return sorted(found[np.lexsort((found, -times))][:most].tolist())


def seen(job, columns, rows):
    """The groups by frequent values of the prior rows, if the job lists no values."""
    column = rows[columns.index(job["groups"]["column"])]
    values = job["groups"].get("values") or frequent(column, FREQUENT, 1, MOST)
    return grouping(job, values, np.bincount(group_of(values, column), minlength=len(values) + 1).tolist() if len(column) else None)
