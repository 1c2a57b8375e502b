// Package fakeworker is a `weed worker` for tests. [Worker] speaks the plugin protocol as
// the real one does, sequence by sequence; [Dial] gives the bare stream to those who
// want to speak it wrongly. The program below worker runs one as a process that can be
// killed.
package fakeworker
