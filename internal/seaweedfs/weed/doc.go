// Package weed connects to a SeaweedFS cluster. [Cluster] holds the connections, [Keeper] the `shell` lease. The
// deadline of a changing call is within the lease, so its server refuses a late request.
package weed
