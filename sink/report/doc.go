// Package report shows a run to people: the certificate in words and numbers
// for a terminal, and a figure. It takes plain data, so that an artifact can
// be shown without running a job, and prints every bound rounded outwards.
package report
