// Package lake reads the rows of a lake: Parquet and Arrow files, directories with hive keys,
// globs. It implements [pipeline.Source]; a shard is one row group, or one record batch of an
// Arrow file, which the library of Apache Arrow reads (arrow.go). All else here is about
// Parquet.
//
// # How a column gets out of a file
//
// The names of the file format and its bit unpacking come from parquet-go. Footer and column
// pages are read here, for five reasons that were measured on that library's reader:
//
//   - this reader refuses contradictions in a footer (a field of another type, twice or
//     of unknown number, two different types of a column): flipped bits look like that;
//   - it checks sizes before it allocates: a flipped bit in a page header, a frame
//     header or the length of a run must not cost gigabytes;
//   - it decompresses page bodies once, to their exact size, and converts them to
//     float64 in the batch's own memory, without page or value objects;
//   - the library returns wrong values for LZ4_RAW and run-length encoded booleans,
//     and uses one row group's codec for all of them;
//   - damage is an error here and not a panic. (The codecs, which may panic, run
//     behind one recover: see guard.)
//
// Every value is checked once, to be finite and within the chunk's bounds: doubles in PLAIN
// encoding while they are copied (copyExtent), uncompressed ones in place (isDirect), all
// others after decoding, in pieces that stay in the first cache.
//
// One walker reads pages, levels and values for both readers: a cursor makes numbers and checks
// them against the footer, a storedCursor returns stored values. A target makes the values from
// bytes and integers.
//
// The tests compare each value with what parquet-go itself reads.
//
// # What is checked
//
// Row counts of pages, chunk, row group and file against each other; that a page ends with its
// last value; page checksums where there are any; minimum, maximum and number of nulls of a
// chunk against the footer's statistics; the old and the new description of a type against each
// other; and that the footer is the one that [Open] saw. Other damage changes the digest. A
// shard whose last page is damaged may have returned batches before; it ends in an error.
package lake
