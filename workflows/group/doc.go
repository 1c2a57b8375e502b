// Package group is the workflow of a job group: one run of a job type. It receives
// what happens, asks [group.Group] what to do, and carries it out with a
// [run.Runner]. No rule lives here.
package group
