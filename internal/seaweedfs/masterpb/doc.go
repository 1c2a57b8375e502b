// Package masterpb is a SeaweedFS master's gRPC interface, generated from
// master.proto.
package masterpb
