// Package reboot decides whether the node of a worker may be rebooted. It checks running jobs, attempts that may
// still run unseen, and job types that no other worker can serve. It is pure.
package reboot
