// Package duration compares run times with earlier ones. It is pure.
//
// The usual value is the median, its variation the median distance from it, so that one hung run does not make the
// next slow ones look usual. Both come from the record of a job type.
package duration
