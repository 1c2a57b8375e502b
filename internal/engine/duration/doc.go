// Package duration compares how long things take with how long they took before: whether
// a run is slower than usual, and how long an attempt may still take.
//
// The usual value is the median, and how much it varies the median distance from it, so
// that one run that hung does not make the next slow ones look usual. Both come from
// the record of a job type, which holds its last completed runs and attempts.
//
// The package is pure: durations are data.
package duration
