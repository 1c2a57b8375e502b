// Package fakecluster is a SeaweedFS cluster for tests and demonstrations: a master
// and volume servers with real state (objects, garbage, replicas, read-only marks,
// appends that a tail replays, shards), which can fail, hang and lie at any call.
//
// [Cluster] is the state, used in memory by the model test; [Cluster.Serve] offers
// it over SeaweedFS's own gRPC. Its knowledge of SeaweedFS is what the interface
// was measured to do; a real cluster is the judge.
package fakecluster
