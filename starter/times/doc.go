// Package times reads when things ran: items of a run or a worker, and the last runs of job types.
package times
