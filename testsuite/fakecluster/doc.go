// Package fakecluster is a SeaweedFS cluster for tests and demonstrations: a master and volume servers with real state
// (objects, garbage, replicas, read-only marks, appends that a tail replays, shards). Every call can fail, hang or lie.
//
// [Cluster] is the state, used in memory by the model test. [Cluster.Serve] serves it over SeaweedFS's gRPC. Its
// behavior was measured on SeaweedFS; a real cluster decides in case of doubt.
package fakecluster
