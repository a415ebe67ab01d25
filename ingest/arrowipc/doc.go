// Package arrowipc reads the values of Arrow IPC streams and files with the library of Apache
// Arrow, which allocates on the word of lengths and panics on damage. So all lengths are
// checked first, allocation is bounded ([Allowance]), and callers recover.
package arrowipc
