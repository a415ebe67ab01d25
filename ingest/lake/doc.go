// Package lake reads the rows of a lake: Parquet and Arrow files, directories with hive
// keys, globs. It implements [pipeline.Source]; a shard is one row group, or one record
// batch of an Arrow file, which the library of Apache Arrow reads (arrow.go). All else
// here is about Parquet.
//
// # How a column gets out of a file
//
// The names of the file format and its bit unpacking come from parquet-go. Footer and
// column pages are read here, for five reasons that were measured on that library's
// reader:
//
//   - a footer's contradictions (a field of another type, twice or of unknown number,
//     a logical type that is not the converted one) are what flipped bits look like;
//   - sizes are checked before anything is allocated: a flipped bit in a page
//     header, a frame header of the codec or the run length of a level must not
//     cost gigabytes;
//   - page bodies are decompressed once, to their exact size, and become float64
//     in the batch's own memory, without a page object or a value in between;
//   - its paths for LZ4_RAW and run-length encoded booleans return wrong values,
//     and it takes one row group's codec for all of them;
//   - what is damaged is an error here and not a panic. (What is left of such
//     libraries, the codecs, runs behind one recover: see guard.)
//
// Every value is looked at once: whether it is finite, and what the chunk's bounds
// are. Doubles in PLAIN encoding are looked at while they are copied (copyExtent),
// uncompressed ones where they were read to (isDirect); all others are decoded and
// looked at in pieces that stay in the first cache.
//
// One walker reads pages, levels and values for both readers: a cursor makes numbers of
// them and holds those against the footer, a storedCursor hands on what is stored. What
// values become is their target's; a target makes values of bytes and integers only.
//
// The tests compare each value with what parquet-go itself reads.
//
// # What is checked
//
// Row counts of pages, chunk, row group and file against each other; that a page has
// no byte after its last value; page checksums where the writer left them; the smallest
// value, the largest one and the number of nulls of a chunk against the footer's
// statistics; what the schema says in its old way against its new one; and that the
// footer is the one that [Open] saw. What still gets through changes the digest.
// A shard whose last page turns out to be damaged may have handed out batches of
// it before; it ends in an error.
package lake
