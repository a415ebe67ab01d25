// Package arrowipc reads the record batches of Arrow IPC files with the library of Apache
// Arrow. That library allocates whatever lengths say and panics on damage. So this package checks
// all lengths first and bounds allocation ([Allowance]), and callers recover.
package arrowipc
