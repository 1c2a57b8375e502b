// Package option stands in for that of Google's API clients, see package storage.
package option

import "golang.org/x/oauth2"

// ClientOption is a setting that is ignored.
type ClientOption struct{}

// WithTokenSource ignores the source.
func WithTokenSource(oauth2.TokenSource) ClientOption { return ClientOption{} }
