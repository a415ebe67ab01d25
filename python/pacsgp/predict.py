"""Predictions from a model file (formats.md, 3)."""
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from .encode import LARGEST, fills, may_be_text
from .lake import Lake
from .laws import BLOCK, Laws, check_jitter, features
from .refusal import need, ok

FAR = "the prediction cannot be computed with the accuracy that the certificate asks for: the row lies too far from all rows that the model knows"


class Predictor:
    """Predictions of a model, where the mean is proven to be within tau of the exact one (formats.md, 3)."""

    def __init__(self, model):
        self.model, self.laws = model, Laws(model, check_jitter(model))
        filled = fills(model.encode.values())
        self.strict = [name not in filled for name in model.inputs]

    def of(self, block):
        """For rows [inputs, n]: means, deviations and predictive ones, NaN where there is none;
        and which rows are bad."""
        model, scale = self.model, self.model.target["scale"]
        bad = ~(np.abs(block[self.strict]) <= LARGEST).all(0)
        x = model.scale_features(np.where(bad, model.centre[:, None], block[:len(model.features)]).T)
        parts = [self.laws.at(*features(model, x[i:i + BLOCK])) for i in range(0, len(x), BLOCK)]
        mean, variance, mean_error = (np.concatenate(part) for part in zip(*parts))
        centre = model.centre_of(block)
        mean = mean * scale + centre
        rounding = 2.0 ** -51 * (np.abs(mean) + np.abs(centre))
        none = bad | ~(mean_error * scale + rounding <= model.tau())
        variance, of = np.maximum(variance, 0), model.meta["prediction"]
        return *(np.where(none, np.nan, v) for v in (mean, np.sqrt(variance) * scale, np.sqrt(variance + of["factor"] * of["noise"]) * scale)), bad


def rows_for(model, paths):
    """The rows of files as a model takes them, in blocks."""
    lake = Lake(paths)
    lake.tolerant, lake.model = True, model
    lake.fills = fills(model.encode.values())
    lake.labels = may_be_text(model.encode.values())
    need("mean" not in model.meta or all(model.meta["mean"] in [c.name for c in table.columns] or model.meta["mean"] in keys for table, keys in zip(lake.tables, lake.keys)),
         f"the model corrects the column {model.meta.get('mean')!r}, predictions of another model: the rows need it too")
    lake.columns(model.inputs)  # refused before a file is written
    return lake.blocks(model.inputs)


def write_predictions(model, paths, out, certificate):
    """Writes row, mean, deviation, predictive_deviation, certificate, reason."""
    schema = pa.schema([("row", pa.int64()), ("mean", pa.float64()), ("deviation", pa.float64()), ("predictive_deviation", pa.float64()),
                        ("certificate", pa.string()), ("reason", pa.string())])
    need(not os.path.lexists(out), f"{out} is there already: predictions replace no file (the output comes before the data)")
    predictor, blocks, rows, withheld = Predictor(model), rows_for(model, paths), 0, 0
    with pq.ParquetWriter(out, schema, write_page_checksum=True) as writer:
        for first, block in blocks:
            mean, deviation, predictive, bad = predictor.of(block)
            none = np.isnan(mean)
            reasons = ["the row breaks the row rules" if b else FAR if n else None for b, n in zip(bad, none)]
            writer.write_table(pa.table([
                pa.array(np.arange(first, first + len(mean))), *(pa.array(v, mask=np.isnan(v)) for v in (mean, deviation, predictive)),
                pa.array([None if n else certificate for n in none], pa.string()), pa.array(reasons, pa.string())], schema=schema))
            rows, withheld = rows + len(mean), withheld + int(none.sum())
    ok(f"{rows} rows are in {out}, {withheld} of them without a prediction")
