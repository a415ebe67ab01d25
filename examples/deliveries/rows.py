"""Makes the made-up deliveries of the tutorial: python rows.py, in this folder."""
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

rng = np.random.default_rng(7)


def week(number, n=1500):
    distance = rng.gamma(3, 2, n).clip(0.3, 30).round(1)
    parcels = 1 + rng.poisson(1.5, n)
    hour = rng.integers(7, 22, n)
    rain = np.where(rng.uniform(size=n) < .7, 0., rng.gamma(1, 2, n)).round(1)
    vehicle = np.array(["bike", "car", "van"])[rng.choice(3, n, p=[.3, .3, .4])]
    speed = np.select([vehicle == "bike", vehicle == "car"], [15., 32.], 26.) * np.where(vehicle == "bike", 1 - .03 * rain.clip(0, 10), 1)
    rush = 1 + np.where(vehicle == "bike", .1, .6) * (np.exp(-(hour - 8) ** 2 / 3.) + np.exp(-(hour - 17) ** 2 / 5.))
    minutes = 4 + 60 * distance / speed * rush + 2.5 * parcels + rng.normal(0, 2, n)
    table = pa.table({
        "id": pa.array(1500 * (number - 1) + np.arange(n)), "distance": distance, "parcels": pa.array(parcels, pa.int32()), "hour": pa.array(hour, pa.int32()),
        "rain": pa.array(rain, mask=rng.uniform(size=n) < .04), "vehicle": vehicle, "minutes": minutes.clip(3).round(1)})
    os.makedirs("new" if number == 5 else "lake", exist_ok=True)
    pq.write_table(table, f"{'new' if number == 5 else 'lake'}/week-{number}.parquet", compression="zstd", write_page_checksum=True)


for number in range(1, 6):
    week(number)
