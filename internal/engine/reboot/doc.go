// Package reboot decides whether the node of a worker may be rebooted: by the jobs that run
// there, by the attempts that may still run there unseen, and by the job types that no other
// worker can serve. It is pure; the command line, the API and the console show its verdict.
package reboot
