// Package seaweedfs has the handlers vacuum, volume_balance, erasure_coding, ec_balance and admin_script.
//
// A detection reads the topology from the master, and internal/seaweedfs/plan decides. A job takes the steps of
// internal/seaweedfs/steps: before every call it looks at the cluster and writes a checkpoint. All jobs of the
// process share the cluster's `shell` lease.
//
// An attempt starts from the state of the cluster, so it completes or undoes the work of a killed one. A canceled job
// undoes its changes within stopGrace, or completes them. An error lists the leftovers and their repair by hand.
package seaweedfs
