// Package cgroup creates a cgroup (v2) with limits for each program, if the process may divide its own cgroup.
package cgroup
