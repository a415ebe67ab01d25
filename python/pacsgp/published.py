"""A published model: predictions for rows in memory, and the statements of its certificate."""
import contextlib
import io
import math
import os
import re
import tempfile
import warnings
from decimal import Decimal
from statistics import NormalDist

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from .certificate import claim, headline, model_warnings, new_rows, read_certificate, row_of
from .curve import covers, within
from .jsontext import canonical, parse
from .model import Model as ModelFile
from .predict import Predictor, rows_for
from .refusal import content, here, need, outside, plain
from .verify import check_files


class Model:
    """A model with its certificate: what is current in an output directory, or a model file and its certificate, JSON
    or row of Parquet. Opening it checks that the certificate is about this model, and that its numbers follow from each
    other and from the model. `python -m pacsgp verify` with the rows, or the Go program, checks whether they are true.

    certificate is the document as a dict, and id its SHA-256. claim is the one about predictions that is certified
    with the least bound, or None. features are the columns that a prediction needs, target the one it predicts.
    """

    def __init__(self, path, certificate=None):
        here(path, certificate or "")
        if certificate is None:
            path, certificate = current(path)
        model = ModelFile(path)
        self.certificate, self.id = read_certificate(certificate, None)
        with contextlib.redirect_stdout(io.StringIO()):
            check_files(model, self.certificate)
        self.features, self.target = list(model.inputs), model.target["name"]
        self._predictor = Predictor(model)
        self.claim = claim(self.certificate)
        self._unsaid = iter([f"of the training rows the certificate says: {words}" for words in model_warnings(self.certificate)])

    def __repr__(self):
        meta = self._predictor.model.meta
        bound = f"bound={self.claim['bound']:.4g}" if self.claim else "not certified"
        return plain(f"<pacsgp.Model target={self.target!r}, loss={meta['loss']}, {bound}, inducing={meta['inducing']}>")

    def predict(self, X, return_std=False):
        """Predictions [n] of the target for rows X: an array [n, features] in the order of
        features, an Arrow table or a data frame of pandas or polars with columns of these names, or a path of files. Text,
        times and missing values of a table are read as those of a file. The prediction is NaN for a row that
        breaks the row rules of the certificate, and for one so far away that it cannot be computed
        accurately. Warnings say how many, what else takes rows out of the certificate, and, once, what its own are.
        With return_std also standard deviations [n] of the target. No claim is about them."""
        step = max(1, (1 << 21) // sum(self._predictor.model.widths))  # an encoded feature may have hundreds of inputs
        parts = [self._predictor.of(block[:, i:i + step]) for block in self._blocks(X) for i in range(0, block.shape[1], step)]
        mean, deviation = (np.concatenate([np.empty(0), *(part[i] for part in parts)]) for i in range(2))
        said = ([headline(self.certificate)] if self.claim is None else []) + [*self._unsaid]
        for words in parts[0][2] if parts else ():
            rows = sum(int(part[2][words].sum()) for part in parts)
            said += [f"{rows} of {len(mean)} rows {words}"] if rows else []
        for words in said:
            warnings.warn(plain(words), stacklevel=outside())
        return (mean, deviation) if return_std else mean

    def interval(self, X, share=0.9):
        """The ends [n] of intervals that cover so large a share of new rows, as 0.9 or "90%", with the certificate's
        confidence: by its curve, or its one tolerance. Where it promises none they are by standard deviations, with a warning."""
        share, (mean, deviation) = share_of(share), self.predict(X, True)
        return tuple(mean + off for off in self._offsets(share, deviation))

    def plot(self, X, y, share=0.9, axes=None):
        """Draws predictions with their intervals against observed targets y, and returns the axes of matplotlib."""
        (mean, deviation), y = self.predict(X, True), np.asarray(y, dtype=float)
        low, high = (mean + off for off in self._offsets(share_of(share), deviation))
        if axes is None:
            from matplotlib import pyplot
            axes = pyplot.subplots()[1]
        axes.errorbar(y, mean, yerr=[mean - low, high - mean], fmt=".", alpha=0.4)
        axes.axline((y.mean(), y.mean()), slope=1, color="black")
        axes.set(xlabel=f"observed {self.target}", ylabel=f"predicted {self.target}", title=f"intervals that cover {100 * share_of(share):g} % of {new_rows(self.certificate)}")
        return axes

    def _offsets(self, share, deviation):
        """The distance of the ends of intervals from predictions."""
        loss = self.certificate["loss"]
        claims = [g for g in self.certificate["claims"] if g["predictor"] == "prediction" and g["status"] != "void"]
        found = [(-off, off) for g in claims if "curve" in g for off in [within(g["curve"], share)] if off < math.inf]
        if loss["kind"] in ("zero-one", "band"):
            found += [(-loss.get("above", loss.get("epsilon")), loss.get("below", loss.get("epsilon"))) for g in claims if covers(g["bound"], share)]
        about = f"{100 * share:g} % of {new_rows(self.certificate)}"
        if not found:
            remedy = "on more rows" if any("curve" in g for g in claims) else "with loss: {tolerance: any}"
            warnings.warn(f"the intervals are not certified, for no claim in units of the target covers {about}: ask for a smaller share, or train {remedy}", stacklevel=outside())
            return [NormalDist().inv_cdf(0.5 + side * share / 2) * deviation for side in (-1, 1)]
        if "units" in self.certificate["counts"]:
            warnings.warn(f"the intervals cover {about}, which may have few rows or many", stacklevel=outside())
        return min(found, key=lambda ends: ends[1] - ends[0])

    def _blocks(self, rows):
        """The rows as inputs of the model, [inputs, n] each."""
        if isinstance(rows, (str, os.PathLike)):
            return [block for _, block in rows_for(self._predictor.model, [os.fspath(rows)])]
        rows = named(rows, self.features)
        if not isinstance(rows, pa.Table):
            array = np.ma.filled(rows, np.nan)
            need(array.ndim == 2 and array.shape[1] == len(self.features), f"the rows have the shape {array.shape}, want [n, {len(self.features)}]: {self.features}")
            need(array.dtype.kind in "fiub", f"an array of {array.dtype} has no numbers: give a table or a data frame")
            block = array.T.astype(float)
            block[:, (np.abs(block) > 1 << 53).any(0) & (array.dtype.kind in "iu")] = np.nan
            return [block] if block.size else []
        missing = [name for name in self.features if rows.column_names.count(name) != 1]
        need(not missing, f"the rows lack the columns {missing}, or have them twice")
        if not rows.num_rows:
            return []
        with tempfile.TemporaryDirectory(prefix="pacsgp-") as folder:
            path = os.path.join(folder, "rows.parquet")
            pq.write_table(rows.select(self.features), path)
            return self._blocks(path)


def named(rows, features=None):
    """Rows whose columns have names as an Arrow table, others as they are. Periods of pandas in features, or anywhere, are refused: they are numbers of days, months or others."""
    need(not isinstance(rows, (list, tuple)) or not any(hasattr(row, name) for row in rows for name in ("iloc", "__arrow_c_stream__", "__arrow_c_array__")), "a list of series has lost the names of its columns: give a data frame")
    if hasattr(rows, "iloc") and hasattr(rows, "columns"):
        rows = pa.Table.from_pandas(rows, preserve_index=False)
    elif hasattr(rows, "__arrow_c_stream__") or hasattr(rows, "__arrow_c_array__"):
        rows = pa.table(rows)  # Parquet has no levels that are views, as those of polars are
        rows = rows.cast(pa.schema([f.with_type(pa.dictionary(f.type.index_type, pa.string())) if "<values=string_view" in str(f.type) else f for f in rows.schema]))
    periods = [f.name for f in (rows.schema if isinstance(rows, pa.Table) else ()) if (features is None or f.name in features) and b"pandas.period" in (getattr(f.type, "extension_name", "").encode(), (f.metadata or {}).get(b"ARROW:extension:name"))]
    return need(not periods, f"the columns {periods} are periods, and a model does not state whether it counts days or months: give times, as by to_timestamp, or numbers, or leave them out") or rows


def share_of(text):
    """A share of rows, from 0.9 or "90%"."""
    share = 0
    with contextlib.suppress(ArithmeticError):
        share = float(Decimal(str(text).strip("% ")).scaleb(-2 * str(text).endswith("%")))
    need(0 < share < 1, f"share: {text!r} is no share of new rows: write 0.9 or '90%'")
    return share


def current(folder):
    """The paths of the current model of an output directory and of its certificate."""
    path = os.path.join(folder, "current.json")
    need(os.path.isdir(folder), f"{folder} is no output directory: give one, or a model file and its certificate as in Model('model.parquet', 'certificate.json'); rows go to predict")
    need(os.path.exists(path), f"{folder}: there is no current.json, so that nothing in it is certified and current: name a model file and its certificate")
    try:
        pointer = parse(text := content(path, 1 << 20).decode())
        known = canonical(pointer, 2) + "\n" == text and re.fullmatch(r"format id certificate model predictor bound( status)? since pacsgp-current/1 "
            r"([0-9a-f]{64}) certificate-\2\.json model-[0-9a-f]{64}\.parquet (prediction|draw) [0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3])(:[0-5][0-9]){2}(\.[0-9]{0,8}[1-9])?Z", " ".join([*pointer, *[*pointer.values()][:5], pointer["since"]]))
    except (AttributeError, KeyError, ValueError, TypeError, RecursionError):  # damaged, or no text
        known = False
    need(known, f"{path} is no pointer")
    model, certificate = (os.path.join(folder, pointer[name]) for name in ("model", "certificate"))
    row, of = row_of(parse(content(certificate, 16 << 20)), "", ""), "draw_" * (pointer["predictor"] == "draw")
    need(pointer["bound"] == row[of + "bound"] and pointer.get("status") in (None, row[of + "status"]), f"{path} states another bound or status than its certificate")
    return model, certificate
