// Package record keeps the jobs of a run that have ended: in segments, and in a table of
// pages. A run stores full segments in pages.
//
// A run remembers only the last segments. So its memory and the state that it carries
// over do not grow with the jobs that have ended, and each of them can be listed until
// its pages expire.
package record
