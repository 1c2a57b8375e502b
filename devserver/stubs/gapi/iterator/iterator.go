// Package iterator stands in for that of Google's API clients, see package storage.
package iterator

import "errors"

// Done marks the end of an iteration.
var Done = errors.New("no more items in iterator")
