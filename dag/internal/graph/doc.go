// Package graph is the immutable graph of package dag and its canonical encoding.
package graph
