// Package breaks decides when a group gives its lane back because the runs of its DAGs wait for approvals, and when
// it takes the lane again.
//
// A run sends a report when only approvals are open, and begins nothing from then on. It sends another one when a
// task needs the lane. The group gives the lane back when all its jobs wait. Reports are numbered, so a late one
// changes nothing. The run of a DAG does the same for its sub-DAGs. The package is pure.
package breaks
