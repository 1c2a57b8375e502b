// Package volumepb is a SeaweedFS volume server's gRPC interface, generated from
// volume.proto.
package volumepb
