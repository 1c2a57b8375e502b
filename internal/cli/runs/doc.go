// Package runs has the commands about runs and their jobs.
package runs
