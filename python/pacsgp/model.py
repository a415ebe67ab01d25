"""The model file (formats.md, 2)."""
import hashlib
import math
import re
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from .encode import inputs, right, width
from .forms import METADATA, ROW_RULES
from .job import affine, mean_column, members
from .jsontext import canonical, fits, parse
from .losses import KINDS
from .refusal import content, need

NUMBERS = pa.list_(pa.field("element", pa.float64(), nullable=False))
COLUMNS = pa.schema([pa.field(name, pa.float64() if name in ("mean", "weight") else NUMBERS, nullable=False) for name in ("z", "mean", "l", "s", "weight", "b")])
SEAL = b"pacsgp-sha256\x18\x40"


def read_plain(data, what):
    """The table in the bytes of a file with a seal, and its metadata. Nothing in it is compressed, repeated by a
    dictionary or stored in the same bytes, so that it is not larger than the file."""
    at = data.rfind(SEAL) + len(SEAL)  # in the footer, where it has the checksum of itself
    need(data[at:at + 64] == hashlib.sha256(data[:at] + b"0" * 64 + data[at + 64:]).hexdigest().encode(), f"the {what} file is damaged, or has no checksum")
    file = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True)
    meta, left = file.metadata, len(data)
    for g in range(meta.num_row_groups):
        group = meta.row_group(g)
        need(0 <= group.num_rows <= len(data), f"the {what} file claims {group.num_rows} rows in {len(data)} bytes")
        for c in range(meta.num_columns):
            chunk = group.column(c)
            left -= chunk.total_compressed_size
            need(chunk.compression == "UNCOMPRESSED" and {*chunk.encodings} <= {"PLAIN", "RLE", "BIT_PACKED"} and not chunk.has_dictionary_page and 0 <= chunk.num_values <= len(data)
                 and 0 <= chunk.total_uncompressed_size == chunk.total_compressed_size and left >= 0, f"the {what} file is compressed, has a dictionary or another encoding, or claims more than its bytes")
    return file.read(), meta.metadata


class Model:
    """The numbers of a model file (formats.md, 2)."""

    def __init__(self, path):
        data = content(path, 1 << 30)
        self.digest = hashlib.sha256(data).hexdigest()
        need(data[:1] != b"{", "it is no model, but may be a certificate: are MODEL and CERTIFICATE swapped?")
        table, keys = read_plain(data, "model")
        need(len(re.findall(rb"pacsgp[\x00-\x1f]", data[-8 - int.from_bytes(data[-8:-4], "little"):])) == 1, "the model file has no metadata, or has them twice")
        text = keys[b"pacsgp"].decode()
        self.meta = meta = parse(text)
        fits(meta, METADATA, "the model's metadata")
        need(canonical(meta) == text, "the model's metadata are not in canonical form")
        need(table.schema.equals(COLUMNS), f"the model file has the columns {table.schema}")
        need(table.num_rows == meta["inducing"], "the number of rows is not that of the metadata")
        self.encode = {e["column"]: e for e in meta.get("encode", [])}
        self.widths = [width(self.encode.get(f["name"])) for f in meta["features"]]
        need(right([*self.encode.values()]) and len(self.encode) == len(meta.get("encode", [])) and self.encode.keys() <= {f["name"] for f in meta["features"]}, "the model's encodings are none of its features, or out of order")
        need(1 <= (d := sum(self.widths)) <= 1 << 14, f"the model has {d} inputs, want 1 to {1 << 14}")
        self.z = rows_of(table["z"], lambda i: d).reshape(-1, d)
        self.mean, self.weight = table["mean"].to_numpy(), table["weight"].to_numpy()
        self.l, self.c, self.b = np.zeros((3, len(self.mean), len(self.mean)))
        for name, triangle in (("l", self.l), ("s", self.c), ("b", self.b)):
            triangle[np.tril_indices(len(triangle))] = rows_of(table[name], lambda i: i + 1)
        need(all(np.isfinite(a).all() for a in (self.z, self.mean, self.l, self.c, self.weight, self.b)), "a number of the model is not finite")
        need(all((a.diagonal() > 0).all() for a in (self.l, self.c, self.b)), "a diagonal is not positive")
        self.features = [f["name"] for f in meta["features"]]
        self.inputs = self.features + [meta.get("mean")] * ("mean" in meta)  # what a prediction needs
        need(len({*self.inputs, meta["target"]["name"]}) == len(self.inputs) + 1, "two columns have one name")
        self.centre, self.scale = (np.array([float(f[name]) for f in meta["features"]]) for name in ("centre", "scale"))
        self.target, self.loss = affine(meta["target"]), meta["loss"]
        self.tau = tolerance(self.loss, self.target) * 2.0 ** -12  # the largest distance of a reader's prediction from the exact mean, in raw units (formats.md, 5.3)
        self.lengthscales = np.array(meta["lengthscales"], dtype=float)
        self.variance, self.jitter = float(meta["variance"]), float(meta["jitter"])
        need(len(self.lengthscales) == d, "there are not as many lengthscales as inputs")
        for p in meta["theta"]:
            need(p["index"] < p["grid"]["count"] <= 100_001 and p["grid"].get("centre", 0) < p["grid"]["count"], f"{p['name']!r} is not on its grid")

    def scale_features(self, raw):
        """The inputs of raw features [n, features]: one difference, one quotient, or the encoding."""
        return np.concatenate([inputs(self.encode.get(name, {"scaled": True}), v, c, s) for name, v, c, s in zip(self.features, raw.T, self.centre, self.scale)], axis=1)

    def centre_of(self, rows):
        """What is subtracted from the target at each row [columns, rows]: the column of the mean, or the centre."""
        return rows[len(self.features)] if "mean" in self.meta else np.full(rows.shape[1], self.target["centre"])

    def written(self, mean, centre):
        """Means [n] in raw units, and how much writing them rounds: three operations, each relative to what the mean is made of."""
        mean = mean * self.target["scale"] + centre
        return mean, 2.0 ** -51 * (np.abs(mean) + np.abs(centre))

    def scale_target(self, rows):
        """The target in scaled units, of rows with all columns."""
        return (rows[-1] - self.centre_of(rows)) / self.target["scale"]


