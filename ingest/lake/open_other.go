//go:build !unix

package lake

// nonblocking is the flag of an opening that does not wait for a writer; only Unix
// has files that do.
const nonblocking = 0
