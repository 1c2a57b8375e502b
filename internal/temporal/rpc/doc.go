// Package rpc complements the SDK for callers of Temporal's API. It repeats calls while the server is
// unavailable, and converts the server's values to Go's.
package rpc