def tolerance(loss, target):
    """The tolerance that accuracy is a part of, in raw units."""
    return min(loss["below"], loss["above"]) if loss["kind"] == "band" else loss.get("epsilon", 1.0) * (target["scale"] if KINDS[loss["kind"]].relative else 1.0)


def fine_enough(target, loss):
    """Whether predictions can be written down without spoiling the loss: their rounding is less than 2^-23 of the tolerance (theory.md, 10)."""
    size = abs(target["centre"]) + 10 * target["scale"]
    return math.nextafter(size, math.inf) - size <= 2.0 ** -23 * (math.inf if loss["kind"] == "relative" else tolerance(loss, target))


def rows_of(column, size):
    """The values of a list column, whose list i must have size(i) elements."""
    lists = column.combine_chunks()
    need(lists.value_lengths().to_pylist() == [size(i) for i in range(len(lists))], "a list has another length than the format says")
    return lists.flatten().to_numpy(zero_copy_only=False)


def describe(model, job, columns, encodings):
    """The metadata that a model file must have: all that follows from the job and the scaling (columns: the features, then the target), with what only
    the model can tell, which are the family, indices and peaks on the grid, jitter, size and predictor."""
    *features, target = [affine(a if job["scaling"] == "prior" else {**a, "centre": 0.0, "scale": 1.0}) for a in columns]
    need(len(job.get("features", features)) == len(features), f"the job has {len(job.get('features', []))} features, the model {len(features)}")
    for a, name in zip(features, job.get("features", model.features)):
        a["name"] = name
    widths = [width(next((e for e in encodings if e["column"] == a["name"]), None)) for a in features]
    features = [{**a, "centre": 0.0, "scale": 1.0} if any(e["column"] == a["name"] and "scaled" not in e for e in encodings) else a for a in features]
    target["name"] = job["target"]
    need(model.meta["kernel"] in job["kernel"]["family"], f"the kernel is {model.meta['kernel']}, the job declares {job['kernel']['family']}")
    loss = job["loss"]
    epsilon = loss["epsilon_std"] * target["scale"] if "epsilon_std" in loss else loss.get("epsilon", 0.0)
    isotropic = job["kernel"]["isotropic"]
    names = [*(["ln lengthscale"] if isotropic else [f"ln lengthscale of {a['name']}" for a in features]), "ln variance"]
    need(len(names) == len(model.meta["theta"]), f"{len(model.meta['theta'])} hyper-parameters for {len(features)} features, want {len(names)}")
    grid = {"min": job["grid"]["min"], "step": job["grid"]["step"], "count": int((job["grid"]["max"] - job["grid"]["min"]) / job["grid"]["step"] + 1e-6) + 1, "prior": job["grid"]["prior"]}
    peak = lambda p: members(("centre", p["grid"].get("centre", 0)), ("width", job["grid"]["width"])) if grid["prior"] == "peaked" else {}
    theta = [{"name": name, "grid": {**grid, **peak(p)}, "index": p["index"]} for name, p in zip(names, model.meta["theta"])]
    logarithms = [p["grid"]["min"] + p["index"] * p["grid"]["step"] for p in theta]  # product and sum rounded each
    values = [float(Decimal(v).exp()) for v in logarithms]  # rounded to the nearest float64: Decimal has 60 digits, and reading is rounded correctly
    spread = [v for v, inputs_of in zip(values[:1] * len(features) if isotropic else values[:-1], widths) for _ in range(inputs_of)]
    return {
        "format": "pacsgp-model/3", "kernel": model.meta["kernel"], "isotropic": isotropic, "theta": theta, "features": features, **members(("encode", encodings)), "target": target, **members(("mean", mean_column(job))),
        "loss": {"kind": loss["kind"], **members(("epsilon", epsilon), ("below", loss.get("below")), ("above", loss.get("above")))},
        "row_rules": ROW_RULES, "lengthscales": spread, "variance": values[-1],
        "jitter": model.jitter, "inducing": len(model.mean), "prediction": model.meta["prediction"]}
