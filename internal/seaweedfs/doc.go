// Package seaweedfs holds the interface definitions of SeaweedFS, and a test that the Go code of `make proto` is current.
package seaweedfs
