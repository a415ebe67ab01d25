"""Predictions from a model file (formats.md, 3)."""
import numpy as np

from .encode import LARGEST, fills, may_be_text, value
from .lake import Lake
from .laws import BLOCK, Laws, check_jitter, features
from .refusal import need

FAR = 10


class Predictor:
    """Predictions of a model, where the mean is proven to be within tau of the exact one (formats.md, 3)."""

    def __init__(self, model):
        self.model, self.laws = model, Laws(model, check_jitter(model))
        self.strict = [name not in fills(model.encode.values()) for name in model.inputs]

    def of(self, block):
        """For rows [inputs, n]: means and standard deviations of targets, NaN where there is none; and of what to
        warn, with which rows it is about."""
        model, scale = self.model, self.model.target["scale"]
        bad = ~(np.abs(block[self.strict]) <= LARGEST).all(0)
        x = model.scale_features(np.where(bad, model.centre[:, None], block[:len(model.features)]).T)
        centre = model.centre_of(block)
        parts = [self.laws.at(*features(model, x[i:i + BLOCK]), centre[i:i + BLOCK]) for i in range(0, len(x), BLOCK)]
        mean, variance, mean_error, _ = (np.concatenate(part) for part in zip(*parts))
        mean, none = model.written(mean, centre)[0], bad | ~(mean_error < np.inf)
        found = {"have no prediction, for they break the row rules of the certificate": bad,
                 "have no prediction that can be computed to the accuracy of the certificate: use a larger epsilon or fewer inducing points": none & ~bad,
                 f"are extrapolated: a feature lies more than {FAR} of its scales from its centre, and the certificate says little about such rows": (np.abs(x) > FAR).any(1) & ~none}
        for name, e in model.encode.items():
            if "one_hot" in e:
                found[f"have a value of {name!r} that the model does not know: it counts as other"] = ~none & ~np.isin(value(e, block[model.features.index(name)]), e["one_hot"])
        noise = model.meta["prediction"]["factor"] * model.meta["prediction"]["noise"]
        return *(np.where(none, np.nan, v) for v in (mean, np.sqrt(np.maximum(variance, 0) + noise) * scale)), found


def rows_for(model, paths):
    """The rows of files as inputs of a model, in blocks."""
    lake = Lake(paths, model, True, may_be_text(model.encode.values()), fills(model.encode.values()), {})
    need("mean" not in model.meta or all(model.meta["mean"] in [c.name for c in table.columns] or model.meta["mean"] in keys for table, keys in zip(lake.tables, lake.keys)),
         f"the model corrects the column {model.meta.get('mean')!r}, predictions of another model: the rows need it too")
    return lake.blocks(model.inputs)
