// Package arrowipc reads the values of Arrow IPC streams and files with the library of
// Apache Arrow, and keeps what the library does not: it allocates what lengths say before
// it looks, so all of them are checked first and what it may allocate is
// bounded ([Allowance]). It panics on damage: callers recover.
package arrowipc
