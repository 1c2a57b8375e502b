// Package rlimit has the limits of a program. It sets the resource limits of the kernel.
package rlimit
