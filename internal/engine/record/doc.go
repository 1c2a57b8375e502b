// Package record keeps the jobs of a run that have ended: in segments, and in a table of pages with the full ones.
//
// A run remembers only the last segments, so memory and carried state do not grow with the ended jobs. Each can be
// listed until its pages expire.
package record
