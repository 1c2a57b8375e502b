// Package weed talks to a SeaweedFS cluster: its master for the topology and the
// `shell` lease, its volume servers for what jobs look at and change.
//
// [Cluster] holds the connections, [Keeper] the lease. Every call has a deadline, and
// one that changes something has none beyond the lease: a request that arrives late
// is refused by its server instead of carried out without the lease.
package weed
