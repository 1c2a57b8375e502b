// Package targets keeps the workers of a run that is for every worker: which have detected, which
// may detect again, and why the others have not.
//
// The package is pure. A group starts the detections and takes their results.
package targets
