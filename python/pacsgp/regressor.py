"""A regressor of scikit-learn that the Go program trains and certifies."""
import json
import os
import shutil
import subprocess
import tempfile
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from .published import Model, content, named, need


class NotCertified(UserWarning):
    """Training has ended, but nothing is certified about predictions."""


class PACSGPRegressor(RegressorMixin, BaseEstimator):
    """A sparse Gaussian process with a bound on how often it will be off by more than epsilon.
    epsilon is the tolerance in the units of the target, delta the probability that the bound fails. job has further keys of a job file (docs/reference/job.md), such as
    {"kernel": "matern-5/2"}; with a loss in it, as in {"loss": {"tolerance": "any"}}, leave epsilon out. output is a directory for model and certificate; without one they
    are kept in memory alone. binary is the program pacsgp; else it is that of the variable PACSGP_BINARY, or on PATH. After fit, model_ is the model (pacsgp.Model),
    certificate_ its certificate as a dict, claim_ what it certifies of predictions (None: nothing), and bound_ its bound on the share of new rows of the same source that
    they miss (1 without one). The rows are taken for independent draws.
    """

    def __init__(self, epsilon=None, delta=0.01, job=None, output=None, binary=None):
        self.epsilon, self.delta, self.job, self.output, self.binary = epsilon, delta, job, output, binary

    def fit(self, X, y):
        """Trains and certifies. X has numbers, or is a data frame whose other columns are in job["encode"]; of fill in job missing values are allowed."""
        exact(y)
        job = self.job or {}
        need(self.epsilon is not None or "loss" in job, "epsilon: say by how much a prediction may be off, as only you know which error matters; or job={'loss': {'tolerance': 'any'}}")
        X, y = self._read(X, y=y, y_numeric=True, ensure_min_samples=2)
        rows, y = self._table(X), column_or_1d(y)
        target = next(name for i in range(rows.num_columns + 1) if (name := "target" + "_" * i) not in rows.column_names)
        with tempfile.TemporaryDirectory(prefix="pacsgp-") as folder:
            path, out = os.path.join(folder, "rows.parquet"), os.path.abspath(self.output or os.path.join(folder, "out"))
            pq.write_table(rows.append_column(target, pa.array(y)), path)
            few = {"scaling": "none"} if len(y) < 100 and not self._raw() else {}  # of so few no tenth can be spared
            own = {"source": path, "target": target, **({} if self.epsilon is None else {"loss": {"epsilon": float(self.epsilon)}}), "delta": float(self.delta), "output": out}
            need(not own.keys() & job, f"job: leave out {sorted(own.keys() & job)}, which the regressor has from y and its arguments epsilon, delta and output")
            def result(path=os.path.join(out, "run.json")):
                return os.path.exists(path) and content(path, 16 << 20)
            before = result()
            found = self._train(os.path.join(folder, "job.yaml"), {**own, **few, **job})
            need((run := result()) != before, f"{out}: the program has written no new run.json")
            self.model_ = Model(*(os.path.join(out, json.loads(run)[name]) for name in ("model", "certificate")))
        self.certificate_, self.claim_ = self.model_.certificate, self.model_.claim
        self.bound_ = self.claim_["bound"] if self.claim_ else 1.0
        found = found if self.claim_ else ["nothing is certified about predictions", *found]
        if found:
            warnings.warn("\n".join(found), UserWarning if self.claim_ else NotCertified, stacklevel=2)
        return self

    def predict(self, X, return_std=False):
        """Predictions for rows, and with return_std standard deviations: those of Model.predict."""
        return Model.predict(*self._rows(X), return_std)

    def interval(self, X, share=0.9):
        """The ends of intervals that cover this share of new rows, as Model.interval returns them."""
        return Model.interval(*self._rows(X), share)

    def plot(self, X, y, share=0.9, axes=None):
        """Predictions with their intervals against observed targets: Model.plot."""
        return Model.plot(*self._rows(X), y, share, axes)

    def _rows(self, X):
        """The model, if there is one, and the rows as its inputs."""
        check_is_fitted(self)
        X = self._read(X, reset=False)
        return self.model_, self._table(X) if self._raw() else X[:, [self._names().index(name) for name in self.model_.features]]  # constant ones are none of the model

    def _read(self, X, **how):
        """What scikit-learn makes of the rows, which are a table if their columns have names: an array, unless the job reads more than numbers."""
        frame = hasattr(X, "iloc") and hasattr(X, "columns") and not self._raw()  # scikit-learn reads more columns of pandas than Arrow does
        X = X.set_axis([str(name) for name in X.columns], axis=1) if frame else named(X)
        names = [*X.columns] if frame else X.column_names if isinstance(X, pa.Table) else []
        need(len({*names}) == len(names), f"columns have one name: {sorted(name for name in {*names} if names.count(name) > 1)}")
        timed = lambda array: array.dtype.kind in "mM" or array.dtype == object and any(isinstance(v, np.timedelta64) for v in array.flat)
        times = [name for name, v in zip(names or ["an array"], [X[name] for name in names] or [X]) if timed(exact(v))]
        need(not times or names and self._raw(), f"{times}: the unit of times and durations would be lost: give numbers, or times in a data frame with fill or encode in job")
        return validate_data(self, X, **how, **({"skip_check_array": True} if self._raw() else {"dtype": np.float64}))

    def _names(self):
        return [str(name) for name in getattr(self, "feature_names_in_", [f"x{i}" for i in range(self.n_features_in_)])]

    def _raw(self):
        """Whether the job encodes columns that are not numeric, or fills missing values."""
        return any((self.job or {}).get(key) for key in ("encode", "fill"))

    def _table(self, X):
        return X if isinstance(X, pa.Table) else pa.table({name: pa.array(v, from_pandas=True) for name, v in zip(self._names(), np.asarray(X, np.float64).T)})

    def _train(self, path, job):
        """Trains, and returns the warnings of the run."""
        binary = self.binary or os.environ.get("PACSGP_BINARY") or shutil.which("pacsgp")
        if not binary:
            raise FileNotFoundError("the program pacsgp is not found: name it by binary=, by the variable PACSGP_BINARY, or put it on PATH (it is built by `go build ./cmd/pacsgp`)")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(job, f, ensure_ascii=False)  # which is YAML
        run = subprocess.run([binary, "train", path], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
        if run.returncode not in (0, 3):  # 3: not certified
            raise ValueError("pacsgp train: " + "\n".join(said(run.stderr, "ERROR")))
        return said(run.stderr, "WARN")


def exact(values):
    need(not np.ma.is_masked(values), "masked values are missing ones: write NaN for them")
    array = np.asarray(values)
    if array.dtype.kind in "iu" and array.size and (array.max() > 1 << 53 or array.min() < -(1 << 53)):
        raise ValueError("integers beyond 2^53 are no float64: give quantities as float, and leave identifiers out")
    return array


def said(log, level):
    """The messages of a level in a log of JSON lines, and the lines that are not JSON."""
    lines = [json.loads(line) if line.startswith("{") else {"level": level, "msg": line} for line in log.splitlines()]
    return [line["msg"] + (f" (hint: {line['hint']})" if "hint" in line else "") for line in lines if line["level"] == level]
