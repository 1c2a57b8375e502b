// Package command is the handler that needs no Go: detection and execution are programs.
//
// The detection program prints one proposal per line, the execution program executes one of them. There is no shell:
// every argument of the configuration is one text/template, and its text is one argument of the program.
//
// A program runs in its own process group, which ends with the job. On cancel the group gets SIGTERM, and SIGKILL
// after kill_grace. A process that must outlive its job leaves the group (setsid). On Linux a program gets SIGTERM
// when its worker process dies, so that it does not run next to the job's next attempt.
//
// Execution is at least once: a program may start again for a job that it has already done, and must then succeed.
// ROUNDSMAN_JOB_ID stays the same over all attempts and ROUNDSMAN_FENCE grows.
//
// Memory is bounded: a line of a detection by 256 KiB, the output of a job by its last 16 KiB.
package command
