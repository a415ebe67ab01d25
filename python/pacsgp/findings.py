"""What rows show that independent draws of one source hardly do (format.md, 7)."""
import numpy as np

LEAST_ORDERED, LEAST_REPEATS = 20, 30


def in_order(column):
    """Whether it never falls or never rises, over enough values."""
    steps = np.sign(np.diff(column))
    return min((steps > 0).sum(), (steps < 0).sum()) == 0 and np.abs(steps).sum() + 1 >= LEAST_ORDERED


def even_grid(column):
    """Whether all values are multiples of one step, and hardly any comes twice."""
    unique, k = np.unique(column), float(len(column))
    with np.errstate(all="ignore"):
        gaps = np.diff(unique)
        step = gaps.min() if len(gaps) else np.inf
        values = np.floor((unique[-1] - unique[0]) / step + 0.5) + 1
        pairs, steps = k * (k - 1) / (2 * values), gaps / step
        return bool(pairs >= LEAST_REPEATS and k - len(unique) <= min(pairs / 4, k / 20) and (np.abs(steps - np.floor(steps + 0.5)) <= 0.01).all())


def findings(rows, inputs):
    """Near copies, ordered inputs and even grids among rows [columns, n], the target last, in
    the order of their ordinals. None: nothing."""
    n, exact, rounded = rows.shape[1], rows + 0.0, []  # no -0
    ordered = [name for name, column in zip(inputs, exact) if in_order(column)]
    grids = [name for name, column in zip(inputs, exact) if name not in ordered and even_grid(column)]
    exact = exact[[not (name in ordered or name in grids) for name in inputs] + [True] * (len(rows) - len(inputs))]  # a counter keeps copies apart
    for column in exact:
        up = np.sort(column)
        grid = (up[9 * (n - 1) // 10] - up[(n - 1) // 10]) * 2.0 ** -20
        with np.errstate(all="ignore"):
            rounded.append(np.floor(column / grid) + 0.0 if grid > 0 else column)
    different = lambda columns: len(np.unique(np.ascontiguousarray(np.transpose(columns)), axis=0))
    near = different(exact) - different(rounded)
    found = {"near_copies": near if near >= max(3, n // 100) else 0, "ordered": ordered, "grids": grids}
    return {"rows": n, **{k: v for k, v in found.items() if v}} if any(found.values()) else None
