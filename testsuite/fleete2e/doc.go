// Package fleete2e tests the worker registry on the real server: the registry workflow, the observer, and
// worker processes that are killed, stopped and disconnected. Thresholds are scaled from minutes to seconds.
package fleete2e
