// Package rlimit sets the limits of a program that are resource limits of the kernel.
package rlimit
