// Package sink encodes artifacts and decodes them: the model file, and the certificate as one row of Parquet.
// docs/reference/formats.md is the specification; this package is one implementation of it.
//
// The same artifact always has the same bytes. Decoding trusts no size that a file claims: it
// checks the size before it allocates memory, and returns an error for numbers that are not finite
// and for everything else that breaks the specification.
package sink
