// Package quickstart holds the default of `roundsman dev`: the configuration roundsman.yaml of this directory,
// and the log files that one of its job types compresses. [Prepare] writes these files. Their content is
// invented, but the same every time.
package quickstart
