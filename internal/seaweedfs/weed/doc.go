// Package weed connects to a SeaweedFS cluster: to its master for the topology and the `shell` lease, to its
// volume servers for the looks and calls of jobs.
//
// [Cluster] holds the connections, [Keeper] the lease. Every call has a deadline. The deadline of a changing
// call is within the lease, so its server refuses a late request.
package weed
