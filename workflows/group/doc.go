// Package group is the workflow of a job group. It carries out the decisions of [group.Group] and has no rules.
package group
