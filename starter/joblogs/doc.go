// Package joblogs reads the output of jobs and tasks from the worker's process. Once that process has ended, it
// reads the part kept in their result.
package joblogs
