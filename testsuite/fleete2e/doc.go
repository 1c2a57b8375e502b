// Package fleete2e tests the worker registry end to end: the registry workflow,
// the observer and worker processes that are killed, stopped and cut off, on the
// real server. Thresholds are scaled from minutes to seconds.
package fleete2e
