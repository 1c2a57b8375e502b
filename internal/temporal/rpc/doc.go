// Package rpc complements the SDK: it repeats calls while the server is unavailable, and converts values.
package rpc
