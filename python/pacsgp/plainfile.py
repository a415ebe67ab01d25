"""Model files and rows of certificates: Parquet of one plain kind (format.md, 2)."""
import io

import pyarrow as pa
import pyarrow.parquet as pq

from .footer import NONE, PLAIN, Footer
from .pages import read_page
from .refusal import need

MOST_CELLS = 64  # of a column of a certificate's row
BIT_PACKED = 4   # an old encoding of levels


def read_plain(data, what, numbers):
    """The table in the bytes of a file, and its footer. The library would take what
    the file claims: so nothing is compressed or repeated by a dictionary, and a page has no more
    values than its bytes hold, numbers 8 bytes each, or few."""
    footer = Footer(io.BytesIO(data))
    spans = []
    for rows, chunks in footer.groups:
        need(rows <= len(data), f"{what}: a row group claims {rows} rows of {len(data)} bytes")
        for chunk in chunks:
            need(chunk.codec == NONE and not chunk.file and not chunk.encrypted, f"{what} is compressed, encrypted or in another file; a file of this kind is not")
            need(chunk.dictionary <= 0, f"{what} is dictionary-encoded; a file of this kind is PLAIN")
            need(4 <= chunk.data and 0 <= chunk.compressed <= footer.start - chunk.data, f"{what}: the footer puts {chunk.compressed} bytes at {chunk.data}")
            spans.append((chunk.data, chunk.data + chunk.compressed))
            check_pages(data, chunk, what, numbers)
    spans.sort()
    need(all(a[1] <= b[0] for a, b in zip(spans, spans[1:])), f"{what}: two columns have bytes in common")
    table = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True).read()
    return table, footer


def check_pages(data, chunk, what, numbers):
    """Every page is PLAIN, stored as it is, and has as many values as its bytes allow."""
    file, at, end, left = io.BytesIO(data), chunk.data, chunk.data + chunk.compressed, chunk.values
    while at != end:
        header, stored, at = read_page(file, at, end)
        need(header.kind in (0, 3) and header.described and header.encoding == PLAIN and header.level_encoding != BIT_PACKED, f"{what} has a page of kind {header.kind}; a file of this kind has data in PLAIN alone")
        need(header.uncompressed == len(stored) and 0 <= header.values <= (len(stored) // 8 if numbers else MOST_CELLS), f"{what} has a page of {header.values} values in {len(stored)} bytes")
        left -= header.values
    need(left == 0, f"{what} has a column of another number of values than its footer says")


def text_of(keys, key, what):
    """The value of a key, which stands once."""
    values = [v for k, v in keys if k == key]
    need(len(values) == 1, f"{what} has the key {key.decode()!r} {len(values)} times")
    return values[0].decode()
