// Package report shows a run to people: the certificate in words and numbers
// for a terminal, and a figure. It needs no job, only a certificate and plain
// numbers, and prints every bound rounded outwards.
package report
