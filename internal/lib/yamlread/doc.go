// Package yamlread reads the YAML and JSON that people write: into nodes that
// know their place, strictly, and within bounds. Repeated keys, tags, values that
// JSON cannot hold and documents that expand without end are faults; all faults of
// a document are reported at once. The meaning of the keys is the caller's business.
package yamlread
