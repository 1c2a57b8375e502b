// Package yamlread reads YAML and JSON of users into nodes with their positions, strictly and within bounds. It
// reports all faults of a document at once.
package yamlread
