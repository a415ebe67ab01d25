"""Lists the files of a snapshot of an Iceberg table, for source.files of a job.

    pip install 'pyiceberg[pyarrow]'
    python iceberg.py TABLE/metadata/00003-….metadata.json list.json [SNAPSHOT]
"""
import hashlib
import json
import os
import sys

from pyiceberg.table import StaticTable


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


metadata, out, *snapshot = sys.argv[1:]
table = StaticTable.from_metadata(metadata)
snapshot = int(snapshot[0]) if snapshot else table.current_snapshot().snapshot_id
tasks = list(table.scan(snapshot_id=snapshot).plan_files())
if any(task.delete_files for task in tasks):
    sys.exit("rows of the snapshot are deleted by files of their own: rewrite its data files first")
files = []
for task in sorted(tasks, key=lambda t: t.file.file_path):
    path = task.file.file_path.removeprefix("file://")
    files.append({"path": os.path.abspath(path), "bytes": task.file.file_size_in_bytes, "rows": task.file.record_count, "sha256": sha256(path)})
name = os.path.basename(table.location().rstrip("/"))
with open(out, "w") as f:
    json.dump({"format": "pacsgp-files/1", "snapshot": f"{name} {snapshot}", "files": files}, f, indent=1)
