// Package retention deletes closed runs of job types and DAGs, and their pages, before the namespace's retention
// does. A run stays while its workflow or parent run is open or recent, or while its Schedule lists it, because the
// next run copies its record.
//
// A sweep keeps no state. It may be killed at any point, and several control planes may sweep at once.
package retention
