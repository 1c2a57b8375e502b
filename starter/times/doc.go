// Package times reads when things ran: the items of a run, the items of a worker and the last runs of
// job types.
package times
