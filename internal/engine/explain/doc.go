// Package explain explains why a thing is not running, or what it waits for. It is pure: it
// composes a list of reasons from the reports of the Schedule, the group, the registry and
// admission. The reason to act on comes first. docs/explain.md describes every code; a test
// keeps it complete.
package explain
