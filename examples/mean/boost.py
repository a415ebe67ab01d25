"""Fits boosted trees on the rows that a split allows, and adds their predictions as a column.

    python boost.py ROWS.parquet ROLES.parquet TARGET COLUMN

ROLES is what `pacsgp split` wrote for ROWS. With outside rows the trees are fitted on these
alone, else on all rows that are no held-out rows.
"""
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.ensemble import HistGradientBoostingRegressor

rows, roles, target, column = sys.argv[1:]
table, role = pq.read_table(rows), np.array(pq.read_table(roles)["role"].to_pylist())
table = table.drop_columns([name for name in table.column_names if name == column])  # of an earlier run
x = np.column_stack([table[name].to_numpy() for name in table.column_names if name != target])
y = table[target].to_numpy()

allowed = role == "outside" if (role == "outside").any() else role != "holdout"
trees = HistGradientBoostingRegressor(random_state=0).fit(x[allowed], y[allowed])
pq.write_table(table.append_column(column, pa.array(trees.predict(x))), rows)  # the rows keep their order
