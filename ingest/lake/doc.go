// Package lake reads the rows of a lake: Parquet and Arrow files, directories with hive keys,
// globs. It implements [dataset.Source]; a shard is one row group, or one record batch of an Arrow
// file, which the library of Apache Arrow reads (arrow.go). Everything else here is about Parquet.
//
// # How a column gets out of a file
//
// parquet-go decodes levels and values, with its packages of encodings. The pages around them are
// read here, because parquet-go believes what a page claims:
//
//   - sizes of pages, runs, differences and texts are compared with the bytes read before they are
//     decoded: a flipped bit must not cost gigabytes (walker.go, encodings.go);
//   - page bodies are decompressed once, to their exact size, by the codec of their own chunk:
//     parquet-go uses one row group's codec for all of them, and returns wrong values for LZ4_RAW;
//   - run-length encoded booleans are decoded like levels: parquet-go returns wrong values for
//     them;
//   - parquet-go panics on damage, as codecs may: all of it runs behind one recover (guard).
//
// One walker reads pages for both readers: a cursor makes numbers and checks them against the
// footer, storedReader returns stored values. Every value is checked once: it must be finite and
// within the chunk's bounds. The check works on pieces that stay in the first cache.
//
// The tests compare each value with what parquet-go itself reads.
//
// # What is checked
//
// Row counts of pages, chunk, row group and file against each other; that a page ends with its last value; page
// checksums if there are any; minimum, maximum and number of nulls of a chunk against the footer's statistics; the
// old and the new description of a type against each other; and that the footer is the one that [Open] saw. Other
// damage changes the digest. A shard whose last page is damaged may return batches before it ends in an error.
package lake
