// Package after decides whether a run may begin because of past successes: its own, which make a tick superfluous,
// and awaited ones of other job types. It is pure. A success is the end of a completed run of a Schedule.
package after
