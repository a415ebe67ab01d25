"""Lists the files of a version of a Delta Lake table, for source.files of a job.

    pip install deltalake pyarrow
    python delta.py TABLE list.json [VERSION]
"""
import hashlib
import json
import os
import sys
import urllib.parse

import pyarrow
from deltalake import DeltaTable


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


folder, out, *version = sys.argv[1:]
table = DeltaTable(folder, version=int(version[0]) if version else None)
actions = pyarrow.table(table.get_add_actions(flatten=True)).to_pylist()
if "deletionVectors" in (table.protocol().reader_features or []) or table.metadata().partition_columns:
    sys.exit("rows may be deleted by vectors, or partitions stand in the log alone: write the version anew first")
files = []
for action in sorted(actions, key=lambda a: a["path"]):
    path = os.path.abspath(os.path.join(folder, urllib.parse.unquote(action["path"])))
    rows = {"rows": action["num_records"]} if action.get("num_records") is not None else {}
    files.append({"path": path, "bytes": action["size_bytes"], **rows, "sha256": sha256(path)})
with open(out, "w") as f:
    json.dump({"format": "pacsgp-files/1", "snapshot": f"{table.metadata().id} version {table.version()}", "files": files}, f, indent=1)
