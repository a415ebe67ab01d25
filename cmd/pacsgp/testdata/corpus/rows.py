"""Makes the rows of the corpus: python rows.py, in this folder."""
import decimal
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

rng, n = np.random.default_rng(1), 900
a, b, c = rng.uniform(-3, 3, (3, n)).round(3)
carrier, hour = np.array(["AA", "WN", "ZZ"])[rng.integers(0, 3, n)], rng.integers(0, 24, n)
gap = np.where(rng.uniform(size=n) < .1, np.nan, rng.uniform(-1, 1, n).round(3))
y = np.sin(a) + .3 * b + .5 * (carrier == "AA") + .3 * np.cos(hour / 24 * 2 * np.pi) + rng.normal(0, .1, n)
rows = pa.table({
    "a": a, "b": b, "c": pa.array(c, pa.float32()), "carrier": carrier, "hour": hour, "gap": pa.array(gap, from_pandas=True), "station": np.arange(n) // 2,
    "forecast": (np.sin(a) + .3 * b).round(3), "price": (20 + 5 * y).round(4), "y": y.round(4)})


def write(name, rows, **options):
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    pq.write_table(rows, name, row_group_size=400, **options)


write("rows.parquet", rows)
write("duplicates/rows.parquet", pa.concat_tables([rows, rows.slice(0, 60)]).select(["a", "b", "y"]), compression="zstd")
broken = rows["b"].to_pylist()
broken[10], broken[500], broken[700] = None, float("inf"), 1e31
write("rejected/rows.parquet", rows.select(["a", "y"]).append_column("b", pa.array(broken)), compression="gzip", data_page_version="2.0")
day = np.datetime64("2024-01-01T00:00") + np.arange(n) * np.timedelta64(60, "m")
for month in 1, 2:
    of = rows.select(["a"]).append_column("when", pa.array(day.astype("datetime64[us]"))).append_column("small", pa.array((b * 10).round().astype(np.int8)))
    of = of.append_column("price", pa.array([f"{v:.2f}" for v in y]).cast(pa.decimal128(7, 2))).slice(450 * (month - 1), 450)
    os.makedirs(f"types/rows/month={month}", exist_ok=True)
    if month == 1:
        write(f"types/rows/month={month}/rows.parquet", of, version="1.0", use_dictionary=False)
    else:
        with pa.ipc.new_file(f"types/rows/month={month}/rows.arrow", of.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as out:
            out.write_table(of, max_chunksize=300)
write("exact/rows.parquet", rows.select(["a", "b", "y"]).slice(0, 100))
few = rows.select(["a", "y"]).slice(0, 300)  # types that the libraries of one program know, and those of another do not
few = few.append_column("flag", pa.ExtensionArray.from_storage(pa.bool8(), pa.array(hour[:300] % 2, pa.int8()))).append_column("spent", pa.array(hour[:300], pa.duration("s")))
few = few.append_column("cents", pa.array([decimal.Decimal(int(h)) for h in hour[:300]], pa.decimal32(4, 2)))
with decimal.localcontext(prec=77):  # a little above the middle of two float64
    wide = [decimal.Decimal(v) + decimal.Decimal(2) ** -51 + decimal.Decimal("1e-60") for v in (5 + b[:300] / 4).tolist()]
write("stored/rows/1.parquet", few.append_column("wide", pa.array(wide, pa.decimal256(76, 60))).slice(0, 200))
few = few.append_column("wide", pa.array([float(v) for v in wide])).slice(200)
with pa.ipc.new_file("stored/rows/2.arrow", few.schema) as out:
    out.write_table(few)
strange = np.where(np.arange(n) % 17 == 3, 1e9, np.where(np.arange(n) % 23 == 20, 9e15, b))  # two values that mean "missing"
write("strange/rows.parquet", rows.select(["a", "carrier", "y"]).append_column("b", pa.array(strange)))
write("noiseless/rows.parquet", pa.table({"a": a, "b": b, "y": np.sin(2 * a) + b}).slice(0, 640))
huge = 2.0 ** 57 * (1.0 * (np.arange(n) % 14 == 3) - (np.arange(n) % 14 == 10))  # of a seventh of the rows no prediction can be written
write("unwritten/rows.parquet", pa.table({"a": a, "m": np.sin(a).round(3) + huge, "y": y.round(4) + huge}))
