// Package arrowipc reads the record batches of Arrow IPC files with the library of Apache Arrow.
// That library allocates whatever a length claims and panics on damage. So this package first
// checks all lengths and bounds allocation, and callers of [File.Read] must recover from panics.
package arrowipc
