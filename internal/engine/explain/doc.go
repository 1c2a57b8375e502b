// Package explain explains why a thing is not running, or what it waits for. It is pure: it
// composes the reports of the Schedule, the group, the registry and admission into a list of
// reasons, the one to act on first. docs/explain.md describes every code; a test keeps it
// complete.
package explain
