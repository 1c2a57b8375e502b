// Package rpc is what every caller of Temporal's API needs besides the SDK: calls that
// are repeated while the server cannot take them, and the server's values as Go's.
package rpc
