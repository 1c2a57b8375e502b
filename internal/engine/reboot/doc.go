// Package reboot decides whether the node of a worker may be rebooted. It checks the running
// jobs, attempts that may still run unseen, and job types that no other worker can serve. It is
// pure; the command line, the API and the console show its verdict.
package reboot
