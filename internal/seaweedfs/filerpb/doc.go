// Package filerpb is a SeaweedFS filer's gRPC interface, generated from filer.proto.
package filerpb
