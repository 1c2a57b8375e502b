// Package seaweedfs has the handlers for the maintenance of a SeaweedFS cluster:
// vacuum, volume_balance, erasure_coding, ec_balance and admin_script.
//
// A detection asks the master for the topology and lets internal/seaweedfs/plan
// decide. A job walks through the steps of internal/seaweedfs/steps: it looks at the
// cluster before every call, writes down what it is about to do, and holds the
// cluster's `shell` lease, which all jobs of the process share.
//
// Repeat: an attempt begins with what it finds, so that one that was killed is
// completed or undone by the next. Cancel: a job undoes what it can, within
// stopGrace, or completes what is past undoing. Failure: the error names what is left
// behind, and how to repair it by hand.
package seaweedfs
