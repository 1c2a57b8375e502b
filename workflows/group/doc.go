// Package group is the workflow of a job group: one run of a job type. It passes events to the core
// [group.Group] and carries out its decisions with a [run.Runner]. It has no rules.
package group
