// Package joblogs reads the output of jobs and tasks from the worker's process, or the part kept in their result.
package joblogs
