// Package realcluster holds the helpers of tests on a real SeaweedFS cluster: objects with checksums,
// the state of volumes, and a gate in front of the servers. The tests are skipped without a cluster.
package realcluster
