"""Split conformal intervals by MAPIE: of a model whose errors on hold-out rows are given, or of boosted trees.

A case has "shares", and "errors" or "names", "target", "rows" and "apart" (columns) and "held" (rows of the job that are held out). The
answer has the half-widths for the shares and, of trees, the shares of the rows kept apart that are within them.
"""
import numpy as np
from mapie.regression import SplitConformalRegressor
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import HistGradientBoostingRegressor

from serve import serve


class Zero(RegressorMixin, BaseEstimator):
    """A model that predicts 0: its errors are the targets."""

    def fit(self, x, y):
        self.fitted_ = True
        return self

    def predict(self, x):
        return np.zeros(len(x))


def conformal(model, x, y, shares):
    intervals = SplitConformalRegressor(model, confidence_level=shares, prefit=True).conformalize(x, y).predict_interval(x[:1])[1]
    return (intervals[0, 1] - intervals[0, 0]) / 2


def answer(case):
    if "errors" in case:
        errors = np.array(case["errors"])
        return {"halves": conformal(Zero().fit(None, None), np.zeros((len(errors), 1)), errors, case["shares"]).tolist()}
    at = case["names"].index(case["target"])
    (x, y), (apart, targets) = ((np.delete(c, at, 0).T, c[at]) for c in (np.array(case[name], float) for name in ("rows", "apart")))
    held = np.zeros(len(y), bool)
    held[case["held"]] = True
    trees = HistGradientBoostingRegressor(random_state=0).fit(x[~held], y[~held])
    halves = conformal(trees, x[held], y[held], case["shares"])
    off = np.abs(targets - trees.predict(apart))
    return {"halves": halves.tolist(), "covered": [float((off <= half).mean()) for half in halves]}


if __name__ == "__main__":
    serve(answer)
