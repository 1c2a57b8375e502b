// Package forecast works out which runs of job types the next days bring: when each
// scheduled instant starts its run, when the run begins and ends, and which instants
// are skipped, with the code that the run itself would report.
//
// It follows the rules of the Schedule (policy.overlap) and of a group on the way to
// its turn: a run waits for its window for one interval at most, and for its lane for as
// long as that takes. An exclusive lane serves as admission does: alphabetically, except that a job type
// that had its turn while another waited goes behind that one. It knows nothing that cannot be
// known ahead: workers are there, nobody pauses or submits anything, and a run takes
// as long as runs of its job type typically take.
//
// The package is pure: instants, open spans and run times are data.
package forecast
