// Package command is the handler that needs no Go: detection and execution are programs.
//
// The detection program prints one proposal per line, the execution program executes one of them. Every argument of
// `command` is one template, and its text is one argument of the program. Only the key `shell` starts a shell: bash,
// which gets values as variables.
//
// A program ends with its job, and all processes that it started end with it. On cancel they get SIGTERM, and SIGKILL
// after kill_grace. On Linux a shim finds them, also after setsid or su, and ends them when the worker process dies. So
// no attempt runs next to the job's next one. Elsewhere only the process group ends. See docs/adr/0063.
//
// Execution is at least once: a program may start again for a job that it has already done, and must then succeed.
// ROUNDSMAN_JOB_ID stays the same over all attempts and ROUNDSMAN_FENCE grows.
//
// Memory is bounded: a line of a detection by 256 KiB, the output of a job by its last 16 KiB.
package command
