// Package retention deletes runs before the namespace's retention does. The control plane calls
// [Sweeper.Keep].
//
// It deletes only closed runs of job types and DAGs, and their pages. A run stays while its
// workflow or its parent run is open or ended within the limit. It also stays while its
// Schedule lists it, because the next run of the job type copies its record.
//
// A sweep keeps no state, since it lists the runs from visibility each time. So it may be killed at any
// point, and several control planes may sweep at once.
package retention
