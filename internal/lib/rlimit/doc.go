// Package rlimit has the limits of a program, and sets those that are resource limits of the kernel.
package rlimit
