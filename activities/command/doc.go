// Package command is the handler that needs no Go: detection and execution are
// programs.
//
// The detection program prints one proposal per line, the execution program
// does one of them. Neither is run through a shell: every argument of the
// configuration is one text/template, and what it renders to is one argument
// of the program, whatever characters it holds.
//
// A program runs in a process group of its own, which ends with the job: on
// cancel SIGTERM goes to the group and SIGKILL after kill_grace; what a
// finished program left running in its group is killed too. A process that
// must outlive its job leaves the group (setsid). On Linux a program gets
// SIGTERM when its worker process dies, so that the job's next attempt does
// not meet it.
//
// Execution is at least once: a program may be started again for a job that it
// has already done, and must then succeed. ROUNDSMAN_JOB_ID stays the same over
// all attempts and ROUNDSMAN_FENCE grows.
//
// Memory is bounded whatever a program prints: a line of a detection by
// 256 KiB, the output of a job by its last 16 KiB.
package command
