// Package yamlread reads YAML and JSON of users into nodes with their positions, strictly and within bounds.
// It reports repeated keys, tags, values that JSON cannot hold, and documents that expand without end. It
// reports all faults of a document at once. The caller interprets the keys.
package yamlread
