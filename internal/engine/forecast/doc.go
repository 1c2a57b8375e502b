// Package forecast computes the runs of job types in the next days: the start and the end of the
// run of each scheduled instant. A skipped instant has the code that the run itself would
// report.
//
// It follows the rules of the Schedule (policy.overlap) and of a group before its turn. A run
// waits for its window for one interval at most, and for its lane without a limit. An exclusive
// lane serves as admission does: alphabetically, except that a job type that had its turn while
// another waited goes behind that one. Rules about past successes are conditions of a tick; it decides
// only those that a known success answers. It assumes that workers are present, that operators pause
// and submit nothing, and that a run takes the usual duration of its job type.
//
// The package is pure: instants, open spans and run times are data.
package forecast
