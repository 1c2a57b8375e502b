// Package fleet is the workflow of the worker registry, one per namespace: it runs the observer, sends views to
// watchers, and records in the audit log. See docs/fleet.md.
package fleet
