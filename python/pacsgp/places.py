"""Where rows stood in a log, as the columns of a spool say."""
import pyarrow as pa

from .refusal import need, ok

PLACES = {"$topic": "topic", "$partition": "partition", "$offset": None}  # columns of a spool, and what of a segment they repeat


def places_told(lake):
    """Those of the columns of a spool that a file has, or its path as a key."""
    names = {name for table, keys in zip(lake.tables, lake.keys) for name in [*(c.name for c in table.columns), *keys]}
    return [name for name in PLACES if name in names]


def check_places(lake, stated):
    """Each shard has the rows of its segment, and they stood there, as far as they say it themselves: at its
    topic, at its partition, and at offsets of it in their order. Each file has the columns that one has."""
    told, tables = places_told(lake), dict(zip(lake.files, lake.tables))
    for path, keys in zip(lake.files, lake.keys):
        for name in told:
            mine = [f.type.value_type if pa.types.is_dictionary(f.type) else f.type for f in tables[path].schema if f.name == name]
            need(len(mine) == 1 and name not in keys, f"{path} has {len(mine) + (name in keys)} columns {name}, and has to have one that is no key of its path")
            need(pa.types.is_string(mine[0]) or pa.types.is_large_string(mine[0]) if name == "$topic" else pa.types.is_integer(mine[0]), f"{path}: the column {name} is {mine[0]}")
    for (path, g, rows), s in zip(lake.groups, stated):
        need(rows == s["rows"], f"{path}, row group {g} has {rows} rows, the segment that the certificate names has {s['rows']}")
        before = s["first"]
        for batch in tables[path].batches(g, told) if told else []:
            for name in told:
                values = batch.column(batch.schema.get_field_index(name)).to_pylist()
                if name == "$offset":
                    right = None not in values and all(a <= b for a, b in zip([before, *values], values)) and values[-1] < s["end"]
                    before = values[-1]
                else:
                    right = set(values) == {s[PLACES[name]]}
                need(right, f"{path}, row group {g}: the column {name} does not say that the rows are of the segment {s}, in their order")
    if told:
        ok(f"the columns {', '.join(told)} of the data say of each row what the certificate's {len(stated)} segments say")
