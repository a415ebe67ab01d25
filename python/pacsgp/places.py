"""Where rows stood in a log, as the columns of a spool say."""
import pyarrow as pa

from .refusal import need, ok

PLACES = ("$topic", "$partition", "$offset")  # columns of a spool that say where a row stood


def places_told(lake):
    """Those of the columns of a spool that a file has, or its path as a key."""
    names = {name for table, keys in zip(lake.tables, lake.keys) for name in [*(c.name for c in table.columns), *keys]}
    return [name for name in PLACES if name in names]


def check_place_types(path, schema, keys, told):
    """A file has each column of a spool that another one has, once, and not as a key of its
    path: $topic as text, the others as integers."""
    every = [*schema.names, *keys]
    for name in told:
        need(every.count(name) == 1, f"{path} has {every.count(name)} columns {name}, and has to have one, as other files do")
        need(name in schema.names, f"{path}: {name} is a key of the path and no column: where a row stood is not read from there")
        kind = schema.field(name).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if name == "$topic":
            need(kind in (pa.string(), pa.large_string(), pa.string_view()), f"{path}: the column {name} is {kind}, and has to be text")
        else:
            need(pa.types.is_integer(kind), f"{path}: the column {name} is {kind}, and has to be integers")


def check_places(lake, stated):
    """Each shard has the rows of its segment, and they stood there, as far as they say it
    themselves: at its topic, at its partition, and at offsets of it in their order."""
    told = places_told(lake)
    tables = dict(zip(lake.files, lake.tables))
    for path, keys in zip(lake.files, lake.keys):
        check_place_types(path, tables[path].schema, keys, told)
    for (path, g, rows), s in zip(lake.groups, stated):
        where = f"{path}, row group {g}"
        need(rows == s["rows"], f"{where} has {rows} rows, the segment that the certificate names has {s['rows']}")
        if not told:
            continue
        before = s["first"]
        for batch in tables[path].batches(g, told):
            for name in told:
                values = batch.column(batch.schema.get_field_index(name)).to_pylist()
                if name == "$offset":
                    right = None not in values and all(a <= b for a, b in zip([before, *values], values)) and values[-1] < s["end"]
                    before = values[-1]
                else:
                    right = set(values) == {s["topic" if name == "$topic" else "partition"]}
                need(right, f"{where}: the column {name} does not say that the shard is topic {s['topic']!r}, partition {s['partition']}, offsets {s['first']} to {s['end'] - 1}, in their order")
    if told:
        ok(f"the columns {', '.join(told)} of the data say of each row what the certificate's {len(stated)} segments say")
