// Package seaweedfs has the handlers for the maintenance of a SeaweedFS cluster: vacuum, volume_balance,
// erasure_coding, ec_balance and admin_script.
//
// A detection reads the topology from the master, and internal/seaweedfs/plan decides. A job takes the steps of
// internal/seaweedfs/steps: before every call it looks at the cluster and writes a checkpoint with the call.
// All jobs of the process share the cluster's `shell` lease.
//
// Repeat: an attempt starts from the state of the cluster, so it completes or undoes the work of a killed
// attempt. Cancel: a job undoes its changes within stopGrace, or completes them if they cannot be undone.
// Failure: the error lists the leftovers and their repair by hand.
package seaweedfs
