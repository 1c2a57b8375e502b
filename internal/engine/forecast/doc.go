// Package forecast computes the runs of job types in the next days. It is pure.
//
// It follows the rules of the Schedule (policy.overlap) and of a group before its turn. A run waits for its window
// for one interval at most, and for its lane without a limit; a lane serves as in admission. Unknown successes are
// conditions of a tick. It assumes that workers are present, that operators pause and submit nothing, and that a run
// takes the usual duration.
package forecast
