// Package quickstart is what `roundsman dev` runs without a configuration: the
// file roundsman.yaml of this directory, and the log files that one of its job
// types compresses. [Prepare] writes those; their content is invented, but the
// same every time.
package quickstart
