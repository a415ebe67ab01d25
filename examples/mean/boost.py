"""Fits boosted trees on the rows that a split allows, and adds their predictions as a column.

    python boost.py ROWS.parquet SPLIT.parquet TARGET COLUMN

SPLIT is what `pacsgp split` wrote for ROWS. If it has outside rows, the trees are fitted only on
these, otherwise on all rows that are not held out.
"""
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.ensemble import HistGradientBoostingRegressor

rows, split, target, column = sys.argv[1:]
table, subset = pq.read_table(rows), np.array(pq.read_table(split)["subset"].to_pylist())
table = table.drop_columns([name for name in table.column_names if name == column])  # from an earlier run
x = np.column_stack([table[name].to_numpy() for name in table.column_names if name != target])
y = table[target].to_numpy()

allowed = subset == "outside" if (subset == "outside").any() else subset != "holdout"
trees = HistGradientBoostingRegressor(random_state=0).fit(x[allowed], y[allowed])
pq.write_table(table.append_column(column, pa.array(trees.predict(x))), rows)  # the rows keep their order
