//go:build unix

package lake

import "syscall"

// nonblocking is the flag of an opening that does not wait for a writer.
const nonblocking = syscall.O_NONBLOCK
