// Package sink encodes artifacts and decodes them: the model file, and the certificate as one
// row of Parquet. docs/reference/formats.md is the specification; this package is one implementation of
// it.
//
// The same artifact gives the same bytes. Bytes are checked before they are believed: nothing
// is allocated on the word of a damaged file, every number is finite, and what does not follow
// from the specification is an error.
package sink
