// Package fakeworker is a `weed worker` for tests. [Run] follows the plugin protocol like the real one, message by
// message. [Dial] returns the bare stream for tests that violate it. The program below worker runs one as a process that
// can be killed.
package fakeworker
