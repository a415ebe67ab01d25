"""What rows show that independent draws of one source hardly do (format.md, 7)."""
import numpy as np

LEAST_ORDERED = 20


def findings(rows, features):
    """Near copies and ordered features among rows [columns, n], the target last, in the
    order of their ordinals. None: nothing."""
    n, exact, rounded = rows.shape[1], rows + 0.0, []  # no -0
    steps = [np.sign(np.diff(column)) for column in exact[:-1]]
    inorder = [bool(min((s > 0).sum(), (s < 0).sum()) == 0 and np.abs(s).sum() + 1 >= LEAST_ORDERED) for s in steps]
    exact = exact[~np.array([*inorder, False])]  # a counter keeps copies apart
    for column in exact:
        ordered = np.sort(column)
        grid = (ordered[9 * (n - 1) // 10] - ordered[(n - 1) // 10]) * 2.0 ** -20
        with np.errstate(all="ignore"):
            rounded.append(np.floor(column / grid) + 0.0 if grid > 0 else column)
    different = lambda columns: len(np.unique(np.ascontiguousarray(np.transpose(columns)), axis=0))
    near = different(exact) - different(rounded)
    found = {"rows": n, **({"near_copies": near} if near >= max(3, n // 100) else {})}
    ordered = [name for name, follows in zip(features, inorder) if follows]
    return {**found, **({"ordered": ordered} if ordered else {})} if ordered or "near_copies" in found else None
